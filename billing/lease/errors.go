package lease

import (
	"context"
	"errors"

	"umg/app"
	"umg/billing"
)

// errAway is a refusal that the gateway itself causes, so the caller should retry.
func errAway(why string) *app.Error {
	return app.Errorf(app.Unavailable, "service_unavailable", "%s Nothing was charged; try again in a few seconds.", why).After(away)
}

// isAway reports whether a step's outcome is unknown.
func isAway(err error) bool { return err != nil && app.KindOf(err) == app.Unavailable }

// unavailable turns any error into one that the API may show.
func unavailable(err error) error {
	if isAway(err) {
		return err
	}
	return errAway("The service cannot record charges right now.").Because(err)
}

// transient reports whether the same step may succeed later.
func transient(err error) bool {
	return isAway(err) || errors.Is(err, ErrFenced) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}

// refusal is the error that the caller of a hold receives. The credit account is the key's budget if budget is set, else the
// account.
func (t *Manager) refusal(err error, r billing.HoldRequest, budget bool) error {
	var short *InsufficientCredit
	switch {
	case errors.As(err, &short):
		switch {
		case budget:
			return t.refuse(billing.OverBudget(r.Min, short.Balance, short.Period.Next(t.o.Now())), &t.counters.refusedBudget)
		case short.Limit.Set():
			return t.refuse(billing.OverLimit(r.Min, short.Balance, short.Limit), &t.counters.refusedLimit)
		}
		return t.refuse(billing.Unfunded(r.Min, short.Balance), &t.counters.refusedUnfunded)
	case errors.Is(err, ErrFenced):
		return t.refuse(errAway("The service is restarting.").Because(err), &t.counters.refusedAway)
	case app.KindOf(err) == app.Forbidden:
		return t.refuse(err, &t.counters.refusedFrozen)
	}
	return t.refuse(err, &t.counters.refusedAway)
}
