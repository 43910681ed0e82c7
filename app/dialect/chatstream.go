package dialect

import (
	"strconv"
	"sync"

	"umg/app"
	"umg/app/dialect/chat"
	"umg/app/llm"
	"umg/app/sse"
)

const (
	heldBytesMax    = 256 << 10 // frames kept back at the beginning, and again at the end
	keptBytes       = 16 << 10  // what a pooled stream keeps of its buffers
	failureBytesMax = 64 << 10
)

type phase uint8

const (
	opening phase = iota // no content yet
	flowing
	ending // every choice has its finish reason
)

// chatStream passes a chat stream on to a client of the same style. It keeps back what must not be seen yet: the
// frames before the first content, since such a stream may still be replaced by another, and the frames from the
// last finish reason on, since the charge must be durable before the client can know that the answer is whole.
type chatStream struct {
	ask      Ask
	envelope chat.Envelope // of the first chunk; every other chunk gets its id
	phase    phase
	role     bool
	done     bool
	finished int64
	tally    Tally
	members  []member
	held     []byte
	usage    []byte // the last frame with a valid usage and no choices, as JSON
	usageAt  span   // where in it
	usageObj []byte // the last valid usage object that came with choices
	scratch  []byte
}

var chatStreams = sync.Pool{New: func() any { return &chatStream{} }}

func newChatStream(a Ask) Stream {
	s, _ := chatStreams.Get().(*chatStream)
	*s = chatStream{
		ask: a, members: s.members[:0], held: s.held[:0], usage: s.usage[:0], usageObj: s.usageObj[:0], scratch: s.scratch[:0],
		envelope: chat.Envelope{Model: quoted(a.Model)},
	}
	return s
}

func (s *chatStream) Close() {
	for _, b := range []*[]byte{&s.held, &s.usage, &s.usageObj, &s.scratch} {
		if cap(*b) > keptBytes {
			*b = nil
		}
	}
	if cap(s.members) > editsMax*editsMax {
		s.members = nil
	}
	chatStreams.Put(s)
}

func (s *chatStream) Tally() Tally {
	t := s.tally
	t.Ended = s.done && t.Finish != ""
	t.Whole = !s.done && s.finished >= s.ask.Choices && t.Reported
	return t
}

func (s *chatStream) Fail(dst []byte, e *app.Error, requestID string) []byte {
	return chat.AppendErrorFrames(dst, e, requestID)
}

func (s *chatStream) Frame(dst []byte, f sse.Frame) ([]byte, Step, error) {
	if len(f.Data) == 0 {
		return dst, Idle, nil
	}
	if string(f.Data) == chat.Done {
		s.done = true
		return dst, Done, nil
	}
	var (
		c  chunk
		ok bool
	)
	if s.members, ok = c.read(f.Data, "delta", s.members[:0]); !ok {
		s.tally.Malformed++
		return dst, Idle, nil
	}
	if c.failure.found() && !isNull(c.failure.of(f.Data)) || string(f.Event) == "error" {
		return dst, Idle, &llm.UpstreamError{Body: append([]byte(nil), f.Data[:min(len(f.Data), failureBytesMax)]...)}
	}
	if c.content {
		s.tally.Reported = false // a reading that content follows is not the last one
		s.tally.ContentFrames++
	}
	s.adjust(&c, f.Data)
	if c.count == 0 {
		return s.frameWithoutChoices(dst, &c, f)
	}
	return s.frameWithChoices(dst, &c, f)
}

// adjust notes what changes at the top of a chunk.
func (s *chatStream) adjust(c *chunk, doc []byte) {
	if s.envelope.ID == "" {
		s.envelope.ID, s.envelope.Created = string(c.id.of(doc)), string(c.created.of(doc))
	}
	for i := range s.members {
		m := &s.members[i]
		switch m.val {
		case c.id:
			if string(c.id.of(doc)) != s.envelope.ID {
				m.with = s.envelope.ID
			}
		case c.model:
			if string(c.model.of(doc)) != s.envelope.Model {
				m.with = s.envelope.Model
			}
		case c.failure:
			m.drop = true // null: one client stops at the mere word
		case c.usage:
			s.adjustUsage(c, doc, m)
		}
	}
}

// adjustUsage takes the usage out of a chunk with choices: clients that add up read it once, at the end, if they
// asked for it.
func (s *chatStream) adjustUsage(c *chunk, doc []byte, m *member) {
	raw := c.usage.of(doc)
	if !isNull(raw) {
		if u, ok := chatUsage(raw); ok {
			s.tally.Usage, s.tally.Reported = u, true
			if c.count > 0 {
				s.usageObj = append(s.usageObj[:0], raw...)
				s.usage = s.usage[:0]
			}
		}
	}
	switch {
	case c.count == 0 && !isNull(raw):
	case !s.ask.IncludeUsage:
		m.drop = true
	case !isNull(raw):
		m.with = "null"
	}
}

// frameWithoutChoices handles the usage chunk, which is withheld until the price is known, and the notes that some
// upstreams send without choices.
func (s *chatStream) frameWithoutChoices(dst []byte, c *chunk, f sse.Frame) ([]byte, Step, error) {
	if c.usage.found() && !isNull(c.usage.of(f.Data)) {
		if _, ok := chatUsage(c.usage.of(f.Data)); ok && len(f.Data) <= heldBytesMax {
			s.keepUsage(f.Data)
		}
		return dst, Idle, nil
	}
	if !c.choices.found() {
		return dst, Idle, nil // not a chunk: clients would stumble over it
	}
	s.scratch = s.appendFrame(s.scratch[:0], f)
	if s.phase == flowing {
		return append(dst, s.scratch...), Content, nil
	}
	return s.hold(dst)
}

func (s *chatStream) keepUsage(doc []byte) {
	s.usage = appendMembers(s.usage[:0], doc, s.members)
	s.usageObj = s.usageObj[:0]
	o := openObject(s.usage, 0)
	for o.next() {
		if string(o.key.of(s.usage)) == "usage" {
			s.usageAt = o.value
		}
	}
}

func (s *chatStream) frameWithChoices(dst []byte, c *chunk, f sse.Frame) ([]byte, Step, error) {
	s.tally.ContentBytes += c.bytes
	s.finished += int64(c.finished)
	if c.finished > 0 {
		s.tally.Finish = text(c.finish.of(f.Data))
	}
	ends := s.phase != ending && s.finished >= s.ask.Choices
	if ends && c.content && c.count == 1 && c.bare {
		return s.split(dst, c, f)
	}
	s.scratch = s.appendFrame(s.scratch[:0], f)
	switch {
	case s.phase == ending:
		return s.hold(dst)
	case ends:
		return s.end(dst, c.role)
	case s.phase == opening && !c.content:
		s.role = s.role || c.role
		return s.hold(dst)
	}
	return append(s.flow(dst), s.scratch...), Content, nil
}

// split parts a chunk that has both the last content and the finish reason, because the content need not wait.
func (s *chatStream) split(dst []byte, c *chunk, f sse.Frame) ([]byte, Step, error) {
	var content, finish edits
	content.replace(c.finish, "null")
	finish.replace(c.delta, "{}")
	doc := f.Data
	for _, half := range []*edits{&content, &finish} {
		choices := half.part(doc, c.choices)
		for i := range s.members {
			if s.members[i].val == c.choices {
				s.members[i].with = choices
			}
		}
		s.scratch = sse.AppendData(s.scratch[:0], appendMembers(nil, doc, s.members))
		if half == &content {
			dst = append(s.flow(dst), s.scratch...)
		}
	}
	_, _, err := s.end(nil, true)
	return dst, Content, err
}

// flow begins the content: the role comes first, then what was held back.
func (s *chatStream) flow(dst []byte) []byte {
	if s.phase != opening {
		return dst
	}
	s.phase = flowing
	if !s.role {
		dst = s.envelopeOrOwn().AppendRole(dst)
	}
	dst = append(dst, s.held...)
	s.held = s.held[:0]
	return dst
}

// end begins the end: from here on everything is held back until the charge is durable.
func (s *chatStream) end(dst []byte, role bool) ([]byte, Step, error) {
	if s.phase == opening && !s.role && !role {
		begin := s.envelopeOrOwn().AppendRole(nil)
		s.held = append(begin, s.held...)
	}
	s.phase = ending
	return s.hold(dst)
}

// hold keeps the frame in scratch back.
func (s *chatStream) hold(dst []byte) ([]byte, Step, error) {
	if len(s.held)+len(s.scratch) > heldBytesMax {
		if s.phase == opening {
			return dst, Idle, llm.ErrBroken // a stream that only ever announces itself
		}
		return dst, Idle, nil // the answer is whole; what still comes is not a part of it
	}
	s.held = append(s.held, s.scratch...)
	if s.phase == opening {
		return dst, Lifecycle, nil
	}
	return dst, Held, nil
}

// appendFrame appends a frame as it came where nothing changes, and otherwise as one data line.
func (s *chatStream) appendFrame(dst []byte, f sse.Frame) []byte {
	switch touched := changes(s.members); {
	case !touched && f.Plain():
		return append(dst, f.Raw...)
	case !touched:
		return sse.AppendData(dst, f.Data)
	case !f.Plain():
		return sse.AppendData(dst, appendMembers(nil, f.Data, s.members))
	}
	dst = append(dst, "data: "...)
	dst = appendMembers(dst, f.Data, s.members)
	return append(dst, "\n\n"...)
}

// envelopeOrOwn is the envelope of the stream, with our own words where the upstream has none.
func (s *chatStream) envelopeOrOwn() chat.Envelope {
	e := s.envelope
	if len(e.ID) <= len(`""`) {
		e.ID = quoted("chatcmpl-" + s.ask.CallID)
	}
	if e.Created == "" {
		e.Created = strconv.FormatInt(s.ask.Created, 10)
	}
	return e
}

func (s *chatStream) Finish(dst []byte, b Bill) []byte {
	dst = append(dst, s.held...)
	if b.CutShort {
		for index := s.finished; index < s.ask.Choices; index++ {
			dst = s.envelopeOrOwn().AppendFinish(dst, index, "length")
		}
	}
	if s.ask.IncludeUsage {
		switch {
		case b.Estimated || len(s.usage)+len(s.usageObj) == 0:
			s.scratch = appendChatUsage(s.scratch[:0], b.Usage, b.Cost)
			dst = s.envelopeOrOwn().AppendUsage(dst, s.scratch)
		case len(s.usageObj) > 0:
			s.scratch = appendCosted(s.scratch[:0], s.usageObj, b.Cost)
			dst = s.envelopeOrOwn().AppendUsage(dst, s.scratch)
		default:
			s.scratch = append(s.scratch[:0], s.usage[:s.usageAt.from]...)
			s.scratch = appendCosted(s.scratch, s.usageAt.of(s.usage), b.Cost)
			s.scratch = append(s.scratch, s.usage[s.usageAt.to:]...)
			dst = sse.AppendData(dst, s.scratch)
		}
	}
	return append(dst, chat.DoneFrame...)
}
