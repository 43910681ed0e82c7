package errorclass

import (
	"bytes"
	_ "embed" // The table of errors is embedded.
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"umg/app/llm"
)

//go:embed errors.yaml
var text []byte

// Rows and words may name statuses from statusMin to statusMax.
const (
	statusMin = 400
	statusMax = 599
)

// file is the table. Its comments explain the members.
type file struct {
	After     []Source              `yaml:"after"`
	Styles    map[llm.Style]string  `yaml:"styles"`
	Statuses  []statusEntry         `yaml:"statuses"`
	Default   []rowEntry            `yaml:"default"`
	Providers map[string][]rowEntry `yaml:"providers"`
}

// statusEntry gives a status to the errors with a word.
type statusEntry struct {
	Word   string `yaml:"word"`
	Status int    `yaml:"status"`
}

// rowEntry is a row of the table.
type rowEntry struct {
	Status  words    `yaml:"status"`
	Code    words    `yaml:"code"`
	Type    words    `yaml:"type"`
	Reason  words    `yaml:"reason"`
	Message words    `yaml:"message"`
	Quota   words    `yaml:"quota"`
	Header  string   `yaml:"header"`
	Value   words    `yaml:"value"`
	Means   Meaning  `yaml:"means"`
	Cause   Cause    `yaml:"cause"`
	After   []Source `yaml:"after"`
}

// words is a list, which may be written as its only word.
type words []string

// UnmarshalYAML reads one word or a list of words.
func (w *words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*w = words{n.Value}
		return nil
	}
	var list []string
	if err := n.Decode(&list); err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("a list has no words")
	}
	*w = list
	return nil
}

// compiled is the whole table.
type compiled struct {
	providers map[string]*Table
	styles    map[llm.Style]*Table
	fallback  *Table
	statuses  []wordStatus
}

// wordStatus is the status of errors with a word.
type wordStatus struct {
	word   pattern
	status int
}

// parse reads and compiles the table. An unknown word is an error.
func parse(text []byte) (*compiled, error) {
	var f file
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true) // The decoder also rejects duplicate members.
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("errorclass: the table: %w", err)
	}
	if err := checkSources(f.After); err != nil {
		return nil, fmt.Errorf("errorclass: after: %w", err)
	}
	usual, err := f.compile("default", f.Default)
	if err != nil {
		return nil, err
	}
	c := &compiled{fallback: &Table{rows: usual}, providers: map[string]*Table{}, styles: map[llm.Style]*Table{}}
	for name, entries := range f.Providers {
		rows, err := f.compile(name, entries)
		if err != nil {
			return nil, err
		}
		c.providers[name] = &Table{rows: slices.Concat(rows, usual)}
	}
	for style, name := range f.Styles {
		if c.styles[style] = c.providers[name]; c.styles[style] == nil {
			return nil, fmt.Errorf("errorclass: the style %s has no provider %q", style, name)
		}
	}
	for _, s := range f.Statuses {
		if s.Word == "" || s.Status < statusMin || s.Status > statusMax {
			return nil, fmt.Errorf("errorclass: the word %q has no status of an error", s.Word)
		}
		c.statuses = append(c.statuses, wordStatus{newPattern(s.Word), s.Status})
	}
	return c, nil
}

func checkSources(list []Source) error {
	for _, s := range list {
		if !slices.Contains(sources, s) {
			return fmt.Errorf("%q is not a place of a wait", s)
		}
	}
	return nil
}

// compile compiles the rows of a list.
func (f *file) compile(name string, entries []rowEntry) ([]row, error) {
	if len(entries) == 0 {
		return nil, fmt.Errorf("errorclass: %s has no rows", name)
	}
	var rows []row
	for i := range entries {
		r, err := entries[i].compile()
		if err != nil {
			return nil, fmt.Errorf("errorclass: row %d of %s: %w", i+1, name, err)
		}
		if r.after == nil {
			r.after = f.After
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (e *rowEntry) compile() (row, error) {
	r := row{
		means: e.Means, cause: e.Cause, after: e.After, code: newPatterns(e.Code), kind: newPatterns(e.Type), reason: newPatterns(e.Reason),
		message: newPatterns(e.Message), quota: newPatterns(e.Quota), header: e.Header, value: newPatterns(e.Value),
	}
	switch {
	case !slices.Contains(meanings, e.Means):
		return r, fmt.Errorf("%q is not a meaning", e.Means)
	case e.Cause != "" && (e.Cause != SessionEnded || e.Means != Key):
		return r, fmt.Errorf("%q is not a cause of the meaning %s", e.Cause, e.Means)
	case (e.Header == "") != (e.Value == nil):
		return r, errors.New("header and value belong together")
	case e.Status == nil && e.Code == nil && e.Type == nil && e.Reason == nil && e.Message == nil && e.Quota == nil && e.Header == "":
		return r, errors.New("it matches every error")
	case (e.Means == Key || e.Means == Account) && e.Status == nil:
		return r, errors.New("a row that rests a credential must name its status")
	}
	for _, word := range e.Status {
		s, err := newStatusRange(word)
		if err != nil {
			return r, err
		}
		r.statuses = append(r.statuses, s)
	}
	return r, checkSources(e.After)
}

// newStatusRange reads a status or a word such as 4xx.
func newStatusRange(word string) (statusRange, error) {
	if hundreds, isRange := strings.CutSuffix(word, "xx"); isRange && (hundreds == "4" || hundreds == "5") {
		n := int(hundreds[0]-'0') * 100
		return statusRange{n, n + 99}, nil
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < statusMin || n > statusMax {
		return statusRange{}, fmt.Errorf("%q is not the status of an error", word)
	}
	return statusRange{n, n}, nil
}

func mustParse() *compiled {
	c, err := parse(text)
	if err != nil {
		panic(err)
	}
	return c
}
