package operator

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	diffLinesMax    = 400 // A difference shows at most this many lines.
	diffSummaryMost = 3
	settingsChanged = "settings changed"
)

// CatalogHistory is the list of catalogs that were put in force.
type CatalogHistory struct {
	views.Shell
	Versions []CatalogVersion // Versions has the newest first.
	Current  int64            // Current is the version in force.
	Newer    bool             // Newer means that the list does not begin with the newest.
	Older    int64            // Older is the start of the next page; zero on the last one.
	Failure  *views.LoadFailure
}

// CatalogVersion is one catalog that was put in force.
type CatalogVersion struct {
	Number   int64
	At       time.Time // At is zero for the version from before the history was stored.
	By, Note string
	Changes  []string
	Whole    bool // Whole means that the previous version could not be read, so all lines are shown.
	Kept     bool // Kept means that the version's file is stored.
}

// CatalogChange is one version, and what is different since.
type CatalogChange struct {
	views.Shell
	Version CatalogVersion
	Current int64
	Since   []string // Since are the differences from the catalog in force.
	Problem string   // Problem says why the differences are not known.
}

func (v CatalogVersion) name() string { return "Version " + strconv.FormatInt(v.Number, 10) }

func (v CatalogVersion) path() string {
	return views.CatalogHistoryPath + "/" + strconv.FormatInt(v.Number, 10)
}

// who is the operator who put the version in force.
func (v CatalogVersion) who() string {
	switch {
	case v.By != "":
		return v.By
	case v.At.IsZero():
		return "Before this was kept"
	}
	return "The gateway itself"
}

// summary counts the changes by what they are about.
func (v CatalogVersion) summary() string {
	switch {
	case v.At.IsZero():
		return "In force before the history began"
	case v.Whole:
		return "Replaced a catalog that could not be read"
	case len(v.Changes) == 0:
		return "No difference that can be seen"
	}
	type key struct{ sign, what string }
	names := map[key][]string{}
	var order []key
	for _, line := range v.Changes {
		c := changeOf(line)
		k := key{c.sign, c.what}
		if c.rest != "" || c.what == "settings" {
			k.sign = "~"
		}
		if names[k] == nil {
			order = append(order, k)
		}
		if !slices.Contains(names[k], c.name) {
			names[k] = append(names[k], c.name)
		}
	}
	verbs := map[string]string{"+": "added", "-": "removed", "~": "changed"}
	var words []string
	for _, k := range order {
		switch n := names[k]; {
		case k.what == "settings":
			words = append(words, settingsChanged)
		case len(n) <= diffSummaryMost:
			words = append(words, strings.Join(n, ", ")+" "+verbs[k.sign])
		default:
			words = append(words, format.CountOf(int64(len(n)), k.what, k.what+"s")+" "+verbs[k.sign])
		}
	}
	if words[0] == settingsChanged {
		words[0] = strings.ToUpper(settingsChanged[:1]) + settingsChanged[1:]
	}
	return strings.Join(words, "; ")
}

// catalogChange is one line of a difference, taken apart.
type catalogChange struct {
	sign string // Sign is +, - or ~.
	what string // What is provider, model or settings.
	name string // Name is that of the provider or model.
	rest string // Rest is the rest of the line; empty when the whole object was added or removed.
}

func changeOf(line string) catalogChange {
	sign, text, _ := strings.Cut(line, " ")
	what, rest, _ := strings.Cut(text, " ")
	if what != "provider" && what != "model" {
		return catalogChange{sign: sign, what: "settings", rest: text}
	}
	name, rest, _ := strings.Cut(rest, " ")
	return catalogChange{sign: sign, what: what, name: name, rest: rest}
}

// diffGroup is the list of changes of one object of the catalog.
type diffGroup struct {
	title string
	lines []diffLine
}

type diffLine struct{ sign, field, from, to string }

// diffGroups orders the lines of a difference by object, at most diffLinesMax, and counts those that are left out.
func diffGroups(lines []string) (groups []diffGroup, left int) {
	if len(lines) > diffLinesMax {
		lines, left = lines[:diffLinesMax], len(lines)-diffLinesMax
	}
	at := map[string]int{}
	for _, line := range lines {
		c := changeOf(line)
		title := c.what + " " + c.name
		if c.what == "settings" {
			title = "Settings"
		}
		i, known := at[title]
		if !known {
			i = len(groups)
			at[title] = i
			groups = append(groups, diffGroup{title: strings.ToUpper(title[:1]) + title[1:]})
		}
		groups[i].lines = append(groups[i].lines, c.line())
	}
	return groups, left
}

// line reads the rest of a change: a field, and its value before and after.
func (c catalogChange) line() diffLine {
	l := diffLine{sign: c.sign}
	if c.rest == "" {
		return l
	}
	field, value := c.rest, ""
	if end := fieldEnd(c.rest); end < len(c.rest) {
		field, value = c.rest[:end], c.rest[end+1:]
	}
	l.field = field
	switch c.sign {
	case "+":
		l.to = value
	case "-":
		l.from = value
	default:
		var both bool
		if l.from, l.to, both = strings.Cut(value, " → "); !both {
			l.field, l.from, l.to = c.rest, "", "" // This difference has no values, such as the order of models.
		}
	}
	return l
}

// fieldEnd is where the path of a field ends: at the first space that is in no brackets, as routes are named by several words.
func fieldEnd(text string) int {
	depth := 0
	for i, r := range text {
		switch r {
		case '[':
			depth++
		case ']':
			depth = max(depth-1, 0)
		case ' ':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

func (l diffLine) verdict() views.Badge {
	switch l.sign {
	case "+":
		return views.Badge{Tone: ui.Success, Text: "Added"}
	case "-":
		return views.Badge{Tone: ui.Danger, Text: "Removed"}
	}
	return views.Badge{Tone: ui.Info, Text: "Changed"}
}
