package stripe

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
)

// lowStandard is the balance at which an account that has bought credit is told, unless it chooses another.
const lowStandard = 5 * app.Dollar

// NoticeKind is what a notice is about.
type NoticeKind string

// The kinds of notices.
const (
	LowCredit NoticeKind = "low_balance"
	AutoOff   NoticeKind = "auto_topup_off"
	DisputeOn NoticeKind = "disputed"
)

// Notice is something that the people of an account should know about its money.
type Notice struct {
	Kind NoticeKind
	Text string
	At   *time.Time // since when; nil when that is not known
}

// Notices are what the people of an account should know now.
func (s *Service) Notices(ctx context.Context, accountID string) ([]Notice, error) {
	a, err := accountByID(ctx, s.db, accountID)
	if err != nil {
		return nil, wrap("read payment details", err)
	}
	list := []Notice{}
	disputes, err := disputedSince(ctx, s.db, accountID)
	if err != nil {
		return nil, wrap("look for disputes", err)
	}
	if disputes != nil {
		list = append(list, Notice{Kind: DisputeOn, Text: frozenByDispute, At: disputes})
	}
	if a.DisabledReason != "" {
		list = append(list, Notice{Kind: AutoOff, Text: "Automatic top-ups are turned off. " + a.DisabledReason})
	}
	if a.LowSince != nil {
		list = append(list, Notice{
			Kind: LowCredit, At: a.LowSince, Text: fmt.Sprintf("There is less than $%s of credit. A call that may cost more than there is gets refused.", a.low()),
		})
	}
	return list, nil
}

// low is the balance at which the account is told.
func (a accountRow) low() app.Amount {
	switch {
	case a.LowBalance != nil:
		return *a.LowBalance
	case a.Purchased:
		return lowStandard
	}
	return 0
}

// LowBalance is the balance below which the people of an account are told; zero for never.
func (s *Service) LowBalance(ctx context.Context, accountID string) (app.Amount, error) {
	a, err := accountByID(ctx, s.db, accountID)
	return a.low(), wrap("read payment details", err)
}

// SetLowBalance changes it.
func (s *Service) SetLowBalance(ctx context.Context, p app.Principal, amount app.Amount) error {
	if amount < 0 || amount > thresholdMax {
		return app.Errorf(app.Invalid, "invalid_amount",
			"low_balance must be between $0, which is never, and $%s.", thresholdMax).At("low_balance")
	}
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		a, err := lockAccount(ctx, tx, p.AccountID)
		if err != nil {
			return err
		}
		if err := saveLowBalance(ctx, tx, p.AccountID, amount); err != nil {
			return err
		}
		changes := audit.Changed(audit.Change{Field: "low_balance", From: dollars(a.low()), To: dollars(amount)})
		if len(changes) == 0 {
			return nil
		}
		return s.audit.Write(ctx, tx, p, audit.Event{Action: "billing.low_balance_changed", Changes: changes})
	})
	return wrap("change the low balance", err)
}

// notify tells people of accounts whose credit has become low: once, until it was enough again.
func (s *Service) notify(ctx context.Context) error {
	ids, err := lowChanged(ctx, s.db, lowStandard, noticeRowsMax)
	if err != nil {
		return wrap("look for low credit", err)
	}
	for _, id := range ids {
		if err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error { return s.notifyOne(ctx, tx, id) }); err != nil {
			return wrap("tell of low credit", err)
		}
	}
	return nil
}

func (s *Service) notifyOne(ctx context.Context, tx *sqlx.Tx, accountID string) error {
	a, err := lockAccount(ctx, tx, accountID)
	if err != nil {
		return err
	}
	left, err := balanceOf(ctx, tx, accountID)
	if err != nil {
		return err
	}
	is := left < a.low()
	switch now := s.now(); {
	case is == (a.LowSince != nil): // another replica was quicker
		return nil
	case !is:
		return saveLow(ctx, tx, accountID, nil)
	default:
		if err := saveLow(ctx, tx, accountID, &now); err != nil {
			return err
		}
	}
	return s.write(ctx, tx, accountID, mail.Message{
		Kind: "low_balance", Subject: "Your credit is low",
		Text: fmt.Sprintf("There is $%s of credit, which is less than $%s. A call that may cost more than there is gets refused.\n\n"+
			"Buy credit, or change when you are told:\n%s\n",
			left, a.low(), s.o.BaseURL+"/console/billing"),
	})
}

// chosenBy are the events that people choose about, by the kinds of mails that belong to them.
var chosenBy = map[string]string{"low_balance": "low_balance", "auto_topup_cap": "auto_topup", "auto_topup_off": "auto_topup"}

// write sends a mail to those who care for an account's money, but for those who do not want mails about such things.
func (s *Service) write(ctx context.Context, tx *sqlx.Tx, accountID string, m mail.Message) error {
	to, err := owners(ctx, tx, accountID, chosenBy[m.Kind])
	if err != nil {
		return err
	}
	for _, address := range to {
		m.To = address
		if err := s.o.Mail.Send(ctx, tx, m); err != nil {
			return err
		}
	}
	return nil
}
