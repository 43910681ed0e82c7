package account

import (
	"context"
	"slices"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
	"umg/billing"
)

// LimitPeriods are the periods of an account's spend limit. A spend limit always resets: the total that an account may spend is its credit.
func LimitPeriods() []billing.Period {
	return []billing.Period{billing.EachDay, billing.EachWeek, billing.EachMonth}
}

// SpendLimit is how much the account may spend in a period; the zero value for no limit.
func (s *Service) SpendLimit(ctx context.Context, p app.Principal) (billing.SpendLimit, error) {
	return s.ledger.AccountSpendLimit(ctx, p.AccountID)
}

// SetSpendLimit changes how much the account may spend in a period, whatever its credit and the budgets of its keys leave; nil for
// no limit. Calls that run go on.
func (s *Service) SetSpendLimit(ctx context.Context, p app.Principal, b *billing.Allowance) error {
	switch {
	case b == nil:
	case b.Limit <= 0 || b.Limit > billing.AllowanceMax:
		return app.InvalidValue("limit", "A spend limit is more than $0 and at most $%s.", billing.AllowanceMax)
	case !slices.Contains(LimitPeriods(), b.Period):
		return app.InvalidValue("period", "A spend limit is for one of %s.", app.JoinWords(LimitPeriods()))
	}
	return postgres.StoreError("account: set spend limit", s.manage(ctx, p, app.ManageMoney, func(d memberChange) error {
		was, err := s.ledger.SpendLimit(ctx, d.tx, p.AccountID)
		if err != nil {
			return err
		}
		had := &billing.Allowance{Limit: was.Limit, Period: was.Period}
		if !was.Set() {
			had = nil
		}
		changes := audit.Changed(audit.Change{Field: "spend_limit", From: had.String(), To: b.String()})
		if len(changes) == 0 {
			return nil
		}
		if b == nil {
			err = s.ledger.CloseSpendLimit(ctx, d.tx, p.AccountID)
		} else {
			err = s.ledger.SetSpendLimit(ctx, d.tx, p.AccountID, b.Limit, b.Period)
		}
		if err != nil {
			return err
		}
		return s.audit.Write(ctx, d.tx, p, audit.Event{Action: "billing.spend_limit_changed", Changes: changes})
	}))
}
