package api

import (
	"net/http"
	"strings"

	"umg/app"
)

// authenticate finds the key of the request. It reads headers only and ignores keys in the query, because a query ends up in logs.
func (a *API) authenticate(x *call) error {
	secret, err := bearer(x.Request().Header, a.o.Catalog.Snapshot().KeyHeaders())
	if err != nil {
		return err
	}
	key, err := a.o.Keys.Find(x.Request().Context(), secret, x.ClientIP())
	x.log.AccountID, x.log.KeyID = key.AccountID, key.ID
	if err != nil {
		return err
	}
	x.key = key
	x.log.mode, x.log.known = key.ErrorMode, true
	return nil
}

// bearer returns the secret of the one Authorization header, or of the one alias header when there is none.
func bearer(h http.Header, aliases []string) (string, error) {
	values := h["Authorization"]
	if len(values) > 1 {
		return "", badHeader("The request has more than one Authorization header; send exactly one.")
	}
	if len(values) == 1 {
		scheme, secret, _ := strings.Cut(values[0], " ")
		secret = strings.Trim(secret, " ")
		if strings.EqualFold(scheme, "Bearer") && secret == "" || values[0] == "" {
			return "", noKey("The Authorization header bears no key.")
		}
		if !strings.EqualFold(scheme, "Bearer") || secret == "" || strings.ContainsAny(secret, " \t,") {
			return "", badHeader("The Authorization header must be of the form: Bearer YOUR_API_KEY.")
		}
		return secret, nil
	}
	secret := ""
	for _, name := range aliases {
		for _, v := range h[http.CanonicalHeaderKey(name)] {
			if secret != "" && secret != v {
				return "", badHeader("The request bears two different keys; send one Authorization header.")
			}
			secret = v
		}
	}
	if secret == "" {
		return "", noKey("The request bears no key.")
	}
	return secret, nil
}

// noKey refuses a request without a key. Mostly the variable that holds it is empty where the client runs.
func noKey(which string) *app.Error {
	return unauthenticated(app.ReasonKeyMissing, which+" Send Authorization: Bearer YOUR_API_KEY, with a key of the console. "+
		"If you did, the variable that holds it is not set where the client runs.")
}

// badHeader refuses a request whose headers do not name one key.
func badHeader(message string) *app.Error { return unauthenticated(app.ReasonKeyHeader, message) }

func unauthenticated(reason, message string) *app.Error {
	return app.Errorf(app.Unauthenticated, "invalid_api_key", "%s", message).For(reason)
}
