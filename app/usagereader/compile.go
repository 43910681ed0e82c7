package usagereader

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"umg/app/llm"
	"umg/app/meter"
)

// These targets are no meters.
const (
	targetTotal = "total_tokens"
	targetCost  = "cost"
	targetTicks = "cost_in_ticks"
)

// Reading multiplies by these powers of ten. Costs are kept in 1e-12 dollars, and a tick is 1e-10 dollars.
const (
	dollarShift = 12
	tickShift   = 2
	secondShift = 3
)

// rule says how a target follows from slots: the first alternative that applies.
type rule struct {
	alternatives []alternative
	// only is the slot of a rule that has nothing but one.
	only   int
	isOnly bool
}

type alternative struct {
	tests []test
	terms []term
}

// term is a slot that is added or subtracted.
type term struct {
	slot int
	less bool
}

// test is a condition of an alternative.
type test struct {
	kind string
	slot int
}

// These are the kinds of tests. The first two ask for a positive number, the others for any.
const (
	testWhen   = "when"
	testUnless = "unless"
	testHas    = "has"
	testLacks  = "lacks"
)

// meterRule is the rule for one meter.
type meterRule struct {
	meter meter.Meter
	rule  rule
}

// termRule says which of the terms a word decides.
type termRule struct {
	slot  int
	set   func(*meter.Terms, string)
	words map[string]string
}

// compiler builds what is read from one kind of document: its places with their slots.
type compiler struct {
	root    *node
	numbers int
	words   int
	// marks are texts of which each document has one that has any of the places.
	marks []string
}

// compile checks a layout and prepares it for reading.
func (e *layoutEntry) compile(f *file) (*layout, error) {
	l := &layout{}
	for _, check := range [...]struct {
		name, value string
		words       []string
	}{
		{"merge", e.Merge, []string{"object", "members"}},
		{"cache", e.Cache, []string{"inside", "outside"}},
		{"reasoning", e.Reasoning, []string{"inside", "outside", "by_total"}},
		{"reasoning_excess", e.Excess, []string{"", "cut"}},
		{"output", e.Output, []string{"", "zero_when_absent"}},
	} {
		if !slices.Contains(check.words, check.value) {
			return nil, fmt.Errorf("%s is %q; it must be one of %q", check.name, check.value, check.words)
		}
	}
	l.members = e.Merge == "members"
	l.inclusive = e.Cache == "inside"
	l.reasoning, l.cutsReasoning, l.zeroOutput = e.Reasoning, e.Excess == "cut", e.Output == "zero_when_absent"
	if err := e.compileUsage(l, f); err != nil {
		return nil, err
	}
	return l, e.compileAnswer(l, f)
}

func (e *layoutEntry) compileUsage(l *layout, f *file) error {
	c := &compiler{root: newNode()}
	for _, target := range slices.Sorted(maps.Keys(e.Usage)) {
		shift := 0
		switch target {
		case targetCost:
			shift = dollarShift
		case targetTicks:
			shift = tickShift
		}
		r, err := c.rule(e.Usage[target], shiftOf(target, shift))
		if err != nil {
			return fmt.Errorf("usage.%s: %w", target, err)
		}
		if err := l.take(target, r); err != nil {
			return err
		}
	}
	for _, word := range e.CacheOutside {
		if word == "larger" {
			l.outsideWhenLarger = true
			continue
		}
		slot, err := c.slot(word, 0)
		if err != nil {
			return err
		}
		l.outsideWhenHas = append(l.outsideWhenHas, slot)
	}
	for _, path := range e.Unpriced {
		slot, err := c.slot(path, 0)
		if err != nil {
			return err
		}
		l.unpriced = append(l.unpriced, slot)
	}
	for _, path := range slices.Concat(f.Known, e.Known) {
		n, b, err := c.root.place(path)
		if err != nil {
			return err
		}
		if b != nil {
			if b.node == nil {
				b.node = newNode()
			}
			n = b.node
		}
		n.known = true
	}
	terms, err := c.terms(e.Terms, f)
	if err != nil {
		return err
	}
	l.terms, l.usage, l.slots = terms, c.root, c.numbers
	if l.input.alternatives == nil {
		return errors.New("usage.input_tokens is missing")
	}
	return c.finish()
}

func (e *layoutEntry) compileAnswer(l *layout, f *file) error {
	c := &compiler{root: newNode()}
	for _, target := range slices.Sorted(maps.Keys(e.Answer)) {
		m, err := meter.Parse(target)
		if err != nil {
			return err
		}
		r, err := c.rule(e.Answer[target], shiftOf(target, 0))
		if err != nil {
			return fmt.Errorf("answer.%s: %w", target, err)
		}
		l.answer.meters = append(l.answer.meters, meterRule{m, r})
	}
	for _, path := range e.NotInUsage {
		slot, err := c.slot(path, 0)
		if err != nil {
			return err
		}
		l.answer.unpriced = append(l.answer.unpriced, slot)
	}
	for _, path := range e.Holders {
		n, err := c.memberAt(path)
		if err != nil {
			return fmt.Errorf("holders: %w", err)
		}
		n.holds = true
	}
	terms, err := c.terms(e.AnswerTerms, f)
	if err != nil {
		return err
	}
	l.answer.terms, l.answer.places, l.answer.slots = terms, c.root, c.numbers
	for _, mark := range c.marks {
		l.answer.marks = append(l.answer.marks, []byte(mark))
	}
	return c.finish()
}

// shiftOf returns the power of ten for the numbers of a target.
func shiftOf(target string, shift int) int {
	if m, err := meter.Parse(target); err == nil && m.Info().Unit == meter.UnitSecond {
		return secondShift
	}
	return shift
}

// take records the rule of a target in the usage object.
func (l *layout) take(target string, r rule) error {
	switch target {
	case targetTotal:
		l.total = r
		return nil
	case targetCost:
		l.cost = r
		return nil
	case targetTicks:
		l.ticks = r
		return nil
	}
	m, err := meter.Parse(target)
	if err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	switch m {
	case meter.InputTokens:
		l.input = r
	case meter.OutputTokens:
		l.output = r
	case meter.CacheReadTokens:
		l.cacheRead = r
	case meter.CacheWriteTokens:
		l.cacheWrite = r
	case meter.ReasoningTokens:
		l.thoughts = r
	default:
		l.meters = append(l.meters, meterRule{m, r})
	}
	return nil
}

// rule compiles the items of a target: paths that are added, and words before paths.
func (c *compiler) rule(items []string, shift int) (rule, error) {
	var r rule
	var a alternative
	for _, item := range items {
		word, path, hasWord := strings.Cut(item, " ")
		if !hasWord {
			word, path = "", item
		}
		if word == "else" {
			r.alternatives, a, word = append(r.alternatives, a), alternative{}, ""
			if next, rest, more := strings.Cut(path, " "); more {
				word, path = next, rest
			}
		}
		slot, err := c.placeSlot(path, shift, word == "distinct")
		if err != nil {
			return r, err
		}
		switch word {
		case testWhen, testUnless, testHas, testLacks:
			a.tests = append(a.tests, test{word, slot})
		case "", "distinct", "less":
			a.terms = append(a.terms, term{slot, word == "less"})
		default:
			return r, fmt.Errorf("%q is not a word before a path", word)
		}
	}
	r.alternatives = append(r.alternatives, a)
	for _, a := range r.alternatives {
		if len(a.terms) == 0 || a.terms[0].less {
			return r, errors.New("each alternative must add a path before others")
		}
	}
	if len(r.alternatives) == 1 && len(a.terms) == 1 && len(a.tests) == 0 {
		r.only, r.isOnly = a.terms[0].slot, true
	}
	return r, nil
}

// slot returns the slot of a path, which it adds when it is missing.
func (c *compiler) slot(path string, shift int) (int, error) { return c.placeSlot(path, shift, false) }

func (c *compiler) placeSlot(path string, shift int, distinct bool) (int, error) {
	n, b, err := c.place(path)
	if err != nil {
		return 0, err
	}
	at := &c.numbers
	switch {
	case b != nil:
		if b.count == none {
			b.count, *at = *at, *at+1
		}
		return b.count, nil
	case n.number == none:
		n.number, n.shift, n.distinct, *at = *at, shift, distinct, *at+1
	case n.shift != shift || n.distinct != distinct:
		return 0, fmt.Errorf("%q has two meanings", path)
	}
	return n.number, nil
}

// place adds the place of a path, and its mark.
func (c *compiler) place(path string) (*node, *branch, error) {
	n, b, err := c.root.place(path)
	if err != nil {
		return nil, nil, err
	}
	mark, err := markOf(path)
	if err == nil && !slices.Contains(c.marks, mark) {
		c.marks = append(c.marks, mark)
	}
	return n, b, err
}

// memberAt returns the place of a path that ends with a member.
func (c *compiler) memberAt(path string) (*node, error) {
	n, b, err := c.place(path)
	if err == nil && b != nil {
		err = fmt.Errorf("%q is not the path of a member", path)
	}
	return n, err
}

// setters has how each of the terms is set.
var setters = map[string]func(*meter.Terms, string){
	"service_tier": func(t *meter.Terms, word string) { t.ServiceTier = word },
	"region":       func(t *meter.Terms, word string) { t.Region = word },
	"speed":        func(t *meter.Terms, word string) { t.Speed = word },
	"size":         func(t *meter.Terms, word string) { t.Size = word },
	"quality":      func(t *meter.Terms, word string) { t.Quality = word },
}

func (c *compiler) terms(paths map[string]string, f *file) ([]termRule, error) {
	var rules []termRule
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		set, words := setters[name], f.Words[name]
		if set == nil || words == nil {
			return nil, fmt.Errorf("terms: %q is not a term with words", name)
		}
		for path := range strings.SplitSeq(paths[name], ", ") {
			n, err := c.memberAt(path)
			if err != nil {
				return nil, fmt.Errorf("terms: %w", err)
			}
			n.word = c.words
			c.words++
			rules = append(rules, termRule{n.word, set, words})
		}
	}
	return rules, nil
}

func (c *compiler) finish() error {
	if c.numbers > slotsMax || c.words > wordsMax {
		return fmt.Errorf("a layout reads at most %d numbers and %d words", slotsMax, wordsMax)
	}
	c.root.close()
	return nil
}

// mustParse returns the readers of the embedded table.
func mustParse() map[string]map[llm.Style]*layout {
	all, err := parse(table)
	if err != nil {
		panic(err)
	}
	return all
}
