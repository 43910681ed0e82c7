package llm

import "umg/app"

// IsRefusal reports whether an error says that a provider refused the request.
func IsRefusal(e *app.Error) bool {
	return e.Kind == app.Upstream && e.Status >= 400 && e.Status < 500
}

// ErrorTypes has the type of each kind of error in one style. A kind that is missing has the type of app.Internal.
type ErrorTypes map[app.Kind]string

// Of returns the type of an error. A request that a provider refused is an invalid request.
func (t ErrorTypes) Of(e *app.Error) string {
	kind := e.Kind
	if IsRefusal(e) {
		kind = app.Invalid
	}
	if name, ok := t[kind]; ok {
		return name
	}
	return t[app.Internal]
}
