package page

import (
	"errors"
	"net/http"

	"umg/app"
	"umg/views"
)

// RoleNotAllowed is the error code of pages that are for other roles.
const RoleNotAllowed = "role_not_allowed"

// Status returns the HTTP status of an error page: that of the API, but what fails behind the server is a fault of the server.
func Status(kind app.Kind) int {
	switch kind {
	case app.Unfunded, app.Upstream, app.Timeout, app.Canceled:
		return http.StatusInternalServerError
	}
	return app.HTTPStatus(&app.Error{Kind: kind})
}

// ErrNotFound returns the error of a page that does not exist.
func ErrNotFound() error {
	return app.Errorf(app.NotFound, "not_found", "There is no such page.")
}

// ErrRole returns the error of a page that the reader's role does not include.
func ErrRole(role app.Role) error {
	return app.Errorf(app.Forbidden, RoleNotAllowed,
		"Your role in this account is %s, which does not include this. An owner or admin of the account can change your role.", role)
}

// Refusal returns the error as one that a form shows beside its fields: the input was invalid, a limit was reached or the reader may
// not do this. It returns false for all other errors.
func Refusal(err error) (*app.Error, bool) {
	refusal, is := errors.AsType[*app.Error](err)
	return refusal, is && (refusal.Kind == app.Invalid || refusal.Kind == app.Exhausted || refusal.Kind == app.Forbidden)
}

// Unavailable splits errors: a page that could not read its data because a service is unavailable shows the returned trouble
// instead, and returns every other error.
func Unavailable(p *Page, err error) (*views.LoadFailure, error) {
	if err != nil && app.KindOf(err) == app.Unavailable {
		return &views.LoadFailure{RequestID: p.RequestID()}, nil
	}
	return nil, err
}

// PlaceRefusal puts the message of a rejected form beside the field that it is about, or above the form.
func PlaceRefusal(refusal *app.Error, above *string, fields map[string]*string) {
	if field, known := fields[refusal.Param]; known {
		above = field
	}
	*above = refusal.Message
}
