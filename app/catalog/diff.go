package catalog

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Diff lists the changes that applying next over old makes, one line each: + for an addition, - for a removal, ~ for a change. The
// prices that markups make are among them.
func Diff(old, next File) ([]string, error) {
	var lines []string
	old, errOld := old.withMarkups()
	next, errNext := next.withMarkups()
	if err := errors.Join(errOld, errNext); err != nil {
		return nil, err
	}
	settings, err := changes("", fileAliases{old.Aliases.withoutDefaults()}, fileAliases{next.Aliases.withoutDefaults()})
	if err != nil {
		return nil, err
	}
	lines = append(lines, settings...)
	providers, err := diffList("provider", old.Providers, next.Providers, func(p FileProvider) string { return p.ID })
	if err != nil {
		return nil, err
	}
	models, err := diffList("model", old.Models, next.Models, func(m FileModel) string { return m.ID })
	return slices.Concat(lines, providers, models), err
}

// fileAliases is a file with nothing but its aliases.
type fileAliases struct {
	Aliases Aliases `yaml:"aliases,omitempty"`
}

func diffList[T any](what string, old, next []T, id func(T) string) ([]string, error) {
	var lines []string
	var oldOrder, nextOrder []string
	before, after := placesByID(old, id), placesByID(next, id)
	for i := range old {
		name := id(old[i])
		if _, stays := after[name]; !stays {
			lines = append(lines, "- "+what+" "+name)
			continue
		}
		oldOrder = append(oldOrder, name)
	}
	for i := range next {
		name := id(next[i])
		place, known := before[name]
		if !known {
			lines = append(lines, "+ "+what+" "+name)
			continue
		}
		nextOrder = append(nextOrder, name)
		changed, err := changes(what+" "+name+" ", old[place], next[i])
		if err != nil {
			return nil, err
		}
		lines = append(lines, changed...)
	}
	if !slices.Equal(oldOrder, nextOrder) {
		lines = append(lines, "~ the order of "+what+"s")
	}
	return lines, nil
}

// placesByID are the indexes of the items of a list by id. Of two items with one id it has the first.
func placesByID[T any](list []T, id func(T) string) map[string]int {
	places := make(map[string]int, len(list))
	for i := range list {
		if _, known := places[id(list[i])]; !known {
			places[id(list[i])] = i
		}
	}
	return places
}

// changes compares two entries leaf by leaf. It first empties the fields that are equal in both, because printing them takes most of
// the time.
func changes[T any](prefix string, old, next T) ([]string, error) {
	same := true
	a, b := reflect.ValueOf(&old).Elem(), reflect.ValueOf(&next).Elem()
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			same = false
			continue
		}
		a.Field(i).SetZero()
		b.Field(i).SetZero()
	}
	if same {
		return nil, nil
	}
	return leafChanges(prefix, old, next)
}

// leafChanges compares all leaves of two entries.
func leafChanges(prefix string, old, next any) ([]string, error) {
	before, beforeOrder, err := leaves(old)
	if err != nil {
		return nil, err
	}
	after, afterOrder, err := leaves(next)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, path := range slices.Concat(beforeOrder, afterOrder) {
		a, had := before[path]
		b, has := after[path]
		// A path in both orders comes up twice. The second time it must be in neither map.
		delete(before, path)
		delete(after, path)
		switch {
		case a == b && had == has:
		case !has:
			lines = append(lines, fmt.Sprintf("- %s%s %s", prefix, path, a))
		case !had:
			lines = append(lines, fmt.Sprintf("+ %s%s %s", prefix, path, b))
		default:
			lines = append(lines, fmt.Sprintf("~ %s%s %s → %s", prefix, path, a, b))
		}
	}
	return lines, nil
}

// leaves flattens an entry to its values by path. A list of plain values is one value. A route is named by its provider, model and
// style, so that a new first route does not look like a change of all others.
func leaves(entry any) (values map[string]string, order []string, err error) {
	var n yaml.Node
	if err := n.Encode(entry); err != nil {
		return nil, nil, fmt.Errorf("catalog: compare: %w", err)
	}
	values = map[string]string{}
	var visit func(path string, n *yaml.Node)
	visit = func(path string, n *yaml.Node) {
		switch {
		case n.Kind == yaml.MappingNode:
			for i := 0; i < len(n.Content); i += 2 {
				visit(strings.TrimPrefix(path+"."+n.Content[i].Value, "."), n.Content[i+1])
			}
		case n.Kind == yaml.SequenceNode && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode:
			names := map[string]int{}
			for _, entry := range n.Content {
				name := entryName(entry)
				if names[name]++; names[name] > 1 { // Two entries with one name must not count as one.
					name += " " + strconv.Itoa(names[name])
				}
				visit(path+"["+name+"]", entry)
			}
		case n.Kind == yaml.SequenceNode:
			var words []string
			for _, item := range n.Content {
				words = append(words, item.Value)
			}
			values[path], order = "["+strings.Join(words, ", ")+"]", append(order, path)
		default:
			values[path], order = n.Value, append(order, path)
		}
	}
	visit("", &n)
	return values, order, nil
}

// entryFields are the members that tell the entries of a list apart: those of a route, and those of a condition.
var entryFields = []string{
	"provider", "model", "style",
	"prompt_over", "each_over", "service_tier", "region", "speed", "size", "quality", "hours", "days",
}

// entryName names an entry of a list in a path, without spaces where it is a condition, because a path of a change ends with a space.
func entryName(entry *yaml.Node) string {
	var words []string
	isRoute := false
	for i := 0; i < len(entry.Content); i += 2 {
		name, value := entry.Content[i].Value, entry.Content[i+1]
		if !slices.Contains(entryFields, name) {
			continue
		}
		if isRoute = isRoute || name == "provider"; isRoute {
			words = append(words, value.Value)
			continue
		}
		items := []string{value.Value}
		for _, item := range value.Content {
			items = append(items, item.Value)
		}
		words = append(words, name+"="+strings.TrimPrefix(strings.Join(items, "+"), "+"))
	}
	if isRoute {
		return strings.Join(words, " ")
	}
	return strings.Join(words, ",")
}
