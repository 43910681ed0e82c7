package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/mail"
	"umg/app/operator"
	"umg/billing"
	"umg/billing/stripe"
)

type creditCommands struct {
	Grant  creditGrant  `cmd:"" help:"Add credit to an account."`
	Debit  creditDebit  `cmd:"" help:"Remove available credit from an account."`
	Refund creditRefund `cmd:"" help:"Refund a top-up to its card, and remove its credit."`
}

var errNotPositive = errors.New("the amount must be more than 0 dollars")

// creditChange is what the commands that add and remove credit take.
type creditChange struct {
	accountArg

	Amount app.Amount `arg:"" help:"Dollars, such as 25 or 0.000001."`
	Reason string     `required:"" help:"Reason, recorded in the ledger."`
}

type creditGrant struct{ creditChange }

// Run grants the credit once and prints the balance.
func (c *creditGrant) Run(ctx context.Context, log *slog.Logger) error {
	if c.Amount <= 0 {
		return errNotPositive
	}
	return c.adjust(ctx, log, "credit grant", "granted $"+c.Amount.String(),
		operator.Adjustment{Kind: operator.Add, Amount: c.Amount, Reason: c.Reason})
}

type creditDebit struct{ creditChange }

// Run debits the amount, or nothing when less than that is available.
func (c *creditDebit) Run(ctx context.Context, log *slog.Logger) error {
	if c.Amount <= 0 {
		return errNotPositive
	}
	return c.adjust(ctx, log, "credit debit", "debited $"+c.Amount.String(),
		operator.Adjustment{Kind: operator.Take, Amount: c.Amount, Reason: c.Reason})
}

// unusedBaseURL satisfies the required option; these commands send no one to a payment page.
const unusedBaseURL = "http://localhost"

type creditRefund struct {
	databaseFlags

	StripeKey string     `required:"" env:"UMG_STRIPE_KEY" secret:"value" help:"Secret key of Stripe." placeholder:"KEY"`
	StripeURL string     `env:"UMG_STRIPE_URL" help:"Another URL of Stripe, such as that of a simulated one." placeholder:"URL"`
	SecretKey string     `env:"UMG_SECRET_KEY" secret:"value" help:"32 bytes that encrypt secrets." placeholder:"BASE64"`
	MailFrom  string     `default:"gateway@localhost" env:"UMG_MAIL_FROM" help:"Sender of mails." placeholder:"ADDRESS"`
	Topup     string     `arg:"" help:"Id of the top-up, such as top_01…"`
	Amount    app.Amount `arg:"" help:"Dollars, in whole cents."`
	Reason    string     `required:"" help:"Reason, recorded in the ledger."`
}

// Run refunds the money once, and prints the state of the top-up afterwards.
func (c *creditRefund) Run(ctx context.Context, log *slog.Logger) error {
	if c.Amount <= 0 || c.Amount%app.Cent != 0 {
		return errors.New("the amount must be more than 0 dollars, in whole cents")
	}
	return withServices(ctx, c.databaseFlags, log, func(s *database, _ *account.Service, ledger *billing.Ledger) error {
		key, err := acceptedKey(ctx, s.db, c.SecretKey, c.Data)
		if err != nil {
			return err
		}
		ids := app.IDs{Now: time.Now, Random: rand.Reader}
		letters, err := mail.New(s.db, mail.Options{Key: key, From: c.MailFrom, Now: time.Now, IDs: ids, Log: log})
		if err != nil {
			return err
		}
		payments, err := stripe.New(s.db, stripe.Options{
			Key: c.StripeKey, APIBase: c.StripeURL, BaseURL: unusedBaseURL, Ledger: ledger, Mail: letters, Now: time.Now, IDs: ids, Log: log,
		})
		if err != nil {
			return err
		}
		t, err := payments.Refund(ctx, stripe.RefundRequest{
			TopupID: c.Topup, Cents: int64(c.Amount / app.Cent), Operator: operatorName(), Reason: c.Reason,
			From: app.Origin{Agent: "gateway credit refund"},
		})
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s, %d of %d cents refunded\n", t.ID, t.State, t.RefundedCents, t.Cents)
		return nil
	})
}
