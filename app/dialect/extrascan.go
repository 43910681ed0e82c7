package dialect

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// extraScan finds the extras of a request, in the same scan that finds its members. It records the cuts, the first reason to refuse the
// request, and the size of the text that remains.
type extraScan struct {
	doc     []byte
	text    textSize
	path    [extraDepthMax]pathStep
	depth   int
	found   []foundExtra
	cuts    []rawjson.Replacement
	refused *refusal
	last    foundExtra
	// allowed are the rows whose extras go to the provider, and used those of them that the request asks for.
	allowed llm.ExtraSet
	used    []usedExtra
	// requestUses is the bound of the request on all uses of tools; zero until it is read.
	requestUses int64
	// offerable are the rows that cover the value read last and may be allowed for another model.
	offerable llm.ExtraSet
	// kept is the number of tools that stay, and typed that of those which the provider has defined.
	kept, typed int
	// dropped are the tools that are dropped, with their names instead of their places.
	dropped []foundExtra
	// optIn is the first switch that turns on a tool of the provider.
	optIn foundExtra
}

// foundExtrasMax bounds how many of the extras that were dropped are remembered for the list.
const foundExtrasMax = 64

// extraDepthMax is more than the depth of any place that a row names.
const extraDepthMax = 16

// pathStep is a member, or an element of an array when it has no name.
type pathStep struct {
	name  []byte
	index int
}

// foundExtra is an extra that was dropped.
type foundExtra struct {
	row *Extra
	// at is its path in the request.
	at string
	// kind is its type; empty when it has none.
	kind string
	// offerable are the rows by which another model may allow it.
	offerable llm.ExtraSet
	// bad is the error for an extra that is allowed and bounded in a wrong way; nil for others.
	bad *app.Error
}

// gap tracks which members of an object, or elements of an array, are cut. They are cut together with the commas between them.
type gap struct{ kept, from, to int }

// keep records that a child remains. It first cuts the children before it that are to be removed.
func (w *extraScan) keep(g *gap, child rawjson.Span) {
	if g.from > 0 {
		w.cut(rawjson.Span{From: g.from, To: child.From}, "")
		g.from = 0
	}
	g.kept = child.To
}

func (*extraScan) drop(g *gap, child rawjson.Span) {
	if g.from == 0 {
		g.from = child.From
	}
	g.to = child.To
}

// end cuts the children to be removed after the last one that remains. It reports whether all children were removed.
func (w *extraScan) end(g *gap) (emptied bool) {
	switch {
	case g.from == 0:
		return false
	case g.kept > 0:
		w.cut(rawjson.Span{From: g.kept, To: g.to}, "")
		return false
	}
	w.cut(rawjson.Span{From: g.from, To: g.to}, "")
	return true
}

func (w *extraScan) cut(at rawjson.Span, with string) {
	w.cuts = append(w.cuts, rawjson.Replacement{At: at, With: with})
}

// scanMark is the state of the records when a value began.
type scanMark struct {
	found, cuts, dropped, kept, used int
	units                            int64
	refused                          *refusal
}

func (w *extraScan) mark() scanMark {
	return scanMark{len(w.found), len(w.cuts), len(w.dropped), w.kept, len(w.used), w.text.units, w.refused}
}

// forget discards the records about the inside of a value that is cut as a whole.
func (w *extraScan) forget(m scanMark) {
	w.found, w.cuts, w.dropped, w.kept, w.refused = w.found[:m.found], w.cuts[:m.cuts], w.dropped[:m.dropped], m.kept, m.refused
	w.used, w.text.units = w.used[:m.used], m.units
}

// scanResult is the result of the scan of a value.
type scanResult struct {
	// to is the index after the value, or -1 when it is broken.
	to int
	// kind and name are the type and the name of an object.
	kind, name rawjson.Span
	// emptied means that all members or elements were dropped.
	emptied bool
}

// value scans a value. It skips a value without positions of extras.
func (w *extraScan) value(n *extraNode, from, depth int, k textKind) scanResult {
	switch {
	case from >= len(w.doc) || depth == 0 || w.depth == extraDepthMax:
	case w.doc[from] == '{' && (n.members != nil || n.rest != nil || n.typed):
		return w.object(n, from, depth, k)
	case w.doc[from] == '[' && n.each != nil:
		return w.array(n.each, from, depth, k)
	}
	return scanResult{to: w.text.valueEnd(w.doc, from, depth, k)}
}

func (w *extraScan) object(n *extraNode, from, depth int, k textKind) (seen scanResult) {
	var g gap
	o := rawjson.OpenObject(w.doc, from)
	w.text.opened(k)
	for o.NextKey() {
		name := o.Name()
		inside := w.text.member(o.Key.Of(w.doc), k)
		child := n.members[string(name)]
		if child == nil && n.rest == nil {
			if !o.EndValue(w.text.valueEnd(w.doc, o.Value.From, depth-1, inside)) {
				break
			}
			if n.typed {
				seen.note(name, o.Value)
			}
			w.keep(&g, o.Member)
			continue
		}
		w.step(pathStep{name: name})
		if o.EndValue(w.member(n, child, &o, &g, depth-1, inside)) && n.typed {
			seen.note(name, o.Value)
		}
		w.depth--
	}
	seen.to = o.End()
	seen.emptied = seen.to >= 0 && w.end(&g)
	return seen
}

func (seen *scanResult) note(name []byte, value rawjson.Span) {
	switch string(name) {
	case "type":
		seen.kind = value
	case "name":
		seen.name = value
	}
}

func (w *extraScan) step(s pathStep) {
	w.path[w.depth] = s
	w.depth++
}

// member scans the value of a member and decides whether it remains. It returns the index after the value.
func (w *extraScan) member(n, child *extraNode, o *rawjson.Object, g *gap, depth int, k textKind) int {
	before := w.mark()
	// Only the rest has a row for this member.
	if child == nil {
		to := w.text.valueEnd(w.doc, o.Value.From, depth, k)
		if to < 0 {
			return to
		}
		member := rawjson.Span{From: o.Member.From, To: to}
		if rawjson.IsNull(w.doc[o.Value.From:to]) {
			w.keep(g, member)
		} else {
			w.offerable = llm.ExtraSet{}
			w.forget(before)
			w.note(n.rest, "")
			w.drop(g, member)
		}
		return to
	}
	seen := w.value(child, o.Value.From, depth, k)
	if seen.to < 0 {
		return seen.to
	}
	member, value := rawjson.Span{From: o.Member.From, To: seen.to}, rawjson.Span{From: o.Value.From, To: seen.to}
	kind := plainText(seen.kind.Of(w.doc))
	row := w.row(child, value, kind)
	switch {
	case row == nil:
		w.keep(g, member)
	case row.Rule == ExtraRefused:
		w.refuse(row, w.place(), string(kind))
		w.keep(g, member)
	case row.Instead != "":
		w.forget(before)
		w.note(row, "")
		w.cut(value, row.Instead)
		w.keep(g, member)
	default:
		w.forget(before)
		w.note(row, "")
		if row.Rule == ExtraTool && w.optIn.row == nil {
			w.optIn = w.last
		}
		w.drop(g, member)
	}
	return seen.to
}

// array scans the elements of an array.
func (w *extraScan) array(n *extraNode, from, depth int, k textKind) (seen scanResult) {
	var g gap
	// first is the first tool that was dropped.
	var first foundExtra
	a := rawjson.OpenArray(w.doc, from)
	w.text.opened(k)
	for index := 0; a.NextValue(); index++ {
		w.step(pathStep{index: index})
		if w.element(n, &a, &g, depth-1, k) && first.row == nil {
			first = w.last
		}
		w.depth--
	}
	seen.to = a.End()
	if seen.to < 0 {
		return seen
	}
	if seen.emptied = w.end(&g); seen.emptied && first.row != nil {
		w.refuseFound(first)
	}
	return seen
}

// element scans an element of an array and decides whether it remains. It reports whether it removed a tool.
func (w *extraScan) element(n *extraNode, a *rawjson.Array, g *gap, depth int, k textKind) (tool bool) {
	before := w.mark()
	w.text.element(k)
	seen := w.value(n, a.Value.From, depth, k)
	if !a.EndValue(seen.to) {
		return false
	}
	kind := plainText(seen.kind.Of(w.doc))
	row := w.row(n, a.Value, kind)
	switch {
	case row != nil && row.Rule == ExtraRefused:
		w.refuse(row, w.place(), string(kind))
		w.keep(g, a.Value)
	case row != nil:
		w.forget(before)
		w.note(row, string(kind))
		w.drop(g, a.Value)
		if row.Rule == ExtraTool {
			w.dropped = append(w.dropped, foundExtra{at: rawjson.String(seen.name.Of(w.doc)), offerable: w.offerable})
		}
		return row.Rule == ExtraTool
	case seen.emptied && n.rest != nil:
		w.cuts, w.text.units = w.cuts[:before.cuts], before.units
		w.drop(g, a.Value)
		return true
	default:
		w.keep(g, a.Value)
		if n.tools {
			w.kept++
			w.typed += definedTools(kind)
		}
	}
	return false
}

// definedTools is one for the type of a tool that the provider has defined, and else zero.
func definedTools(kind []byte) int {
	switch string(kind) {
	case "", "custom", "function":
		return 0
	}
	return 1
}

// note adds an extra at the current position to the list. Extras with the same listed name are listed once.
func (w *extraScan) note(row *Extra, kind string) {
	w.last = foundExtra{row: row, kind: kind, offerable: w.offerable}
	if row.Listed == "" {
		w.last.at = w.place()
	}
	listed := func(one foundExtra) bool { return one.row.Listed == row.Listed }
	if len(w.found) < foundExtrasMax && (row.Listed == "" || !slices.ContainsFunc(w.found, listed)) {
		w.found = append(w.found, w.last)
	}
}

// place returns the path of the current value.
func (w *extraScan) place() string {
	var b strings.Builder
	for i, step := range w.path[:w.depth] {
		switch {
		case step.name == nil:
			b.WriteString("[" + strconv.Itoa(step.index) + "]")
		case i > 0:
			b.WriteString("." + string(clip(step.name)))
		default:
			b.Write(clip(step.name))
		}
	}
	return b.String()
}

// clip bounds how much of a name of the client an error repeats.
func clip(name []byte) []byte { return bytes.ToValidUTF8(name[:min(len(name), droppedBytesMax)], nil) }

// refuse records why the request must be refused, unless there is an earlier reason.
func (w *extraScan) refuse(row *Extra, at, kind string) {
	w.refuseFound(foundExtra{row: row, at: at, kind: kind, offerable: w.offerable})
}

func (w *extraScan) refuseFound(one foundExtra) {
	if w.refused == nil {
		w.refused = &refusal{one}
	}
}

// topMember scans a member of the request itself. It reports false when the member is broken.
func (w *extraScan) topMember(root *extraNode, name []byte, o *rawjson.Object, g *gap) bool {
	child, k := root.members[string(name)], textKindOf(name)
	if child == nil {
		if !o.EndValue(w.text.valueEnd(w.doc, o.Value.From, rawjson.DepthMax, k)) {
			return false
		}
		w.keep(g, o.Member)
		return true
	}
	w.step(pathStep{name: name})
	whole := o.EndValue(w.member(root, child, o, g, rawjson.DepthMax, k))
	w.depth--
	return whole
}

// noteExtras takes over the result of a scan.
func (h *Head) noteExtras(w *extraScan) {
	if choice := h.spans[fieldToolChoice]; choice.Found() || w.optIn.row != nil {
		w.settle(choice.Of(w.doc))
	}
	h.allowed = w.allowed
	h.noteUses(w)
	if w.refused != nil {
		h.refusal = w.refused
	}
	if len(w.cuts) > 0 {
		found := *w
		h.extras = &found
	}
}

// HasExtras reports whether the request asks for an extra, allowed or not.
func (h *Head) HasExtras() bool {
	return h.extras != nil || h.refusal != nil || !h.Allowed().used.IsEmpty()
}

// UsesExtras reports whether the request asks for an extra that is allowed.
func (h *Head) UsesExtras() bool { return !h.Allowed().used.IsEmpty() }

// Allows reports whether the head was read with these extras allowed.
func (h *Head) Allows(extras llm.ExtraSet) bool { return h.allowed == extras }

// Changed reports whether the extras of the request make the gateway change it.
func (h *Head) Changed() bool { return h.extras != nil }

// Extras returns the extras that are dropped, as the client's style names them.
func (h *Head) Extras() []string {
	if h.extras == nil {
		return nil
	}
	return h.extras.names()
}

// WithoutExtras returns a copy of the request without the extras that are dropped, and with the bounds of those that are allowed. Every
// other byte is unchanged.
func (h *Head) WithoutExtras() []byte { return h.extras.without() }

// settle checks the rules that concern the whole request. A switch for a tool of the provider needs another tool, and a tool that must
// be called must remain.
func (w *extraScan) settle(choice []byte) {
	if w.optIn.row != nil && w.kept == 0 {
		w.refuseFound(foundExtra{row: w.optIn.row, at: w.optIn.at, offerable: w.optIn.offerable})
	}
	if len(w.dropped) == 0 || len(choice) == 0 || choice[0] != '{' {
		return
	}
	chosen := rawjson.String(rawjson.Get(choice, "name"))
	i := slices.IndexFunc(w.dropped, func(one foundExtra) bool { return one.at == chosen })
	if chosen != "" && i >= 0 {
		w.refuseFound(foundExtra{
			row: &Extra{What: providerTool, Rule: ExtraRefused}, at: "tool_choice", kind: chosen, offerable: w.dropped[i].offerable,
		})
	}
}

// names returns the list of the extras that were dropped.
func (w *extraScan) names() []string {
	var list []string
	for _, one := range w.found {
		name := cmp.Or(one.row.Listed, one.at)
		if one.kind != "" && one.row.Listed == "" {
			name += " (" + one.kind + ")"
		}
		list = append(list, name)
	}
	return list
}

// without returns the document without the cuts.
func (w *extraScan) without() []byte {
	slices.SortFunc(w.cuts, func(a, b rawjson.Replacement) int {
		return cmp.Or(cmp.Compare(a.At.From, b.At.From), cmp.Compare(a.At.To, b.At.To))
	})
	out, last := make([]byte, 0, len(w.doc)), 0
	for _, one := range w.cuts {
		out = append(out, w.doc[last:one.At.From]...)
		out = append(out, one.With...)
		last = one.At.To
	}
	return append(out, w.doc[last:]...)
}
