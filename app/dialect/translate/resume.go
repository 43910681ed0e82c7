package translate

import (
	"umg/app/llm"
)

// resumer drops the part of a resumed answer that the client already received. When the stream restarts the answer, resumer drops the
// beginning, byte for byte. When the provider got the beginning as a prefix, resumer passes on the whole stream.
type resumer struct {
	delivered []deliveredPart
	// partIndex is the index of the part that the stream repeats or continues next.
	partIndex int
	// repeatedBytes is how many bytes of this part the stream has repeated.
	repeatedBytes int
	// status is the status of the part that the provider is sending.
	status partStatus
	// hasPrefix means that the provider got the beginning of the answer and need not repeat it.
	hasPrefix bool
	out       []llm.Event

	// undecided means that it is still unknown whether a provider that got the prefix continues or restarts.
	undecided bool
	// matched is how many bytes of the last text the provider has repeated.
	matched int
}

// partStatus is what resumer does with a part.
type partStatus uint8

const (
	noPart partStatus = iota
	// partRepeated means that the client has the part, or its beginning.
	partRepeated
	// partNew means that the client has nothing of the part.
	partNew
	// partSkipped means that the part is not for the client.
	partSkipped
)

// pass returns the events that are new to the client. They are valid until the next call.
func (c *resumer) pass(list []llm.Event) ([]llm.Event, error) {
	c.out = c.out[:0]
	for i := range list {
		if !c.event(&list[i]) {
			return c.out, ErrOtherAnswer
		}
	}
	return c.out, nil
}

func (c *resumer) event(e *llm.Event) bool {
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
	if !c.decideAtEnd() || c.partIndex < len(c.delivered) && !c.endDelivered() {
		return false
	}
	c.out = append(c.out, *e)
	return true
}

// decideAtEnd decides, when the provider sends no more text, whether what it repeated was a continuation. A repetition that is shorter than
// prefillBytesMin is one.
func (c *resumer) decideAtEnd() bool {
	if !c.undecided || c.matched == 0 {
		return true
	}
	said := c.delivered[c.partIndex].text[:c.matched]
	c.undecided = false
	return c.matched < prefillBytesMin && c.text(&llm.Event{Kind: llm.EventDelta, Part: c.delivered[c.partIndex].kind, Delta: string(said)})
}

// part starts a part. Reasoning that the client has already passed is skipped, because its text differs from the first time.
func (c *resumer) part(e *llm.Event) bool {
	for c.partIndex < len(c.delivered)-1 && c.delivered[c.partIndex].kind == llm.Reasoning {
		c.partIndex, c.repeatedBytes = c.partIndex+1, 0
	}
	switch {
	case c.partIndex == len(c.delivered):
	case e.Part == llm.Reasoning && c.delivered[c.partIndex].kind != llm.Reasoning:
		c.status = partSkipped
		return true
	case c.delivered[c.partIndex].kind == e.Part && (c.undecided || !c.whole() || !c.delivered[c.partIndex].ended):
		c.status = partRepeated
		return true
	case !c.endDelivered():
		return false
	}
	c.status = partNew
	c.out = append(c.out, *e)
	return true
}

// whole reports whether all of the part was repeated.
func (c *resumer) whole() bool { return c.repeatedBytes >= len(c.delivered[c.partIndex].text) }

// endDelivered ends the last part that the client has, because another part follows.
func (c *resumer) endDelivered() bool {
	last := c.partIndex == len(c.delivered)-1
	if !last || !c.hasPrefix && !c.whole() {
		return false
	}
	if h := &c.delivered[c.partIndex]; !h.ended {
		c.out = append(c.out, llm.Event{Kind: llm.EventPartEnd, Part: h.kind})
	}
	c.partIndex++
	return true
}

func (c *resumer) delta(e *llm.Event) bool {
	if c.status == partNew {
		c.out = append(c.out, *e)
	}
	switch {
	case c.status != partRepeated:
		return true
	case c.undecided:
		return c.decide(e)
	}
	return c.text(e)
}

// decide decides whether a provider that got the prefix continues it or restarts. A provider that restarts repeats all of the text.
func (c *resumer) decide(e *llm.Event) bool {
	h := &c.delivered[c.partIndex]
	n := commonPrefix(h.text[c.matched:], e.Delta)
	rest := *e
	switch c.matched += n; {
	case c.matched == len(h.text):
		c.undecided, c.repeatedBytes = false, len(h.text)
		if rest.Delta = e.Delta[n:]; rest.Delta == "" {
			return true
		}
	case n == len(e.Delta):
		return true
	case c.matched >= prefillBytesMin:
		// The provider restarted, and then wrote another text.
		return false
	default:
		rest.Delta = string(h.text[:c.matched-n]) + e.Delta
		c.undecided = false
	}
	return c.text(&rest)
}

// text removes what is repeated of a text and passes on the rest.
func (c *resumer) text(e *llm.Event) bool {
	h := &c.delivered[c.partIndex]
	n := commonPrefix(h.text[c.repeatedBytes:], e.Delta)
	c.repeatedBytes += n
	switch {
	case n == len(e.Delta):
		return true
	case !c.whole() && !c.hasPrefix, c.partIndex < len(c.delivered)-1, h.ended && !c.hasPrefix:
		return false
	// The continuation needs a part of its own.
	case h.ended:
		c.out = append(c.out, llm.Event{Kind: llm.EventPart, Part: h.kind})
	}
	c.partIndex, c.status = len(c.delivered), partNew
	rest := *e
	rest.Delta = e.Delta[n:]
	c.out = append(c.out, rest)
	return true
}

func (c *resumer) partEnd(e *llm.Event) bool {
	here := c.status
	if here == partRepeated {
		if !c.decideAtEnd() {
			return false
		}
		here = c.status
	}
	c.status = noPart
	switch {
	case here == partNew:
		c.out = append(c.out, *e)
	case here != partRepeated:
	case !c.whole() && !c.hasPrefix:
		return false
	default:
		if !c.delivered[c.partIndex].ended {
			c.out = append(c.out, *e)
		}
		c.partIndex, c.repeatedBytes = c.partIndex+1, 0
	}
	return true
}

// commonPrefix returns the length of the common beginning of two texts.
func commonPrefix(a []byte, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
