package lease

import (
	"context"
	"errors"

	"umg/app"
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
