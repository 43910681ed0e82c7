package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/account"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
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

// whose is an account as an operator names it.
type whose struct {
	storeFlags

	Account string `arg:"" help:"Account id, or the e-mail address of its owner."`
}

// deed is what an operator does to an account.
type deed struct {
	command string // after "gateway"
	said    string // when it is done
	told    audit.Event
	do      func(ctx context.Context, q postgres.Queryer, ledger *billing.Ledger, id string) error
}

// deal does something with the account, tells its people of it in their audit log, and prints what it has then.
func (w *whose) deal(ctx context.Context, log *slog.Logger, d deed) error {
	return withServices(ctx, w.storeFlags, log, func(s *store, accounts *account.Service, ledger *billing.Ledger) error {
		id, err := accounts.Resolve(ctx, w.Account)
		if err != nil {
			return err
		}
		d.told.Operator = true
		history := audit.New(s.db, time.Now, app.IDs{Now: time.Now, Random: rand.Reader})
		err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
			if err := d.do(ctx, tx, ledger, id); err != nil {
				return err
			}
			return history.Write(ctx, tx, byCommand(id, d.command), d.told)
		})
		if err != nil {
			return err
		}
		b, err := ledger.Balance(ctx, id)
		fmt.Printf("%s: %s, balance $%s, available $%s\n", id, d.said, b.Posted, b.Available())
		return err
	})
}

// byCommand is an operator who does something to an account with a command.
func byCommand(accountID, command string) app.Principal {
	return app.Principal{AccountID: accountID, From: app.Origin{Agent: "gateway " + command}}
}

// moved is an entry of the audit log about credit that an operator moved, and why.
func moved(action audit.Action, amount app.Amount, reason string) audit.Event {
	return audit.Event{Action: action, Changes: []audit.Change{{Field: "amount", To: "$" + amount.String()}, {Field: "reason", To: reason}}}
}

// byHand is the source of something that an operator does, which happens once.
func byHand() string {
	return "operator:" + app.IDs{Now: time.Now, Random: rand.Reader}.New("adj")
}

var errNotPositive = errors.New("the amount must be more than 0 dollars")

type creditGrant struct {
	whose

	Amount app.Amount `arg:"" help:"Dollars, such as 25 or 0.000001."`
	Reason string     `required:"" help:"Why; it stands in the ledger."`
}

// Run grants the credit once and prints the balance.
func (c *creditGrant) Run(ctx context.Context, log *slog.Logger) error {
	if c.Amount <= 0 {
		return errNotPositive
	}
	return c.deal(ctx, log, deed{
		command: "credit grant", said: "granted $" + c.Amount.String(), told: moved("billing.credit_granted", c.Amount, c.Reason),
		do: func(ctx context.Context, q postgres.Queryer, l *billing.Ledger, id string) error {
			return l.Grant(ctx, q, billing.Grant{
				AccountID: id, Kind: billing.Adjustment, Amount: c.Amount, Source: byHand(), Reason: c.Reason, Operator: os.Getenv("USER"),
			})
		},
	})
}

type creditTake struct {
	whose

	Amount app.Amount `arg:"" help:"Dollars, such as 25 or 0.000001."`
	Reason string     `required:"" help:"Why; it stands in the ledger."`
}

// Run takes the credit, or nothing when less than that is free.
func (c *creditTake) Run(ctx context.Context, log *slog.Logger) error {
	if c.Amount <= 0 {
		return errNotPositive
	}
	return c.deal(ctx, log, deed{
		command: "credit take", said: "took $" + c.Amount.String(), told: moved("billing.credit_taken", c.Amount, c.Reason),
		do: func(ctx context.Context, q postgres.Queryer, l *billing.Ledger, id string) error {
			return l.Adjust(ctx, q, billing.Correction{
				AccountID: id, Amount: -c.Amount, Source: byHand(), Reason: c.Reason, Operator: operatorName(),
			})
		},
	})
}

// operatorName is who types the command, as the ledger names them.
func operatorName() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "operator"
}

type creditFreeze struct {
	whose

	Reason string `required:"" help:"Why; the account's people read it."`
}

// Run freezes the account. What runs already ends as usual.
func (c *creditFreeze) Run(ctx context.Context, log *slog.Logger) error {
	return c.deal(ctx, log, deed{
		command: "credit freeze", said: "frozen",
		told: audit.Event{Action: "account.frozen", Changes: []audit.Change{{Field: "reason", To: c.Reason}}},
		do: func(ctx context.Context, q postgres.Queryer, l *billing.Ledger, id string) error {
			return l.Freeze(ctx, q, id, c.Reason)
		},
	})
}

type creditUnfreeze struct{ whose }

// Run lets the account spend again.
func (c *creditUnfreeze) Run(ctx context.Context, log *slog.Logger) error {
	return c.deal(ctx, log, deed{
		command: "credit unfreeze", said: "not frozen", told: audit.Event{Action: "account.unfrozen"},
		do: func(ctx context.Context, q postgres.Queryer, l *billing.Ledger, id string) error {
			return l.Unfreeze(ctx, q, id)
		},
	})
}

// unusedBaseURL stands where a page would lead back to: nobody is sent to pay here.
const unusedBaseURL = "http://localhost"

type creditRefund struct {
	storeFlags

	StripeKey string     `required:"" env:"UMG_STRIPE_KEY" help:"Secret key of the payment service." placeholder:"KEY"`
	StripeURL string     `env:"UMG_STRIPE_URL" help:"Another address of the payment service, for a stand-in." placeholder:"URL"`
	MailFrom  string     `default:"gateway@localhost" env:"UMG_MAIL_FROM" help:"Sender of mails." placeholder:"ADDRESS"`
	Topup     string     `arg:"" help:"Id of the top-up, such as top_01…"`
	Amount    app.Amount `arg:"" help:"Dollars, in whole cents."`
	Reason    string     `required:"" help:"Why; it stands in the ledger."`
}

// Run refunds the money once, and prints how the top-up stands then.
func (c *creditRefund) Run(ctx context.Context, log *slog.Logger) error {
	if c.Amount <= 0 || c.Amount%app.Cent != 0 {
		return errors.New("the amount must be more than 0 dollars, in whole cents")
	}
	return withServices(ctx, c.storeFlags, log, func(s *store, _ *account.Service, ledger *billing.Ledger) error {
		ids := app.IDs{Now: time.Now, Random: rand.Reader}
		letters, err := mail.New(s.db, mail.Options{From: c.MailFrom, Now: time.Now, IDs: ids, Log: log})
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
