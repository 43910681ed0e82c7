package views

import (
	"net/url"

	"github.com/a-h/templ"
)

// WithNext keeps where to go afterwards on the way to the other form.
func WithNext(path, next string) templ.SafeURL {
	if next != "" {
		path += "?next=" + url.QueryEscape(next)
	}
	return templ.SafeURL(path)
}
