package reconcile

import (
	"regexp"
	"slices"
	"strings"
)

// versionSuffix is how providers name one snapshot of a model: by its day, by a number of three digits or more, or as the latest.
var versionSuffix = regexp.MustCompile(`[-@](\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3}|latest)$`)

// family is the longest beginning that a model's name shares with its snapshots: gpt-4o for gpt-4o-2024-08-06 and for gpt-4o.
func family(model string) string { return versionSuffix.ReplaceAllString(model, "") }

// isAlias reports whether a name stands for whatever snapshot is current.
func isAlias(model string) bool {
	return family(model) == model || strings.HasSuffix(model, "-latest")
}

// nameGroup is the names that are compared as one.
type nameGroup struct{ here, there []string }

// split divides the names of a family into those that are compared with each other. Equal names are. If one side has an alias that the
// other has not, no one can tell which snapshot it meant, so the whole family is compared as one.
func (g nameGroup) split() (groups []nameGroup) {
	isOnOneSide := func(name string, other []string) bool { return isAlias(name) && !slices.Contains(other, name) }
	together := slices.ContainsFunc(g.here, func(n string) bool { return isOnOneSide(n, g.there) }) ||
		slices.ContainsFunc(g.there, func(n string) bool { return isOnOneSide(n, g.here) })
	if together && len(g.here) > 0 && len(g.there) > 0 {
		return []nameGroup{g}
	}
	for _, name := range g.here {
		pair := nameGroup{here: []string{name}}
		if slices.Contains(g.there, name) {
			pair.there = pair.here
		}
		groups = append(groups, pair)
	}
	for _, name := range g.there {
		if !slices.Contains(g.here, name) {
			groups = append(groups, nameGroup{there: []string{name}})
		}
	}
	return groups
}

// model is the name under which the group is reported: the common name, or else the family.
func (g nameGroup) model() string {
	if names := slices.Concat(g.there, g.here); len(names) == 1 || len(names) == 2 && names[0] == names[1] {
		return names[0]
	}
	return family(slices.Concat(g.there, g.here)[0])
}

// note says which names were compared as one family. It is empty when both sides have the same name.
func (g nameGroup) note() string {
	if len(g.here) == 0 || len(g.there) == 0 || slices.Equal(g.here, g.there) {
		return ""
	}
	return "compared as one family: here " + strings.Join(g.here, ", ") + ", there " + strings.Join(g.there, ", ")
}
