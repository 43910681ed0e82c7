package dialect

import (
	"strconv"
	"sync"

	"umg/app"
	"umg/app/dialect/chat"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/sse"
)

// chatStream passes a chat stream on. Clients of this style want one id in all chunks, the role in the first one, and
// the usage in the last one and only when they asked for it.
type chatStream struct {
	passthrough

	// envelope is that of the first chunk. Every other chunk gets its id.
	envelope chat.Envelope
	// chunk is the chunk that is being read.
	chunk    chunk
	role     bool
	finished int64
	calls    bool
	// halves turn a chunk with content and a finish reason into one with the content and one with the reason.
	halves  []rawjson.Edits
	members []rawjson.Member
	// usage is the last frame with a valid usage and no choices, as JSON.
	usage []byte
	// usageObj is the last valid usage object in a frame with choices.
	usageObj []byte
}

var chatStreams = sync.Pool{New: func() any { return &chatStream{} }}

func newChatStream(a Ask) Stream {
	s, _ := chatStreams.Get().(*chatStream)
	*s = chatStream{passthrough: s.renewed(a), members: s.members[:0], usage: s.usage[:0], usageObj: s.usageObj[:0]}
	s.reader = s
	s.envelope.Model = s.model
	return s
}

// membersKeptMax bounds the members for which a stream in the pool keeps memory.
const membersKeptMax = 64

func (s *chatStream) Close() {
	s.trim(&s.usage, &s.usageObj)
	if cap(s.members) > membersKeptMax {
		s.members = nil
	}
	chatStreams.Put(s)
}

func (s *chatStream) Fail(dst []byte, e *app.Error, requestID string, spent *llm.Spent) []byte {
	if !s.ask.IncludeUsage {
		spent = nil
	}
	return s.envelopeOrOwn().AppendFailure(dst, e, requestID, spent)
}

func (s *chatStream) read(f sse.Frame) (reading, error) {
	if string(f.Data) == chat.Done {
		return reading{last: true}, nil
	}
	var ok bool
	c := &s.chunk
	*c, s.halves = chunk{}, nil
	if s.members, ok = c.read(f.Data, "delta", s.members[:0]); !ok {
		return reading{}, llm.ErrMalformed
	}
	if c.failure.Found() && !rawjson.IsNull(c.failure.Of(f.Data)) || string(f.Event) == "error" {
		return reading{}, failure(f.Data)
	}
	if err := c.failedBy(f.Data); err != nil {
		return reading{}, err
	}
	if c.content {
		s.counted(c.bytes)
	}
	s.adjust(c, f.Data)
	if c.count == 0 {
		return reading{says: s.withoutChoices(c, f.Data)}, nil
	}
	r := reading{says: s.withChoices(c, f.Data)}
	if c.count == 1 && c.strings == 1 && c.finished == 0 && rawjson.IsNull(c.usage.Of(f.Data)) {
		r.text = c.text
	}
	return r, nil
}

// adjust notes what changes at the top of a chunk.
func (s *chatStream) adjust(c *chunk, doc []byte) {
	if s.envelope.ID == "" {
		s.envelope.ID, s.envelope.Created = string(c.id.Of(doc)), string(c.created.Of(doc))
	}
	for i := range s.members {
		m := &s.members[i]
		switch m.Value {
		case c.id:
			if string(c.id.Of(doc)) != s.envelope.ID {
				m.With = s.envelope.ID
			}
		case c.model:
			if string(c.model.Of(doc)) != s.envelope.Model {
				m.With = s.envelope.Model
			}
		case c.failure:
			// One client stops at the name of the member, even when its value is null.
			m.Drop = true
		case c.usage:
			s.adjustUsage(c, doc, m)
		}
	}
}

// adjustUsage takes the usage out of a chunk with choices: clients that add up read it once, at the end, if they
// asked for it.
func (s *chatStream) adjustUsage(c *chunk, doc []byte, m *rawjson.Member) {
	raw := c.usage.Of(doc)
	if !rawjson.IsNull(raw) {
		u, ok := chatUsage(raw)
		s.reported(u, ok)
		if ok && c.count > 0 {
			s.usageObj = append(s.usageObj[:0], raw...)
			s.usage = s.usage[:0]
		}
	}
	switch {
	case c.count == 0 && !rawjson.IsNull(raw):
	case !s.ask.IncludeUsage:
		m.Drop = true
	case !rawjson.IsNull(raw):
		m.With = "null"
	}
}

// withoutChoices handles the usage chunk, which is withheld until the price is known, and the notes that some upstreams
// send without choices.
func (s *chatStream) withoutChoices(c *chunk, doc []byte) frameKind {
	if usage := c.usage.Of(doc); !rawjson.IsNull(usage) {
		if _, ok := chatUsage(usage); ok && len(doc) <= heldBytesMax {
			s.usage = rawjson.AppendMembers(s.usage[:0], doc, s.members)
			s.usageObj = s.usageObj[:0]
		}
		return nothing
	}
	if !c.choices.Found() {
		// The frame is not a chunk, and clients cannot parse it.
		return nothing
	}
	return note
}

func (s *chatStream) withChoices(c *chunk, doc []byte) frameKind {
	s.finished += int64(c.finished)
	s.calls = s.calls || c.calls
	if c.finished > 0 {
		s.tally.Finish = finishOf(chat.StopOf(rawjson.String(c.finish.Of(doc))), s.calls)
	}
	s.role = s.role || c.role
	switch {
	case s.phase == ending || s.finished < s.ask.Choices:
	case !c.content || c.count > 1 || !c.bare:
		return ends
	default:
		s.halves = make([]rawjson.Edits, 2)
		s.halves[0].Replace(c.finish, "null")
		s.halves[1].Replace(c.delta, "{}")
		return halves
	}
	if c.content {
		return content
	}
	return note
}

func (s *chatStream) preface(dst []byte) []byte {
	if s.role {
		return dst
	}
	s.role = true
	return s.envelopeOrOwn().AppendRole(dst)
}

// append appends a chunk as it came where nothing changes, and otherwise as one data line.
func (s *chatStream) append(dst []byte, f sse.Frame) []byte {
	if len(s.halves) > 0 {
		choices := string(s.halves[0].AppendPart(nil, f.Data, s.chunk.choices))
		s.halves = s.halves[1:]
		for i := range s.members {
			if s.members[i].Value == s.chunk.choices {
				s.members[i].With = choices
			}
		}
	}
	switch touched := rawjson.Changes(s.members); {
	case !touched && f.Plain():
		return append(dst, f.Raw...)
	case !touched:
		return sse.AppendData(dst, f.Data)
	case !f.Plain():
		return sse.AppendData(dst, rawjson.AppendMembers(nil, f.Data, s.members))
	}
	dst = append(dst, dataLine...)
	dst = rawjson.AppendMembers(dst, f.Data, s.members)
	return append(dst, frameEnd...)
}

// envelopeOrOwn is the envelope of the stream, with our own words where the upstream has none.
func (s *chatStream) envelopeOrOwn() chat.Envelope {
	e := s.envelope
	if len(e.ID) <= len(`""`) {
		e.ID = rawjson.Quote("chatcmpl-" + s.ask.CallID)
	}
	if e.Created == "" {
		e.Created = strconv.FormatInt(s.ask.Created, 10)
	}
	return e
}

// Finish appends the end of the stream.
func (s *chatStream) Finish(dst []byte, b Bill) []byte {
	dst = append(dst, s.held...)
	if b.CutShort {
		for index := s.finished; index < s.ask.Choices; index++ {
			dst = s.envelopeOrOwn().AppendFinish(dst, index, "length")
		}
	}
	if s.ask.IncludeUsage {
		switch {
		case !b.Estimated && len(s.usage) > 0:
			dst = sse.AppendData(dst, chatMeter.appendBilled(nil, s.usage, b))
		default:
			dst = s.envelopeOrOwn().AppendUsage(dst, chatMeter.billed(s.usageObj, b))
		}
	}
	return append(dst, chat.DoneFrame...)
}
