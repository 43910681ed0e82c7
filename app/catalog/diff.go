package catalog

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Diff tells people what applying next over old would change, one line a change: + for what comes, - for what goes,
// ~ for what becomes different.
func Diff(old, next File) ([]string, error) {
	var lines []string
	settings, err := changes("", aliasesOnly(old), aliasesOnly(next))
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

func aliasesOnly(f File) any {
	return struct {
		Aliases Aliases `yaml:"aliases,omitempty"`
	}{f.Aliases}
}

func diffList[T any](what string, old, next []T, id func(T) string) ([]string, error) {
	var lines []string
	var oldOrder, nextOrder []string
	for _, item := range old {
		if !slices.ContainsFunc(next, func(n T) bool { return id(n) == id(item) }) {
			lines = append(lines, "- "+what+" "+id(item))
			continue
		}
		oldOrder = append(oldOrder, id(item))
	}
	for _, item := range next {
		i := slices.IndexFunc(old, func(o T) bool { return id(o) == id(item) })
		if i < 0 {
			lines = append(lines, "+ "+what+" "+id(item))
			continue
		}
		nextOrder = append(nextOrder, id(item))
		changed, err := changes(what+" "+id(item)+" ", old[i], item)
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

// changes compares two entries leaf by leaf.
func changes(prefix string, old, next any) ([]string, error) {
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
		delete(before, path) // a path is in both orders: its second turn finds it in neither map
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

// leaves flattens an entry to its values by path. A list of plain values is one value; a route is called by what it
// is, so that a new first route does not look like a change of all others.
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
			for _, item := range n.Content {
				visit(path+"["+routeName(item)+"]", item)
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

func routeName(route *yaml.Node) string {
	var words []string
	for i := 0; i < len(route.Content); i += 2 {
		if slices.Contains([]string{"provider", "model", "style"}, route.Content[i].Value) {
			words = append(words, route.Content[i+1].Value)
		}
	}
	return strings.Join(words, " ")
}
