package llm

import (
	"slices"
	"strconv"
	"strings"
)

// These are codes of errors about a conversation.
const (
	codeInvalid     = "invalid_request_error"
	codeUnsupported = "unsupported_parameter"
)

// Check refuses a conversation that providers of a style would refuse or that the style cannot express: the kinds of parts each role
// may have, whose turn is first and last, and that calls and results belong together. It returns an *app.Error of kind Invalid with the
// field and the ids of the client.
func (r *Request) Check(upstream *Traits) error {
	for i := range r.Turns {
		if err := r.Turns[i].checkKinds(upstream); err != nil {
			return err
		}
	}
	if err := r.checkEnds(upstream); err != nil {
		return err
	}
	return r.checkCalls(upstream)
}

// kinds is a set of kinds of parts.
type kinds uint16

func setOf(list ...PartKind) kinds {
	var set kinds
	for _, kind := range list {
		set |= 1 << kind
	}
	return set
}

func (s kinds) has(kind PartKind) bool { return s&(1<<kind) != 0 }

// media are the kinds of parts that are not text.
var media = setOf(Image, Audio, Video, File)

// allowedKinds are the kinds of parts that a turn of each role may have. Results of tools take text and media.
var allowedKinds = map[Role]kinds{
	User:      setOf(Text, Refusal, Result) | media,
	Assistant: setOf(Text, Refusal, Reasoning, Call),
	System:    setOf(Text, Refusal),
}

// roleNames are for error messages.
var roleNames = map[Role]string{User: "user", Assistant: "assistant", System: "system"}

// kindNames are for error messages.
var kindNames = map[PartKind]string{
	Text: "Text", Image: "An image", Audio: "A sound", Video: "A video", File: "A file", Call: "A tool call", Result: "A tool result",
	Reasoning: "Reasoning", Refusal: "A refusal",
}

func (t *Turn) checkKinds(upstream *Traits) error {
	may := allowedKinds[t.Role]
	if t.Role == System && upstream.SystemMedia {
		may |= setOf(Image, File)
	}
	for i := range t.Parts {
		p := &t.Parts[i]
		if !may.has(p.Kind) {
			return p.Refuse(codeUnsupported, upstream, "%s cannot stand in a turn of the role %s for the provider of this model; "+
				"move it to a turn of the user.", kindNames[p.Kind], roleNames[t.Role])
		}
		for j := range p.Result.Parts {
			if inside := &p.Result.Parts[j]; !(allowedKinds[User] &^ setOf(Result)).has(inside.Kind) {
				return inside.Refuse(codeUnsupported, upstream, "%s cannot stand in a tool result.", kindNames[inside.Kind])
			}
		}
	}
	return nil
}

// checkEnds checks whose turn is first and last. Empty turns do not count.
func (r *Request) checkEnds(upstream *Traits) error {
	var first, last *Turn
	for i := range r.Turns {
		t := &r.Turns[i]
		if t.Role == System || !t.hasContent(upstream) {
			continue
		}
		if first == nil {
			first = t
		}
		last = t
	}
	switch {
	case first == nil && upstream.UserFirst:
		return (*Part)(nil).Refuse(codeInvalid, upstream, "The conversation must begin with a turn of the user that is not empty, as "+
			"the provider of this model demands.")
	case upstream.UserFirst && first.Role != User:
		return first.Parts[0].Refuse(codeInvalid, upstream, "The conversation begins with the assistant; the provider of this model "+
			"demands a turn of the user before it.")
	case last != nil && upstream.UserLast && last.Role == Assistant && !last.hasCalls():
		return last.Parts[0].Refuse(codeUnsupported, upstream, "The conversation ends with the assistant's own words, which the provider "+
			"of this model does not continue; end with a turn of the user or with tool results.")
	}
	return nil
}

func (t *Turn) hasContent(upstream *Traits) bool {
	return slices.ContainsFunc(t.Parts, func(p Part) bool { return p.hasContent(upstream) })
}

func (t *Turn) hasCalls() bool {
	return slices.ContainsFunc(t.Parts, func(p Part) bool { return p.Kind == Call })
}

// hasContent reports whether a part has content. White space counts only in styles whose turns may be blank.
func (p *Part) hasContent(upstream *Traits) bool {
	switch p.Kind {
	case Text, Refusal:
		return p.Text != "" && (upstream.TurnsBlank || strings.TrimSpace(p.Text) != "")
	case Reasoning:
		return p.Signature != "" || p.Text != "" && upstream.TurnsBlank
	}
	return true
}

// callState is a call and the index of its turn, without the turns of the system.
type callState struct {
	part     *Part
	turn     int
	answered bool
	// next is the index of the next call with the same id.
	next int
}

// callQueue is the list of calls with one id, by their indexes. Those from first on have no result yet; first is noCall when all have one.
type callQueue struct{ first, last int }

const noCall = -1

// callList are the calls of a conversation so far.
type callList struct {
	all  []callState
	byID map[string]callQueue
}

func (l *callList) add(p *Part, turn int) {
	n := len(l.all)
	l.all = append(l.all, callState{part: p, turn: turn, next: noCall})
	queue, known := l.byID[p.Call.ID]
	if known {
		l.all[queue.last].next = n
	}
	if !known || queue.first == noCall {
		queue.first = n
	}
	queue.last = n
	if l.byID == nil {
		l.byID = map[string]callQueue{}
	}
	l.byID[p.Call.ID] = queue
}

// answer gives a result to the first call of its id without one, or returns nil. known reports whether there was a call with the id.
func (l *callList) answer(p *Part) (call *callState, known bool) {
	queue, known := l.byID[p.Result.CallID]
	if !known || queue.first == noCall {
		return nil, known
	}
	call = &l.all[queue.first]
	call.answered = true
	queue.first = call.next
	l.byID[p.Result.CallID] = queue
	return call, true
}

// checkCalls checks that each call has its result and each result its call. Calls that share an id get their results in order.
func (r *Request) checkCalls(upstream *Traits) error {
	list := callList{}
	turn, role := 0, System
	for i := range r.Turns {
		if t := &r.Turns[i]; t.Role != System && t.Role != role && t.hasContent(upstream) {
			turn, role = turn+1, t.Role
		}
		for j := range r.Turns[i].Parts {
			switch p := &r.Turns[i].Parts[j]; p.Kind {
			case Call:
				list.add(p, turn)
			case Result:
				call, known := list.answer(p)
				if call == nil {
					if err := r.strayResult(p, known, upstream); err != nil {
						return err
					}
				} else if upstream.ResultsNext && call.turn+1 != turn {
					return p.Refuse(codeInvalid, upstream, "The result of the call%s must stand in the turn right behind the call, as the "+
						"provider of this model demands.", p.shownID())
				}
			}
		}
	}
	for i := range list.all {
		if call := &list.all[i]; !call.answered {
			return call.part.Refuse(codeInvalid, upstream, "The call%s of the tool %q has no result; each call needs one before the "+
				"conversation goes on.", call.part.shownID(), call.part.Call.Name)
		}
	}
	return nil
}

// strayResult returns the error for a result without a call that waits for it.
func (r *Request) strayResult(p *Part, known bool, upstream *Traits) error {
	if known && !upstream.ResultsNext {
		// Some providers accept a second result for one call.
		return nil
	}
	if known {
		return p.Refuse(codeInvalid, upstream, "The call%s has a result already; the provider of this model takes one for each call.",
			p.shownID())
	}
	for i := range r.Turns {
		for j := range r.Turns[i].Parts {
			if later := &r.Turns[i].Parts[j]; later.Kind == Call && later.Call.ID == p.Result.CallID {
				return p.Refuse(codeInvalid, upstream, "The result of the call%s stands before the call; move it behind.", p.shownID())
			}
		}
	}
	return p.Refuse(codeInvalid, upstream, "The tool result%s answers no call of the turns before it.", p.shownID())
}

// shownID is the id of a call or of a result as the client knows it, quoted and with a space before it.
func (p *Part) shownID() string {
	if p.Place.ID == "" {
		return ""
	}
	return " " + strconv.Quote(p.Place.ID[:min(len(p.Place.ID), shownIDBytesMax)])
}

// shownIDBytesMax bounds what is repeated of an id in an error.
const shownIDBytesMax = 128
