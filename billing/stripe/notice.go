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

// notifyBelowDefault is the balance below which an account that has bought credit is notified, unless it chose another.
const notifyBelowDefault = 5 * app.Dollar

// NoticeKind is the subject of a notice.
type NoticeKind string

// These are the kinds of notices.
const (
	LowCredit NoticeKind = "low_balance"
	AutoOff   NoticeKind = "auto_topup_off"
	DisputeOn NoticeKind = "disputed"
)

// Notice is something that the members of an account should know about its credit.
type Notice struct {
	Kind NoticeKind
	Text string
	At   *time.Time // At is when it began. It is nil when that is not known.
}

// Notices returns what the members of an account should know now.
func (s *Service) Notices(ctx context.Context, accountID string) ([]Notice, error) {
	a, err := accountByID(ctx, s.db, accountID)
	if err != nil {
		return nil, postgres.StoreError("stripe: read payment details", err)
	}
	list := []Notice{}
	var disputes *time.Time
	err = s.db.GetContext(ctx, &disputes, `select min(paid_at) from topups where account_id = $1 and state in ('DISPUTED', 'LOST')`, accountID)
	if err != nil {
		return nil, postgres.StoreError("stripe: look for disputes", err)
	}
	if disputes != nil {
		list = append(list, Notice{Kind: DisputeOn, Text: frozenByDispute, At: disputes})
	}
	if a.DisabledReason != "" {
		list = append(list, Notice{Kind: AutoOff, Text: "Automatic top-ups are turned off. " + a.DisabledReason})
	}
	if a.LowSince != nil {
		list = append(list, Notice{
			Kind: LowCredit, At: a.LowSince,
			Text: fmt.Sprintf("There is less than $%s of credit. A call that may cost more than there is gets refused.", a.notifyBelow()),
		})
	}
	return list, nil
}

// notifyBelow returns the balance below which the account is notified.
func (a accountRow) notifyBelow() app.Amount {
	switch {
	case a.LowBalance != nil:
		return *a.LowBalance
	case a.Purchased:
		return notifyBelowDefault
	}
	return 0
}

// LowBalance returns the balance below which the members of an account are notified; zero means never.
func (s *Service) LowBalance(ctx context.Context, accountID string) (app.Amount, error) {
	a, err := accountByID(ctx, s.db, accountID)
	return a.notifyBelow(), postgres.StoreError("stripe: read payment details", err)
}

// SetLowBalance changes that balance.
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
		_, err = tx.ExecContext(ctx, `
			update payment_accounts set low_balance_nanos = $2, low_since = null where account_id = $1`, p.AccountID, int64(amount))
		if err != nil {
			return err
		}
		changes := audit.Changed(audit.Change{Field: "low_balance", From: dollars(a.notifyBelow()), To: dollars(amount)})
		if len(changes) == 0 {
			return nil
		}
		return s.audit.Write(ctx, tx, p, audit.Event{Action: "billing.low_balance_changed", Changes: changes})
	})
	return postgres.StoreError("stripe: change the low balance", err)
}

// balanceCrossed are the accounts whose balance crossed their notification limit, downwards or upwards. The parameter
// is the limit of accounts that bought credit and have set none.
const balanceCrossed = `from payment_accounts p join credit_accounts c on c.id = p.account_id
	where (p.low_since is not null) <>
		(` + balance + ` < coalesce(p.low_balance_nanos, case when p.purchased then $1::bigint else 0 end))`

// notify sends mails to accounts whose credit has become low: once, until the credit was sufficient again.
func (s *Service) notify(ctx context.Context) error {
	var ids []string
	err := s.db.SelectContext(ctx, &ids, `select p.account_id `+balanceCrossed+` limit $2`, int64(notifyBelowDefault), noticeRowsMax)
	if err != nil {
		return postgres.StoreError("stripe: look for low credit", err)
	}
	for _, id := range ids {
		if err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error { return s.notifyOne(ctx, tx, id) }); err != nil {
			return postgres.StoreError("stripe: tell of low credit", err)
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
	is := left < a.notifyBelow()
	switch now := s.now(); {
	case is == (a.LowSince != nil): // Another replica was faster.
		return nil
	case !is:
		return saveLow(ctx, tx, accountID, nil)
	default:
		if err := saveLow(ctx, tx, accountID, &now); err != nil {
			return err
		}
	}
	return s.mailMembers(ctx, tx, accountID, mail.Message{
		Kind: "low_balance", Subject: "Your credit is low",
		Text: fmt.Sprintf("There is $%s of credit, which is less than $%s. A call that may cost more than there is gets refused.\n\n"+
			"Buy credit, or change when you are told:\n%s\n",
			left, a.notifyBelow(), s.o.BaseURL+"/console/billing"),
	})
}

// preferenceOf maps kinds of mails to the notification setting that turns them off.
var preferenceOf = map[string]string{"low_balance": "low_balance", "auto_topup_cap": "auto_topup", "auto_topup_off": "auto_topup"}

// mailMembers sends a mail to the members responsible for an account's credit, except those who turned such mails off.
func (s *Service) mailMembers(ctx context.Context, tx *sqlx.Tx, accountID string, m mail.Message) error {
	to, err := mailRecipients(ctx, tx, accountID, preferenceOf[m.Kind])
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
