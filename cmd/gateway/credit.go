package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/mail"
	"umg/app/operator"
	"umg/billing"
	"umg/billing/stripe"
)

type creditCommands struct {
	Grant    creditGrant    `cmd:"" help:"Add credit to an account."`
	Take     creditTake     `cmd:"" help:"Take credit back, as far as it is free."`
	Refund   creditRefund   `cmd:"" help:"Give the money of a top-up back to its card, and take the credit."`
	Freeze   creditFreeze   `cmd:"" help:"Keep an account from spending."`
	Unfreeze creditUnfreeze `cmd:"" help:"Let a frozen account spend again."`
}

// accountArg is an account as an operator names it: by id or by e-mail address.
type accountArg struct {
	storeFlags

	Account string `arg:"" help:"Account id, or the e-mail address of its owner."`
}

// deal performs an action on the account, records it in the account's audit log, and prints the balance afterwards.
func (w *accountArg) deal(ctx context.Context, log *slog.Logger, command, said string, adjustment operator.Adjustment) error {
	return withServices(ctx, w.storeFlags, log, func(s *store, accounts *account.Service, ledger *billing.Ledger) error {
		id, err := accounts.Resolve(ctx, w.Account)
		if err != nil {
			return err
		}
		service := operator.New(s.db, operator.Options{Ledger: ledger, Now: time.Now, IDs: app.IDs{Now: time.Now, Random: rand.Reader}})
		adjustment.AccountID, adjustment.Operator = id, operatorName()
		adjustment.From, adjustment.Once = commandPrincipal(id, command).From, service.Once()
		if _, err = service.Do(ctx, adjustment); err != nil {
			return err
		}
		b, err := ledger.Balance(ctx, id)
		fmt.Printf("%s: %s, balance $%s, available $%s\n", id, said, b.Posted, b.Available())
		return err
	})
}

// commandPrincipal is the principal of an operator who acts on an account with a command.
func commandPrincipal(accountID, command string) app.Principal {
	return app.Principal{AccountID: accountID, From: app.Origin{Agent: "gateway " + command}}
}

var errNotPositive = errors.New("the amount must be more than 0 dollars")

type creditGrant struct {
	accountArg

	Amount app.Amount `arg:"" help:"Dollars, such as 25 or 0.000001."`
	Reason string     `required:"" help:"Why; it stands in the ledger."`
}

// Run grants the credit once and prints the balance.
func (c *creditGrant) Run(ctx context.Context, log *slog.Logger) error {
	if c.Amount <= 0 {
		return errNotPositive
	}
	return c.deal(ctx, log, "credit grant", "granted $"+c.Amount.String(),
		operator.Adjustment{Kind: operator.Add, Amount: c.Amount, Reason: c.Reason})
}

type creditTake struct {
	accountArg

	Amount app.Amount `arg:"" help:"Dollars, such as 25 or 0.000001."`
	Reason string     `required:"" help:"Why; it stands in the ledger."`
}

// Run takes the credit, or nothing when less than that is free.
func (c *creditTake) Run(ctx context.Context, log *slog.Logger) error {
	if c.Amount <= 0 {
		return errNotPositive
	}
	return c.deal(ctx, log, "credit take", "took $"+c.Amount.String(),
		operator.Adjustment{Kind: operator.Take, Amount: c.Amount, Reason: c.Reason})
}

// operatorName is the name of the command's user in the ledger.
func operatorName() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "operator"
}

type creditFreeze struct {
	accountArg

	Reason string `required:"" help:"Why; the account's people read it."`
}

// Run freezes the account. Running calls end as usual.
func (c *creditFreeze) Run(ctx context.Context, log *slog.Logger) error {
	return c.deal(ctx, log, "credit freeze", "frozen", operator.Adjustment{Kind: operator.Freeze, Reason: c.Reason})
}

type creditUnfreeze struct{ accountArg }

// Run lets the account spend again.
func (c *creditUnfreeze) Run(ctx context.Context, log *slog.Logger) error {
	return c.deal(ctx, log, "credit unfreeze", "not frozen", operator.Adjustment{Kind: operator.Unfreeze})
}

// unusedBaseURL satisfies the required option; these commands send no one to a payment page.
const unusedBaseURL = "http://localhost"

type creditRefund struct {
	storeFlags

	StripeKey string     `required:"" env:"UMG_STRIPE_KEY" secret:"value" help:"Secret key of the payment service." placeholder:"KEY"`
	StripeURL string     `env:"UMG_STRIPE_URL" help:"Another address of the payment service, for a stand-in." placeholder:"URL"`
	SecretKey string     `env:"UMG_SECRET_KEY" secret:"value" help:"Seals secrets; else the key of the data folder." placeholder:"BASE64"`
	MailFrom  string     `default:"gateway@localhost" env:"UMG_MAIL_FROM" help:"Sender of mails." placeholder:"ADDRESS"`
	Topup     string     `arg:"" help:"Id of the top-up, such as top_01…"`
	Amount    app.Amount `arg:"" help:"Dollars, in whole cents."`
	Reason    string     `required:"" help:"Why; it stands in the ledger."`
}

// Run refunds the money once, and prints the state of the top-up afterwards.
func (c *creditRefund) Run(ctx context.Context, log *slog.Logger) error {
	if c.Amount <= 0 || c.Amount%app.Cent != 0 {
		return errors.New("the amount must be more than 0 dollars, in whole cents")
	}
	return withServices(ctx, c.storeFlags, log, func(s *store, _ *account.Service, ledger *billing.Ledger) error {
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
