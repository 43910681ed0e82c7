package dialect

import (
	"sync"

	"umg/app"
	"umg/app/dialect/messages"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/sse"
)

const messageStop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// messagesStream passes a messages stream through. Clients of this style ignore a frame whose event line differs from the type of its
// data, and need the end mark.
type messagesStream struct {
	passthrough

	// event is the event of the frame that is being read.
	event []byte
	edits rawjson.Edits
	calls bool
	// index is the index of the open block, as JSON.
	index []byte
}

var messagesStreams = sync.Pool{New: func() any { return &messagesStream{} }}

func newMessagesStream(a llm.ResponseOptions) Stream {
	s, _ := messagesStreams.Get().(*messagesStream)
	*s = messagesStream{passthrough: s.reuseBuffers(a, llm.Messages), index: s.index[:0]}
	s.reader = s
	return s
}

func (s *messagesStream) Close() {
	s.trim(&s.index)
	messagesStreams.Put(s)
}

func (s *messagesStream) Fail(dst []byte, e *app.Error, requestID string, charge *llm.Charge) []byte {
	return messages.Codec{}.Encoder(&s.options).Fail(dst, e, requestID, charge)
}

// messageEvent is the outline of one event.
type messageEvent struct{ kind, index, message, block, delta, usage, failure rawjson.Span }

func (v *messageEvent) read(doc []byte) bool {
	o := rawjson.OpenObject(doc, 0)
	for o.Next() {
		switch string(o.Key.Of(doc)) {
		case "type":
			v.kind = o.Value
		case "index":
			v.index = o.Value
		case "message":
			v.message = o.Value
		case "content_block":
			v.block = o.Value
		case "delta":
			v.delta = o.Value
		case "usage":
			v.usage = o.Value
		case "error":
			v.failure = o.Value
		}
	}
	return o.IsWhole()
}

func (s *messagesStream) read(f sse.Frame) (frameReading, error) {
	var v messageEvent
	doc := f.Data
	s.edits.Reset()
	if string(doc) == doneMark {
		// The frame has the end mark of another style.
		return frameReading{}, nil
	}
	if !v.read(doc) {
		return frameReading{}, llm.ErrMalformed
	}
	if s.event = eventOf(f, v.kind); s.event == nil {
		// No client of this style knows the event.
		return frameReading{}, nil
	}
	if string(s.event) == "error" || string(f.Event) == "error" || !rawjson.IsNull(v.failure.Of(doc)) {
		return frameReading{}, failure(doc)
	}
	r := frameReading{kind: otherFrame}
	var err error
	switch string(s.event) {
	case "content_block_delta":
		n, text := deltaBytes(doc[:v.delta.To], v.delta.From)
		r.kind, r.text = s.contentKind(n), text
	case "content_block_start":
		s.index = append(s.index[:0], v.index.Of(doc)...)
		n, calls := blockBytes(v.block.Of(doc))
		s.calls = s.calls || calls
		r.kind = s.contentKind(n)
	case "content_block_stop":
		s.index = s.index[:0]
	case "message_start":
		s.readStart(doc, v.message)
	case "message_delta":
		r.kind, err = s.readDelta(doc, &v)
	case "message_stop":
		r.isEndMark = true
	}
	return r, err
}

// contentKind counts the content of a frame. It returns the kind of the frame.
func (p *passthrough) contentKind(contentBytes int64) frameKind {
	if contentBytes == 0 {
		return otherFrame
	}
	p.addContent(contentBytes)
	return contentFrame
}

func (s *messagesStream) readStart(doc []byte, message rawjson.Span) {
	if rawjson.IsNull(message.Of(doc)) {
		return
	}
	var usage rawjson.Span
	o := rawjson.OpenObject(doc[:message.To], message.From)
	for o.Next() {
		switch string(o.Key.Of(doc)) {
		case "model":
			renameModel(&s.edits, doc, o.Value, s.model)
		case "usage":
			usage = o.Value
		}
	}
	s.usage.ReadAnswer(&s.report, message.Of(doc))
	switch none := string(messagesFormat.append(nil, llm.Usage{})); {
	case !rawjson.IsNull(usage.Of(doc)):
		s.readPartOfUsage(usage.Of(doc))
	case usage.Found():
		// Clients add later counts to this usage.
		s.edits.Replace(usage, none)
	case o.Begun:
		s.edits.Insert(behindBrace(doc, message.From), `"usage":`+none+`,`)
	}
}

// readPartOfUsage reads a usage object, which has the counts that have changed.
func (s *messagesStream) readPartOfUsage(raw []byte) {
	if rawjson.IsNull(raw) {
		return
	}
	hasOutput := s.usage.ReadUsage(&s.report, raw)
	u, ok := s.report.Usage()
	switch {
	case hasOutput:
		s.setUsage(u, ok)
	case ok && !s.stats.Reported:
		// This usage has the input only. It is needed when the answer is cut before it reports its output.
		s.stats.Usage = u
	}
}

// readDelta reads a message_delta. Without a stop_reason it has only the usage so far.
func (s *messagesStream) readDelta(doc []byte, v *messageEvent) (frameKind, error) {
	s.readPartOfUsage(v.usage.Of(doc))
	delta := v.delta.Of(doc)
	if reason := rawjson.String(rawjson.Get(delta, "stop_reason")); reason != "" {
		stop := messages.StopOf(reason)
		if err := failedBy(stop, reason); err != nil {
			return skippedFrame, err
		}
		s.stats.Finish = finishOf(stop, s.calls)
		return usageFrame, nil
	}
	if s.phase == phaseEnding && !rawjson.IsNull(v.usage.Of(doc)) {
		return usageFrame, nil
	}
	return otherFrame, nil
}

func (s *messagesStream) append(dst []byte, f sse.Frame) []byte {
	return appendFrame(dst, f, s.event, &s.edits)
}

func (s *messagesStream) preface(dst []byte) []byte { return dst }

func (s *messagesStream) Finish(dst []byte, b llm.Charge) []byte {
	dst = s.appendHeld(dst, deltaFormat, b)
	if b.Truncated && s.phase != phaseEnding {
		if len(s.index) > 0 {
			dst = append(dst, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"...)
			dst = append(append(dst, s.index...), "}\n\n"...)
		}
		dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\","+
			"\"stop_sequence\":null,\"stop_details\":null,\"container\":null},\"usage\":"...)
		dst = append(append(dst, deltaFormat.usageWithCost(nil, b)...), "}\n\n"...)
	}
	if !s.done {
		dst = append(dst, messageStop...)
	}
	return dst
}

// deltaBytes counts the content of a delta, and returns its text when it has only one. A signature is not content.
func deltaBytes(doc []byte, from int) (n int64, text rawjson.Span) {
	strings := 0
	o := rawjson.OpenObject(doc, from)
	for o.Next() {
		switch string(o.Key.Of(doc)) {
		case "type", "signature":
		default:
			if value := o.Value.Of(doc); value[0] == '"' {
				n += rawjson.UnescapedLen(value[1 : len(value)-1])
				text = o.Value
				strings++
			}
		}
	}
	if strings != 1 {
		text = rawjson.Span{}
	}
	return n, text
}

// blockBytes counts the content of a block, and reports whether it calls a tool. A block of text or thinking may begin empty. Any other
// block is content.
func blockBytes(block []byte) (n int64, calls bool) {
	filled := false
	o := rawjson.OpenObject(block, 0)
	for o.Next() {
		switch value := o.Value.Of(block); string(o.Key.Of(block)) {
		case "type":
			calls = string(value) == `"tool_use"`
			filled = string(value) == `"text"` || string(value) == `"thinking"`
		case "text", "thinking", "name":
			n += rawjson.TextBytes(value)
		case "input":
			n += argumentBytes(value)
		}
	}
	if !filled && o.Begun {
		n = max(n, 1)
	}
	return n, calls
}
