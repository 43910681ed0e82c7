package views

import (
	"slices"
	"strings"
	"umg/app"
	"umg/views/ui"
	"unicode/utf8"

	"github.com/a-h/templ"
)

const (
	filterRunesMax = 200
)

func offered(value string, options []ui.Option) string {
	if slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == value }) {
		return value
	}
	return ""
}

// closesModal makes a link close the dialog it stands in; focus is true where the dialog should start on it.
func closesModal(focus bool) templ.Attributes {
	return templ.Attributes{"data-modal-close": true, "data-modal-focus": focus}
}

// withValue are all and the options, with what is chosen among them, even if it is no choice any more.
func withValue(options []ui.Option, value string) []ui.Option {
	out := append([]ui.Option{{Label: "All"}}, options...)
	if value != "" && !slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == value }) {
		out = append(out, ui.Option{Value: value, Label: value})
	}
	return out
}

// filterText is a filter as far as anything can match it.
func filterText(text string) string {
	text = strings.TrimSpace(text)
	if !app.Storable(text) || utf8.RuneCountInString(text) > filterRunesMax {
		return ""
	}
	return text
}
