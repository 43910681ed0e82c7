// Package ui is the console's component library: buttons, fields, dialogs, tables, code samples and the rest, as templ
// components over one stylesheet. It knows how things look and which attributes the console's script listens to. It
// does not know accounts, keys, requests or how amounts and times are put into words; pages hand it finished text.
package ui

import (
	"maps"
	"strings"

	"github.com/a-h/templ"
)

// Theme is how a person wants the console drawn. It is kept in a cookie and rendered as a class of the root element,
// so that no page is first drawn in the wrong one.
type Theme string

// These are the themes; System follows the operating system's setting.
const (
	System Theme = "system"
	Light  Theme = "light"
	Dark   Theme = "dark"
)

// ParseTheme reads a theme from a cookie or a form. Whatever is not a theme is System.
func ParseTheme(s string) Theme {
	switch t := Theme(s); t {
	case Light, Dark:
		return t
	default:
		return System
	}
}

// Class is the class of the root element.
func (t Theme) Class() string { return string(ParseTheme(string(t))) }

// ColorScheme is the color scheme that the browser applies before a stylesheet arrives.
func (t Theme) ColorScheme() string {
	if t = ParseTheme(string(t)); t == System {
		return "light dark"
	}
	return string(t)
}

// Other is the theme to change to: the one that most likely does not show.
func (t Theme) Other() Theme {
	if ParseTheme(string(t)) == Dark {
		return Light
	}
	return Dark
}

// papers are the colours of the page itself, as browsers want them for their own bars.
var papers = map[Theme]string{Light: "#fafbfc", Dark: "#0d0f13"}

// Paper is the colour of the page where the operating system's theme is system: a theme that was chosen wins over it.
func (t Theme) Paper(system Theme) string {
	if t = ParseTheme(string(t)); t == System {
		t = system
	}
	return papers[t]
}

// Tone is the meaning a colour carries. A tone is never the only sign: there is always a word or an icon beside it.
type Tone string

// These are the tones.
const (
	Plain   Tone = ""
	Info    Tone = "info"
	Brand   Tone = "brand"
	Success Tone = "success"
	Warning Tone = "warning"
	Danger  Tone = "danger"
)

// toneIcons are the icons that go with a tone where the caller names none.
var toneIcons = map[Tone]IconName{
	Plain:   IconInfo,
	Info:    IconInfo,
	Brand:   IconInfo,
	Success: IconCircleCheck,
	Warning: IconTriangleAlert,
	Danger:  IconCircleAlert,
}

// Variant is how loud a button is.
type Variant string

// These are the variants, from loud to quiet. There is at most one primary button in a view.
const (
	Primary     Variant = "primary"
	Outline     Variant = "outline"
	Ghost       Variant = "ghost"
	Destructive Variant = "danger"
)

// Size is the size of a control.
type Size string

// These are the sizes. The icon sizes are square.
const (
	Medium    Size = ""
	Small     Size = "sm"
	Large     Size = "lg"
	IconSize  Size = "icon"
	IconSmall Size = "icon-sm"
)

// joined is the list of ids for aria-describedby and the like, without the empty ones.
func joined(ids ...string) string {
	var present []string
	for _, id := range ids {
		if id != "" {
			present = append(present, id)
		}
	}
	return strings.Join(present, " ")
}

// when returns the id if the text it belongs to is there.
func when(text, id string) string {
	if text == "" {
		return ""
	}
	return id
}

// truth is an ARIA boolean, which must be spelled out.
func truth(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// merged lays later attributes over earlier ones.
func merged(all ...templ.Attributes) templ.Attributes {
	out := templ.Attributes{}
	for _, one := range all {
		maps.Copy(out, one)
	}
	return out
}
