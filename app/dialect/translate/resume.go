package translate

import (
	"umg/app/llm"
)

// resumer drops the part of a resumed answer that the client already received. When the stream restarts the answer, resumer drops the
// beginning, byte for byte. When the provider got the beginning as a prefix, resumer passes on the whole stream.
type resumer struct {
	have []deliveredPart
	// at is the index of the part that the stream repeats or continues next.
	at int
	// read is how many bytes of this part the stream has repeated.
	read int
	// here is the status of the part that the provider is sending.
	here partStatus
	// told means that the provider got the beginning of the answer and need not repeat it.
	told bool
	out  []llm.Event

	// weighs means that it is still unknown whether a provider that got the prefix continues or restarts.
	weighs bool
	// matched is how many bytes of the last text the provider has repeated.
	matched int
}

// partStatus is what resumer does with a part.
type partStatus uint8

const (
	between partStatus = iota
	// repeated means that the client has the part, or its beginning.
	repeated
	// passed means that the client has nothing of the part.
	passed
	// skipped means that the part is not for the client.
	skipped
)

// newResumer starts after as much of the last text as the provider was given.
func newResumer(t *Transcript, given string) *resumer {
	c := &resumer{have: t.parts}
	if given != "" {
		c.at, c.read, c.told, c.weighs = len(t.parts)-1, len(given), true, true
	}
	return c
}

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
	if !c.settled() || c.at < len(c.have) && !c.leave() {
		return false
	}
	c.out = append(c.out, *e)
	return true
}

// settled decides, when the provider sends no more text, whether what it repeated was a continuation. A repetition that is shorter than
// prefillBytesMin is one.
func (c *resumer) settled() bool {
	if !c.weighs || c.matched == 0 {
		return true
	}
	said := c.have[c.at].text[:c.matched]
	c.weighs = false
	return c.matched < prefillBytesMin && c.text(&llm.Event{Kind: llm.EventDelta, Part: c.have[c.at].kind, Delta: string(said)})
}

// part starts a part. Reasoning that the client has already passed is skipped, because its text differs from the first time.
func (c *resumer) part(e *llm.Event) bool {
	for c.at < len(c.have)-1 && c.have[c.at].kind == llm.Reasoning {
		c.at, c.read = c.at+1, 0
	}
	switch {
	case c.at == len(c.have):
	case e.Part == llm.Reasoning && c.have[c.at].kind != llm.Reasoning:
		c.here = skipped
		return true
	case c.have[c.at].kind == e.Part && (c.weighs || !c.whole() || !c.have[c.at].ended):
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
func (c *resumer) whole() bool { return c.read >= len(c.have[c.at].text) }

// leave ends the last part that the client has, because another part follows.
func (c *resumer) leave() bool {
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

func (c *resumer) delta(e *llm.Event) bool {
	if c.here == passed {
		c.out = append(c.out, *e)
	}
	switch {
	case c.here != repeated:
		return true
	case c.weighs:
		return c.weigh(e)
	}
	return c.text(e)
}

// weigh decides whether a provider that got the prefix continues it or restarts. A provider that restarts repeats all of the text.
func (c *resumer) weigh(e *llm.Event) bool {
	h := &c.have[c.at]
	n := same(h.text[c.matched:], e.Delta)
	rest := *e
	switch c.matched += n; {
	case c.matched == len(h.text):
		c.weighs, c.read = false, len(h.text)
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
		c.weighs = false
	}
	return c.text(&rest)
}

// text removes what is repeated of a text and passes on the rest.
func (c *resumer) text(e *llm.Event) bool {
	h := &c.have[c.at]
	n := same(h.text[c.read:], e.Delta)
	c.read += n
	switch {
	case n == len(e.Delta):
		return true
	case !c.whole() && !c.told, c.at < len(c.have)-1, h.ended && !c.told:
		return false
	// The continuation needs a part of its own.
	case h.ended:
		c.out = append(c.out, llm.Event{Kind: llm.EventPart, Part: h.kind})
	}
	c.at, c.here = len(c.have), passed
	rest := *e
	rest.Delta = e.Delta[n:]
	c.out = append(c.out, rest)
	return true
}

func (c *resumer) partEnd(e *llm.Event) bool {
	here := c.here
	if here == repeated {
		if !c.settled() {
			return false
		}
		here = c.here
	}
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

// same returns the length of the common beginning of two texts.
func same(a []byte, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
