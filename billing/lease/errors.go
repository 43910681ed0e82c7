package lease

import (
	"context"
	"errors"

	"umg/app"
	"umg/billing"
)

// errAway is a refusal that the gateway itself causes, so the caller should retry.
func errAway(why string) *app.Error {
	return app.Errorf(app.Unavailable, "service_unavailable", "%s Nothing was charged; try again in a few seconds.", why).After(retryAfter)
}

// isUnavailable reports whether a step's outcome is unknown.
func isUnavailable(err error) bool { return err != nil && app.KindOf(err) == app.Unavailable }

// unavailable turns any error into one that the API may show.
func unavailable(err error) error {
	if isUnavailable(err) {
		return err
	}
	return errAway("The service cannot record charges right now.").Because(err)
}

// transient reports whether the same step may succeed later.
func transient(err error) bool {
	return isUnavailable(err) || errors.Is(err, ErrFenced) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}

// refusal is the error that the caller of a hold receives. The credit account is the key's budget if budget is set, else the
// account.
func (m *Manager) refusal(err error, r billing.HoldRequest, budget bool) error {
	var short *InsufficientCredit
	switch {
	case errors.As(err, &short):
		switch {
		case budget:
			return m.refuse(billing.OverBudget(r.Min, short.Balance, short.Period.Next(m.o.Now())), &m.counters.refusedBudget)
		case short.Limit.Set():
			return m.refuse(billing.OverLimit(r.Min, short.Balance, short.Limit), &m.counters.refusedLimit)
		}
		return m.refuse(billing.Unfunded(r.Min, short.Balance), &m.counters.refusedUnfunded)
	case errors.Is(err, ErrFenced):
		return m.refuse(errAway("The service is restarting.").Because(err), &m.counters.refusedAway)
	case app.KindOf(err) == app.Forbidden:
		return m.refuse(err, &m.counters.refusedFrozen)
	}
	return m.refuse(err, &m.counters.refusedAway)
}
