package views

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views/ui"
)

// FilterRunesMax is the greatest number of characters in a filter of an address.
const FilterRunesMax = 200

// KnownOption is the value if it is one of the options, and empty otherwise.
func KnownOption(value string, options []ui.Option) string {
	if slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == value }) {
		return value
	}
	return ""
}

// ClosesModal makes a link close the dialog it is in; focus is true where the dialog should start on it.
func ClosesModal(focus bool) templ.Attributes {
	return templ.Attributes{"data-modal-close": true, "data-modal-focus": focus}
}

// OptionsWithAll are all and the options, with what is chosen among them, even if it is no choice any more.
func OptionsWithAll(options []ui.Option, value string) []ui.Option {
	out := append([]ui.Option{{Label: "All"}}, options...)
	if value != "" && !slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == value }) {
		out = append(out, ui.Option{Value: value, Label: value})
	}
	return out
}

// FilterText is a filter as far as anything can match it.
func FilterText(text string) string {
	text = strings.TrimSpace(text)
	if !app.Storable(text) || utf8.RuneCountInString(text) > FilterRunesMax {
		return ""
	}
	return text
}
