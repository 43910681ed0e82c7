package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"umg/app"
)

// transientClasses are the classes of SQLSTATE with which a reachable database fails a transaction that may succeed later: it
// resolved a conflict, ran out of disk or memory, could not get a lock, or had a system error.
var transientClasses = []string{"40", "53", "55", "58"}

// StoreError turns the error of a step at the database into the error for the caller of the step. It adds the name of the step,
// such as "audit: list events". A database that is unavailable, or cannot do the step now, is app.ErrStore; a caller who left is
// app.Canceled. An error of the API stays as it is, and so does nil.
func StoreError(step string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*app.Error](err); ok {
		return err
	}
	err = fmt.Errorf("%s: %w", step, err)
	switch {
	case errors.Is(err, context.Canceled):
		return app.Errorf(app.Canceled, "client_left", "The request was cancelled.").Because(err)
	case Unavailable(err) || isTransient(err):
		return app.ErrStore(err)
	}
	return err
}

func isTransient(err error) bool {
	var coded interface{ SQLState() string }
	if !errors.As(err, &coded) {
		return false
	}
	state := coded.SQLState()
	return slices.ContainsFunc(transientClasses, func(class string) bool { return strings.HasPrefix(state, class) })
}
