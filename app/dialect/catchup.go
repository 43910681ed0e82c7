package dialect

import (
	"umg/app/llm"
)

// catchUp keeps back what a client has already of an answer that another stream goes on with. Of a stream that begins
// anew it takes away the beginning, byte for byte; one that was given the beginning is passed on from its first word.
type catchUp struct {
	have []told
	at   int  // the part that is repeated next, or goes on
	read int  // bytes of it that were repeated
	here fate // of the part that the upstream is at
	told bool // the beginning was given to the upstream, which need not repeat any of it
	out  []llm.Event
}

// fate is what becomes of a part.
type fate uint8

const (
	between  fate = iota
	repeated      // the client has it, at least its beginning
	passed        // the client has nothing of it
	skipped       // it is not for the client
)

// newCatchUp begins behind as much of the last text as the upstream was given.
func newCatchUp(t *Transcript, given string) *catchUp {
	c := &catchUp{have: t.parts}
	if given != "" {
		c.at, c.read, c.told = len(t.parts)-1, len(given), true
	}
	return c
}

// pass returns the events that are new to the client. They are valid until the next call.
func (c *catchUp) pass(list []llm.Event) ([]llm.Event, error) {
	c.out = c.out[:0]
	for i := range list {
		if !c.event(&list[i]) {
			return c.out, ErrOtherAnswer
		}
	}
	return c.out, nil
}

func (c *catchUp) event(e *llm.Event) bool {
	switch e.Kind {
	case llm.EventStart:
		return true
	case llm.EventPart:
		return c.part(e)
	case llm.EventDelta:
		return c.delta(e)
	case llm.EventPartEnd:
		return c.partEnd(e)
	}
	if c.at < len(c.have) && !c.leave() {
		return false
	}
	c.out = append(c.out, *e)
	return true
}

// part begins a part. Thoughts that the client has read past are not for it: it has others, which led to the same words.
func (c *catchUp) part(e *llm.Event) bool {
	for c.at < len(c.have)-1 && c.have[c.at].kind == llm.Reasoning {
		c.at, c.read = c.at+1, 0
	}
	switch {
	case c.at == len(c.have):
	case e.Part == llm.Reasoning && c.have[c.at].kind != llm.Reasoning:
		c.here = skipped
		return true
	case c.have[c.at].kind == e.Part && (!c.whole() || !c.have[c.at].ended):
		c.here = repeated
		return true
	case !c.leave():
		return false
	}
	c.here = passed
	c.out = append(c.out, *e)
	return true
}

// whole reports whether all of the part was repeated.
func (c *catchUp) whole() bool { return c.read >= len(c.have[c.at].text) }

// leave ends the last part that the client has, behind which something else comes.
func (c *catchUp) leave() bool {
	last := c.at == len(c.have)-1
	if !last || !c.told && !c.whole() {
		return false
	}
	if h := &c.have[c.at]; !h.ended {
		c.out = append(c.out, llm.Event{Kind: llm.EventPartEnd, Part: h.kind})
	}
	c.at++
	return true
}

func (c *catchUp) delta(e *llm.Event) bool {
	if c.here == passed {
		c.out = append(c.out, *e)
	}
	if c.here != repeated {
		return true
	}
	h := &c.have[c.at]
	n := same(h.text[c.read:], e.Delta)
	c.read += n
	switch {
	case n == len(e.Delta):
		return true
	case !c.whole() && !c.told, c.at < len(c.have)-1, h.ended:
		return false
	}
	c.at, c.here = len(c.have), passed
	rest := *e
	rest.Delta = e.Delta[n:]
	c.out = append(c.out, rest)
	return true
}

func (c *catchUp) partEnd(e *llm.Event) bool {
	here := c.here
	c.here = between
	switch {
	case here == passed:
		c.out = append(c.out, *e)
	case here != repeated:
	case !c.whole() && !c.told:
		return false
	default:
		if !c.have[c.at].ended {
			c.out = append(c.out, *e)
		}
		c.at, c.read = c.at+1, 0
	}
	return true
}

// same is how many bytes two texts begin with alike.
func same(a []byte, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
