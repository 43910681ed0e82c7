package usagereader

import (
	"bytes"
	"maps"
	"slices"

	"umg/app"
	"umg/app/llm"
	"umg/app/meter"
)

// The gateway does not serve these styles of providers yet. Their layouts are in the table.
const (
	Embeddings llm.Style = "embeddings"
	Compact    llm.Style = "compact"
)

// layout is a compiled layout. It implements llm.UsageReader.
type layout struct {
	// members means that a usage object has only what changed since the last one. Otherwise it replaces the last one.
	members bool
	// inclusive means that the input includes what was read from and written to the cache, apart from these exceptions.
	inclusive         bool
	outsideWhenLarger bool
	outsideWhenHas    []int
	// reasoning says whether the output includes the reasoning: inside, outside or by_total.
	reasoning     string
	cutsReasoning bool
	zeroOutput    bool

	usage *node
	slots int

	input, output, cacheRead, cacheWrite, thoughts, total, cost, ticks rule

	meters   []meterRule
	terms    []termRule
	unpriced []int

	answer answerLayout
}

// answerLayout says what is read beside the usage object.
type answerLayout struct {
	places   *node
	slots    int
	meters   []meterRule
	terms    []termRule
	unpriced []int
	// marks are texts of which each document has one that has any of the places.
	marks [][]byte
}

var readers = mustParse()

// defaults has the reader of each style for providers without one of their own.
var defaults = readers["compatible"]

// Of returns the reader of a provider in one style. It reports false when the table has none. The empty name stands for any provider.
func Of(name string, style llm.Style) (llm.UsageReader, bool) {
	l := readers[name][style]
	if name == "" {
		l = defaults[style]
	}
	if l == nil {
		return nil, false
	}
	return l, true
}

// Default returns the reader of a style, for providers without one of their own. It panics for a style that the gateway does not serve.
func Default(style llm.Style) llm.UsageReader {
	l := defaults[style]
	if l == nil {
		panic("usagereader.Default: there is no style " + string(style))
	}
	return l
}

// For returns the reader of an answer: that of its provider, or that of its style.
func For(a *llm.ResponseOptions, style llm.Style) llm.UsageReader {
	if a != nil && a.UsageReader != nil {
		return a.UsageReader
	}
	return Default(style)
}

// Names lists the providers of the table.
func Names() []string { return slices.Sorted(maps.Keys(readers)) }

// NewReport returns a report without any counts.
func NewReport() llm.Report { return llm.Report{Input: llm.Unknown, Output: llm.Unknown} }

// start prepares a scan of a document.
func (s *scan) start(doc []byte, slots int) {
	s.doc = doc
	for i := range s.numbers[:slots] {
		s.numbers[i] = absent
	}
}

// ReadUsage adds the counts of a usage object to a report, as llm.UsageReader says.
func (l *layout) ReadUsage(r *llm.Report, object []byte) bool {
	s := scan{strict: true}
	s.start(object, l.slots)
	if s.object(0, l.usage) < 0 {
		return false
	}
	if !l.members {
		r.Input, r.Output, r.CacheRead, r.CacheWrite, r.Reasoning, r.ProviderCost = llm.Unknown, llm.Unknown, 0, 0, 0, nil
		for _, m := range l.meters {
			r.Parts[m.meter] = 0
		}
	}
	r.Unread = r.Unread || s.unread || s.hasPositive(l.unpriced)
	hasOutput := l.readTotals(r, &s)
	for _, m := range l.meters {
		if n, ok := s.eval(&m.rule); ok {
			r.Parts[m.meter] = n
		}
	}
	if !l.members {
		fitKinds(r)
	}
	if cost, ok := s.eval(&l.cost); ok && cost >= 0 {
		r.ProviderCost = amount(cost)
	} else if ticks, ok := s.eval(&l.ticks); ok && ticks >= 0 {
		r.ProviderCost = amount(ticks)
	}
	s.readTerms(r, l.terms)
	return hasOutput
}

// readTotals reads the input, the cache, the output and the reasoning. It reports whether the output is known.
func (l *layout) readTotals(r *llm.Report, s *scan) (hasOutput bool) {
	for _, one := range [...]struct {
		rule *rule
		to   *int64
	}{{&l.input, &r.Input}, {&l.cacheRead, &r.CacheRead}, {&l.cacheWrite, &r.CacheWrite}, {&l.thoughts, &r.Reasoning}} {
		if n, ok := s.eval(one.rule); ok {
			*one.to = n
		}
	}
	isLarger := r.Input >= 0 && r.CacheRead > r.Input
	r.Inclusive = l.inclusive && (!l.outsideWhenLarger || !isLarger)
	for _, slot := range l.outsideWhenHas {
		r.Inclusive = r.Inclusive && s.numbers[slot] == absent
	}
	output, hasOutput := s.eval(&l.output)
	if !hasOutput && l.zeroOutput && (r.Input != llm.Unknown || r.Reasoning > 0) {
		output, hasOutput = 0, true
	}
	if !hasOutput {
		return false
	}
	r.Output = output
	if l.reasoningOutside(r, s) {
		r.Output = llm.Sum(output, max(0, r.Reasoning))
	} else if l.cutsReasoning && output >= 0 {
		r.Reasoning = min(r.Reasoning, output)
	}
	return true
}

// reasoningOutside reports whether the reasoning has to be added to the output.
func (l *layout) reasoningOutside(r *llm.Report, s *scan) bool {
	if l.reasoning != "by_total" {
		return l.reasoning == "outside"
	}
	total, ok := s.eval(&l.total)
	input := r.Input
	if !r.Inclusive {
		input += r.CacheRead + r.CacheWrite
	}
	return ok && r.Reasoning > 0 && r.Input >= 0 && r.Output >= 0 &&
		(total == input+r.Output+r.Reasoning || total == r.Input+r.Output+r.Reasoning)
}

// ReadAnswer adds what stands beside the usage object to a report, as llm.UsageReader says.
func (l *layout) ReadAnswer(r *llm.Report, document []byte) (hasUsage bool) {
	// Most frames of a stream have nothing beside the usage object, which is seen faster than it is read.
	if !slices.ContainsFunc(l.answer.marks, func(mark []byte) bool { return bytes.Contains(document, mark) }) {
		return false
	}
	var s scan
	s.start(document, l.answer.slots)
	if s.object(0, l.answer.places) < 0 {
		return false
	}
	if hasUsage = len(s.usage) > 0 && s.usage[0] == '{'; hasUsage {
		l.ReadUsage(r, s.usage)
	}
	for _, m := range l.answer.meters {
		if n, ok := s.eval(&m.rule); ok {
			// Several frames of a stream repeat what earlier ones had.
			r.Parts[m.meter] = max(r.Parts[m.meter], n)
		}
	}
	r.Unread = r.Unread || s.hasPositive(l.answer.unpriced)
	s.readTerms(r, l.answer.terms)
	return hasUsage
}

// eval computes a rule. It reports false when the document has none of its places.
func (s *scan) eval(r *rule) (int64, bool) {
	if r.isOnly {
		n := s.numbers[r.only]
		return n, n != absent
	}
	for i := range r.alternatives {
		a := &r.alternatives[i]
		if !s.passes(a.tests) {
			continue
		}
		sum, found := int64(0), false
		for _, t := range a.terms {
			n := s.numbers[t.slot]
			switch {
			case n == absent:
			case t.less:
				sum -= max(0, n)
			case n == llm.Unknown:
				return llm.Unknown, true
			default:
				sum, found = sum+n, true
			}
		}
		if found {
			return max(0, sum), true
		}
	}
	return 0, false
}

func (s *scan) passes(tests []test) bool {
	for _, t := range tests {
		n := s.numbers[t.slot]
		var ok bool
		switch t.kind {
		case testWhen:
			ok = n > 0
		case testUnless:
			ok = n <= 0
		case testHas:
			ok = n != absent
		case testLacks:
			ok = n == absent
		}
		if !ok {
			return false
		}
	}
	return true
}

func (s *scan) hasPositive(slots []int) bool {
	return slices.ContainsFunc(slots, func(slot int) bool { return s.numbers[slot] > 0 })
}

// readTerms reads words into the terms. A word that the table does not have leaves the price open.
func (s *scan) readTerms(r *llm.Report, rules []termRule) {
	for _, t := range rules {
		if word := s.words[t.slot]; word != nil {
			ours, ok := t.words[string(word)]
			if t.set(&r.Terms, ours); !ok {
				r.Unread = true
			}
		}
	}
}

// amount rounds a cost in 1e-12 dollars up to nano-dollars.
func amount(cost int64) *app.Amount {
	const perNano = 1_000
	nanos := app.Amount((cost + perNano - 1) / perNano)
	return &nanos
}

// inputKinds lists the kinds of input with those of cached input; the kind itself when there is none.
var inputKinds = [...]struct{ fresh, cached meter.Meter }{
	{meter.InputAudioTokens, meter.CacheReadAudioTokens},
	{meter.InputImageTokens, meter.CacheReadImageTokens},
	{meter.InputVideoTokens, meter.InputVideoTokens},
}

// fitKinds corrects kinds of input that include cached tokens, which not all providers tell apart. What exceeds the input without its
// cached part must be cached. Kinds that exceed even the whole input stay as they are, and the report is then in doubt.
func fitKinds(r *llm.Report) {
	if !r.Inclusive || r.Input < 0 || r.CacheRead <= 0 {
		return
	}
	fresh, cached := r.Input-r.CacheRead-max(0, r.CacheWrite), r.CacheRead
	for _, k := range inputKinds {
		n := r.Parts[k.fresh]
		if n <= 0 || fresh < 0 || n > r.Input {
			continue
		}
		excess := min(max(0, n-fresh), cached)
		r.Parts[k.fresh] = n - excess
		if k.cached != k.fresh && r.Parts[k.cached] == 0 {
			r.Parts[k.cached] = excess
		}
		fresh, cached = fresh-(n-excess), cached-excess
	}
}

var _ llm.UsageReader = (*layout)(nil)
