package catalog

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// addLines sets the lines of problems. A file that was not parsed from a text has none.
func (f File) addLines(all []error) {
	var document yaml.Node
	if len(f.source) == 0 || yaml.Unmarshal(f.source, &document) != nil || len(document.Content) == 0 {
		return
	}
	for i, err := range all {
		if problem, ok := errors.AsType[FileError](err); ok {
			problem.Line = lineOf(document.Content[0], problem.Path)
			all[i] = problem
		}
	}
}

// lineOf is the line of a path such as models[3].routes[0].provider, or of the nearest value around it that the text has.
func lineOf(n *yaml.Node, path string) int {
	line := n.Line
	for path != "" {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		next, rest := child(n, strings.TrimPrefix(path, "."))
		if next == nil {
			break
		}
		n, path = next, rest
		line = n.Line
	}
	return line
}

// child is the value at the beginning of a path, and the rest of the path. It is nil when there is no such value.
func child(n *yaml.Node, path string) (value *yaml.Node, rest string) {
	switch n.Kind {
	case yaml.SequenceNode:
		index, after, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(index)
		if !ok || err != nil || i < 0 || i >= len(n.Content) {
			return nil, ""
		}
		return n.Content[i], after
	case yaml.MappingNode:
		// A name may have dots, so the longest one that fits is meant.
		longest := -1
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			after, ok := strings.CutPrefix(path, name)
			if ok && (after == "" || after[0] == '.' || after[0] == '[') && len(name) > longest {
				longest, value, rest = len(name), n.Content[i+1], after
			}
		}
	}
	return value, rest
}

// wrongTypeForm is the error of a scalar that has not the type of its field. The decoder names the line and the value alone.
var wrongTypeForm = regexp.MustCompile("^line ([0-9]+): cannot unmarshal !![a-z]+ `([^`]*)` into ")

// nameFields adds the names of fields to errors about scalars of a wrong type.
func nameFields(raw []byte, err error) error {
	wrong, ok := errors.AsType[*yaml.TypeError](err)
	var document yaml.Node
	if !ok || yaml.Unmarshal(raw, &document) != nil {
		return err
	}
	for i, text := range wrong.Errors {
		found := wrongTypeForm.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		line, _ := strconv.Atoi(found[1]) // The form has only digits.
		if field := fieldAt(&document, line, found[2]); field != "" {
			wrong.Errors[i] = text + ", at " + field
		}
	}
	return err
}

// fieldAt is the name of the field that has a value on a line. The decoder cuts long values and ends them with three dots.
func fieldAt(n *yaml.Node, line int, value string) (field string) {
	start, _ := strings.CutSuffix(value, "...")
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && c.Kind == yaml.ScalarNode && c.Line == line && strings.HasPrefix(c.Value, start) {
			return n.Content[i-1].Value
		}
		if field = fieldAt(c, line, value); field != "" {
			return field
		}
	}
	return ""
}
