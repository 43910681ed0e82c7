package dialect

import (
	"strconv"

	"umg/app"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
	meters "umg/app/meter"
)

// usesRequestMax bounds how many uses of a tool a request may ask for.
const usesRequestMax = 1_000

// usedExtra is an extra that a request asks for and that is allowed.
type usedExtra struct {
	row *Extra
	// uses is the bound on the uses, and tokens the bound on what one use adds to the prompt.
	uses, tokens int64
}

// row returns the first row that covers a value, and nil when no row does or any of those that do is allowed. Kind is the type of an
// object.
func (w *extraScan) row(n *extraNode, at rawjson.Span, kind []byte) (first *Extra) {
	value := at.Of(w.doc)
	if len(n.rows) == 0 || rawjson.IsNull(value) {
		return nil
	}
	isAllowed := false
	w.offerable = llm.ExtraSet{}
	for _, row := range n.rows {
		if !row.covers(value, kind) {
			continue
		}
		if first == nil {
			first = row
		}
		if len(row.By) > 0 {
			w.offerable.Add(row.number)
		}
		if w.allowed.Has(row.number) {
			isAllowed = true
			w.use(row, at)
		}
	}
	if isAllowed {
		return nil
	}
	return first
}

// use notes an allowed extra, and bounds it. A tool that the request does not bound gets the bound of its row.
func (w *extraScan) use(row *Extra, at rawjson.Span) {
	one := usedExtra{row: row}
	if u := row.Uses; u != nil {
		one.uses, one.tokens = u.Max, u.Tokens
		if u.Member != "" && !u.OfRequest {
			one.uses = w.bound(at, u.Member, u.Max, usesRequestMax)
		}
		if u.TokensMember != "" {
			one.tokens = w.bound(at, u.TokensMember, u.Tokens, countMax)
		}
	}
	w.used = append(w.used, one)
}

// bound reads a member of an object that bounds it, or adds the member.
func (w *extraScan) bound(object rawjson.Span, member string, standard, most int64) int64 {
	o := rawjson.OpenObject(w.doc[:object.To], object.From)
	for o.Next() {
		if string(o.Name()) == member {
			return w.boundIn(o.Value, w.place()+"."+member, standard, most)
		}
	}
	w.insert(object.From, member, standard)
	return standard
}

// boundIn reads the value of a bound, and replaces null.
func (w *extraScan) boundIn(at rawjson.Span, place string, standard, most int64) int64 {
	value := at.Of(w.doc)
	if rawjson.IsNull(value) {
		w.cut(at, strconv.FormatInt(standard, 10))
		return standard
	}
	n, ok := wholeNumber(value)
	if !ok || n < 1 || n > most {
		w.refuseFound(foundExtra{at: place, bad: app.Errorf(app.Invalid, "invalid_request_error",
			"%s must be an integer from 1 to %d.", place, most).At(place)})
		return standard
	}
	return n
}

// insert adds a first member to an object that has others.
func (w *extraScan) insert(object int, member string, n int64) {
	at := behindBrace(w.doc, object)
	w.cut(rawjson.Span{From: at, To: at}, `"`+member+`":`+strconv.FormatInt(n, 10)+`,`)
}

// Allowed is what the allowed extras of a request can cause.
type Allowed struct {
	// FeesMost are the most fees, and the most input tokens that tools of the provider add to the prompt.
	FeesMost meters.Counts
	// Rereads is how many more times the provider may read the prompt.
	Rereads int64
	// Terms are those on which the request asks to be served.
	Terms meters.Terms
	// WritesForHour means that parts of the prompt may be written to a cache for an hour.
	WritesForHour bool

	used llm.ExtraSet
}

// nothingAllowed is what a request without extras can cause. It is never changed.
var nothingAllowed Allowed

// Allowed is what the allowed extras of the request can cause. The caller must not change it.
func (h *Head) Allowed() *Allowed {
	if h.uses == nil {
		return &nothingAllowed
	}
	return h.uses
}

// noteUses takes over the allowed extras of a scan.
func (h *Head) noteUses(w *extraScan) {
	if len(w.used) == 0 {
		return
	}
	a := &Allowed{}
	h.uses = a
	var tokensMost int64
	for i := range w.used {
		one := &w.used[i]
		a.used.Add(one.row.number)
		a.addTerms(&one.row.Terms)
		for _, m := range one.row.Meters {
			a.WritesForHour = a.WritesForHour || m == meters.CacheWriteHourTokens
		}
		if one.row.Uses == nil {
			continue
		}
		if one.row.Uses.OfRequest {
			one.uses = h.boundOfRequest(w, one.row.Uses)
		}
		for _, m := range one.row.Meters {
			a.FeesMost[m] = min(a.FeesMost[m]+one.uses, countMax)
		}
		if one.row.Uses.Rereads {
			a.Rereads += one.uses
			tokensMost = max(tokensMost, one.tokens)
		} else {
			a.add(one.tokens * one.uses)
		}
	}
	a.Rereads = min(a.Rereads, rereadsMax)
	a.add(min(tokensMost, countMax) * a.Rereads * (a.Rereads + 1) / 2)
}

// rereadsMax keeps products of counts within 64 bits.
const rereadsMax = 1 << 14

func (a *Allowed) add(tokens int64) {
	a.FeesMost[meters.InputTokens] = min(a.FeesMost[meters.InputTokens]+tokens, countMax)
}

func (a *Allowed) addTerms(t *meters.Terms) {
	for _, one := range []struct {
		to   *string
		word string
	}{
		{&a.Terms.ServiceTier, t.ServiceTier}, {&a.Terms.Region, t.Region}, {&a.Terms.Speed, t.Speed}, {&a.Terms.Size, t.Size},
		{&a.Terms.Quality, t.Quality},
	} {
		if one.word != "" {
			*one.to = one.word
		}
	}
}

// boundOfRequest reads the member of the request that bounds all uses of tools, or adds it.
func (h *Head) boundOfRequest(w *extraScan, u *Uses) int64 {
	if w.requestUses > 0 {
		return w.requestUses
	}
	if at := h.spans[fieldToolCalls]; at.Found() {
		w.requestUses = w.boundIn(at, u.Member, u.Max, usesRequestMax)
	} else {
		w.requestUses = u.Max
		w.insert(0, u.Member, u.Max)
	}
	return w.requestUses
}

// RunsTools reports whether the provider may run tools for the request.
func (a *Allowed) RunsTools() bool { return a.FeesMost != meters.Counts{} }

// PromptMost bounds the input of a request whose own tokens are at most so many. No pass of the model reads more than its context, when
// that is known.
func (a *Allowed) PromptMost(input, context int64) int64 {
	passes := 1 + a.Rereads
	most := min(input, countMax)*passes + a.FeesMost[meters.InputTokens]
	if context > 0 {
		most = min(most, max(context, input)*passes)
	}
	return min(most, countMax)
}
