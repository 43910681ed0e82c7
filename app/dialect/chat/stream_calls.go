package chat

import (
	"strings"

	"umg/app/llm"
)

const (
	// keptBytesMax bounds the arguments of calls that wait for another call to end.
	keptBytesMax = 4 << 20
	// callsMax bounds the calls of one answer.
	callsMax = 1024

	notFound = -1
)

// calls sorts the pieces of tool calls, which the style may send in any order, into one call after the other. One call
// flows. The pieces of the others are kept until its arguments are whole.
type calls struct {
	options *llm.ResponseOptions
	all     []call
	// current is the index of the call whose arguments are passed on, or none.
	current int
	// first is the index of the first call that has not ended.
	first int
	begun int
	// kept is the number of bytes that are held.
	kept int
	lost bool
}

// call is one call of an answer.
type call struct {
	at        index
	id, name  string
	signature string
	custom    bool
	phase     callPhase
	kept      []byte
	extent    extent
}

type callPhase uint8

const (
	callQueued callPhase = iota
	callOpen
	callEnded
)

// add takes a piece of a call. It returns arguments that belong to the open call.
func (t *calls) add(w *toolCall) (string, error) {
	c := t.find(w)
	if c == nil {
		if len(t.all) == callsMax {
			t.lost = true
			return "", llm.ErrMalformed
		}
		t.all = append(t.all, call{at: w.Index})
		c = &t.all[len(t.all)-1]
	}
	more := w.arguments()
	switch c.phase {
	case callEnded:
		t.lost = t.lost || strings.TrimSpace(more) != ""
		return "", nil
	case callOpen:
		c.extent.add(more)
		return more, nil
	}
	return "", t.keep(c, w, more)
}

// keep stores a piece of a call that has not begun.
func (t *calls) keep(c *call, w *toolCall, more string) error {
	signature := string(w.Extra.Google.ThoughtSignature)
	t.kept += len(more) + len(w.ID) + len(w.name()) + len(signature)
	if t.kept > keptBytesMax {
		t.kept -= len(more)
		t.lost = true
		return llm.ErrMalformed
	}
	if c.id == "" {
		c.id = string(w.ID)
	}
	if c.name == "" {
		named := w.call()
		c.name, c.custom = named.Name, named.Custom
		c.extent.endless = c.custom
	}
	if c.signature == "" {
		c.signature = signature
	}
	c.kept = append(c.kept, more...)
	return nil
}

// find is the call that a piece belongs to, or nil when it begins a new one. Upstreams that give all their calls one
// index tell them apart by their ids; those that give none mean the last call.
func (t *calls) find(w *toolCall) *call {
	for i := len(t.all) - 1; i >= 0; i-- {
		c := &t.all[i]
		if w.Index.isSet && c.at != w.Index {
			continue
		}
		if w.ID != "" && c.id != "" && c.id != string(w.ID) && w.name() != "" {
			continue
		}
		return c
	}
	return nil
}

// settled reports whether another call may begin.
func (t *calls) settled() bool { return t.current == notFound || t.all[t.current].extent.whole() }

// waiting is the first call that has not begun and can: its name is known.
func (t *calls) waiting() *call {
	for t.first < len(t.all) && t.all[t.first].phase == callEnded {
		t.first++
	}
	for i := t.first; i < len(t.all); i++ {
		if c := &t.all[i]; c.phase == callQueued && c.name != "" {
			return c
		}
	}
	return nil
}

// begin lets a call flow. It returns the id, which is made here when the upstream gave none or one that another call
// has, and the arguments that were kept.
func (t *calls) begin(c *call) (id, kept string) {
	for i := range t.all {
		o := &t.all[i]
		if o == c {
			t.current = i
		} else if o.id == c.id && o.phase != callQueued {
			c.id = ""
		}
	}
	if c.id == "" {
		c.id = t.options.MintID("call_", t.current+1)
	}
	t.begun++
	kept = string(c.kept)
	t.kept -= len(c.kept)
	c.kept, c.phase = nil, callOpen
	c.extent.add(kept)
	return c.id, kept
}

// end ends the call that flows.
func (t *calls) end() {
	t.all[t.current].phase = callEnded
	t.current = notFound
}

// damaged reports whether a call is not what the upstream meant: a piece came too late or was too much, or a call never got its name.
func (t *calls) damaged() bool {
	for i := range t.all {
		if t.all[i].phase == callQueued {
			return true
		}
	}
	return t.lost
}

// extent follows a JSON object as far as to know where it ends.
type extent struct {
	depth   int
	quoted  bool
	escaped bool
	ended   bool
	// endless marks free text, whose end the stream does not show.
	endless bool
}

// whole reports whether the object has ended. Text that is no object never does.
func (x *extent) whole() bool { return x.ended }

func (x *extent) add(s string) {
	for i := 0; i < len(s) && !x.ended && !x.endless; i++ {
		switch c := s[i]; {
		case x.escaped:
			x.escaped = false
		case x.quoted:
			x.escaped = c == '\\'
			x.quoted = c != '"'
		case c == '"' && x.depth > 0:
			x.quoted = true
		case c == '{' || c == '[':
			x.depth++
		case c == '}' || c == ']':
			x.depth--
			x.ended = x.depth <= 0
		}
	}
}
