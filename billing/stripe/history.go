package stripe

import (
	"context"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
)

func dollars(a app.Amount) string { return "$" + a.String() }

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// auditAutoTopup records changes of an account's automatic top-ups in its log, in the transaction that makes them.
func (s *Service) auditAutoTopup(ctx context.Context, tx *sqlx.Tx, p app.Principal, was, is accountRow) error {
	changes := audit.Changed(
		audit.Change{Field: "automatic_top_up", From: onOff(was.AutoEnabled), To: onOff(is.AutoEnabled)},
		audit.Change{Field: "threshold", From: dollars(was.Threshold), To: dollars(is.Threshold)},
		audit.Change{Field: "amount", From: dollars(nanos(was.AutoCents)), To: dollars(nanos(is.AutoCents))},
		audit.Change{Field: "monthly_cap", From: dollars(nanos(was.CapCents)), To: dollars(nanos(is.CapCents))},
		audit.Change{Field: "reason", From: was.DisabledReason, To: is.DisabledReason},
	)
	if len(changes) == 0 {
		return nil
	}
	return s.audit.Write(ctx, tx, p, audit.Event{Action: "billing.auto_topup_changed", Changes: changes})
}

// auditFreeze records in the account's log that a dispute froze it, or no longer does.
func (s *Service) auditFreeze(ctx context.Context, tx *sqlx.Tx, accountID string, action audit.Action, reason string) error {
	return s.audit.Write(ctx, tx, app.Principal{AccountID: accountID}, audit.Event{
		Action: action, Changes: []audit.Change{{Field: "reason", To: reason}},
	})
}
