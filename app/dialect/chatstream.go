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

// chatStream passes a chat stream through. Clients of this style expect one id in all chunks, the role in the first one, and the usage
// in the last one only if they asked for it.
type chatStream struct {
	passthrough

	// envelope is the envelope of the first chunk. All other chunks get the same id.
	envelope chat.Envelope
	// chunk is the chunk that is being read.
	chunk    chunk
	role     bool
	finished int64
	calls    bool
	// The edits in split turn a chunk with content and a finish reason into one with the content and one with the reason.
	split   []rawjson.Edits
	members []rawjson.Member
	// usageChunk is the last frame with a valid usage and no choices, as JSON.
	usageChunk []byte
	// usageObject is the last valid usage object in a frame with choices.
	usageObject []byte
	// known means that the usage of the last frame that had one can be correct.
	known bool
}

var chatStreams = sync.Pool{New: func() any { return &chatStream{} }}

func newChatStream(a llm.ResponseOptions) Stream {
	s, _ := chatStreams.Get().(*chatStream)
	*s = chatStream{
		passthrough: s.reuseBuffers(a, llm.Chat), members: s.members[:0], usageChunk: s.usageChunk[:0], usageObject: s.usageObject[:0],
	}
	s.reader = s
	s.envelope.Model = s.model
	return s
}

// membersKeptMax bounds the members for which a stream in the pool keeps memory.
const membersKeptMax = 64

func (s *chatStream) Close() {
	s.trim(&s.usageChunk, &s.usageObject)
	if cap(s.members) > membersKeptMax {
		s.members = nil
	}
	chatStreams.Put(s)
}

func (s *chatStream) Fail(dst []byte, e *app.Error, requestID string, charge *llm.Charge) []byte {
	return s.completeEnvelope().AppendFailure(dst, e, requestID, charge, s.options.IncludeUsage)
}

func (s *chatStream) read(f sse.Frame) (frameReading, error) {
	if string(f.Data) == chat.Done {
		return s.readEndMark(), nil
	}
	var ok bool
	c := &s.chunk
	*c, s.split = chunk{}, nil
	if s.members, ok = c.read(f.Data, "delta", s.members[:0]); !ok {
		return frameReading{}, llm.ErrMalformed
	}
	if c.failure.Found() && !rawjson.IsNull(c.failure.Of(f.Data)) || string(f.Event) == "error" {
		if usage := c.usage.Of(f.Data); !rawjson.IsNull(usage) { // The provider bills what came before the error.
			s.readUsage(f.Data, usage)
		}
		return frameReading{}, failure(f.Data)
	}
	if err := c.failedBy(f.Data); err != nil {
		return frameReading{}, err
	}
	if c.content {
		s.addContent(c.bytes)
	}
	if usage := c.usage.Of(f.Data); c.finished > 0 || c.count == 0 || !rawjson.IsNull(usage) {
		s.known = s.readUsage(f.Data, usage)
	}
	s.adjust(c, f.Data)
	if c.count == 0 {
		return frameReading{kind: s.withoutChoices(c, f.Data)}, nil
	}
	r := frameReading{kind: s.withChoices(c, f.Data)}
	if c.count == 1 && c.strings == 1 && c.finished == 0 && rawjson.IsNull(c.usage.Of(f.Data)) {
		r.text = c.text
	}
	return r, nil
}

// failedBy returns the error of a chunk or an answer with a choice that has failed.
func (c *chunk) failedBy(doc []byte) error {
	reason := rawjson.String(c.failed.Of(doc))
	return failedBy(llm.StopOf(reason), reason)
}

// readEndMark reads the end mark. Some providers never send a finish reason. Their answer is complete when they have counted all of it.
func (s *chatStream) readEndMark() frameReading {
	if s.finished > 0 || s.phase != phaseContent || !s.stats.Reported {
		return frameReading{isEndMark: true}
	}
	s.finished, s.stats.Finish = s.options.Choices, finishOf(llm.StopEnd, s.calls)
	return frameReading{isEndMark: true, kind: finishFrame}
}

// adjust records the edits of the members at the top of a chunk.
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

// adjustUsage removes the usage from a chunk with choices. Clients that asked for the usage read it once, at the end.
func (s *chatStream) adjustUsage(c *chunk, doc []byte, m *rawjson.Member) {
	raw := c.usage.Of(doc)
	if s.known && !rawjson.IsNull(raw) && c.count > 0 {
		s.usageObject = append(s.usageObject[:0], raw...)
		s.usageChunk = s.usageChunk[:0]
	}
	switch {
	case c.count == 0 && !rawjson.IsNull(raw):
	case !s.options.IncludeUsage:
		m.Drop = true
	case !rawjson.IsNull(raw):
		m.With = "null"
	}
}

// withoutChoices reads a chunk without choices. It keeps the usage chunk until the price is known, and passes other chunks on.
func (s *chatStream) withoutChoices(c *chunk, doc []byte) frameKind {
	if usage := c.usage.Of(doc); !rawjson.IsNull(usage) {
		if s.known && len(doc) <= heldBytesMax {
			s.usageChunk = rawjson.AppendMembers(s.usageChunk[:0], doc, s.members)
			s.usageObject = s.usageObject[:0]
		}
		return skippedFrame
	}
	if !c.choices.Found() {
		// The frame is not a chunk, and clients cannot parse it.
		return skippedFrame
	}
	return otherFrame
}

func (s *chatStream) withChoices(c *chunk, doc []byte) frameKind {
	s.finished += int64(c.finished)
	s.calls = s.calls || c.calls
	if c.finished > 0 {
		s.stats.Finish = finishOf(llm.StopOf(rawjson.String(c.finish.Of(doc))), s.calls)
	}
	s.role = s.role || c.role
	switch {
	case s.phase == phaseEnding || s.finished < s.options.Choices:
	case !c.content || c.count > 1 || !c.bare:
		return finishFrame
	default:
		s.split = make([]rawjson.Edits, 2)
		s.split[0].Replace(c.finish, "null")
		s.split[1].Replace(c.delta, "{}")
		return splitFrame
	}
	if c.content {
		return contentFrame
	}
	return otherFrame
}

func (s *chatStream) preface(dst []byte) []byte {
	if s.role {
		return dst
	}
	s.role = true
	return s.completeEnvelope().AppendRole(dst)
}

// append appends a chunk unchanged, or as one data line when it has edits. In place of an end mark it appends the missing reasons.
func (s *chatStream) append(dst []byte, f sse.Frame) []byte {
	if string(f.Data) == chat.Done {
		for index := range s.options.Choices {
			dst = s.completeEnvelope().AppendFinish(dst, index, s.stats.Finish)
		}
		return dst
	}
	if len(s.split) > 0 {
		choices := string(s.split[0].AppendPart(nil, f.Data, s.chunk.choices))
		s.split = s.split[1:]
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

// completeEnvelope returns the envelope of the stream, with values of the gateway where the upstream has none.
func (s *chatStream) completeEnvelope() chat.Envelope {
	e := s.envelope
	if len(e.ID) <= len(`""`) {
		e.ID = rawjson.Quote("chatcmpl-" + s.options.CallID)
	}
	if e.Created == "" {
		e.Created = strconv.FormatInt(s.options.Created, 10)
	}
	return e
}

// Finish appends the end of the stream.
func (s *chatStream) Finish(dst []byte, b llm.Charge) []byte {
	dst = append(dst, s.held...)
	if b.Truncated {
		for index := s.finished; index < s.options.Choices; index++ {
			dst = s.completeEnvelope().AppendFinish(dst, index, "length")
		}
	}
	switch {
	case !s.options.IncludeUsage:
		dst = chat.AppendCost(dst, b.Cost)
	case !b.Estimated && len(s.usageChunk) > 0:
		dst = sse.AppendData(dst, chatFormat.appendWithUsage(nil, s.usageChunk, b))
	default:
		dst = s.completeEnvelope().AppendUsage(dst, chatFormat.usageWithCost(s.usageObject, b))
	}
	return append(dst, chat.DoneFrame...)
}
