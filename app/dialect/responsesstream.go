package dialect

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"umg/app"
	"umg/app/dialect/rawjson"
	"umg/app/dialect/responses"
	"umg/app/llm"
	"umg/app/sse"
)

// responseHeldMax bounds the frames that are held. The first frames of a stream of this style repeat the whole request twice.
const responseHeldMax = 4 << 20

// responsesStream passes a responses stream through. Its frames are numbered, and its last frame repeats the whole answer.
type responsesStream struct {
	passthrough

	// event is the event of the frame that is being read.
	event []byte
	edits rawjson.Edits
	// next is the sequence number of the next frame.
	next int64
	// response is the answer in the last lifecycle event.
	response []byte
}

var responsesStreams = sync.Pool{New: func() any { return &responsesStream{} }}

func newResponsesStream(a llm.ResponseOptions) Stream {
	s, _ := responsesStreams.Get().(*responsesStream)
	*s = responsesStream{passthrough: s.reuseBuffers(a, llm.Responses), response: s.response[:0]}
	s.reader, s.heldMax = s, responseHeldMax
	return s
}

func (s *responsesStream) Close() {
	s.trim(&s.response)
	responsesStreams.Put(s)
}

func (s *responsesStream) Fail(dst []byte, e *app.Error, requestID string, charge *llm.Charge) []byte {
	// The client has received nothing of the stream.
	if s.phase == phaseOpening {
		return responses.AppendFailed(dst, 0, nil, &s.options, e, requestID, charge)
	}
	return responses.AppendFailed(dst, s.next, s.response, &s.options, e, requestID, charge)
}

// responseEvent is the outline of one event.
type responseEvent struct{ kind, number, response, delta, failure rawjson.Span }

func (v *responseEvent) read(doc []byte) bool {
	o := rawjson.OpenObject(doc, 0)
	for o.Next() {
		switch string(o.Key.Of(doc)) {
		case "type":
			v.kind = o.Value
		case "sequence_number":
			v.number = o.Value
		case "response":
			v.response = o.Value
		case "delta":
			v.delta = o.Value
		case "error":
			v.failure = o.Value
		}
	}
	return o.IsWhole()
}

func (s *responsesStream) read(f sse.Frame) (frameReading, error) {
	var v responseEvent
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
	if err := s.failed(&v, f); err != nil {
		return frameReading{}, err
	}
	before := s.next
	if n, ok := wholeNumber(v.number.Of(doc)); ok && n >= s.next {
		s.next = n + 1
	}
	if bytes.HasSuffix(s.event, []byte(".delta")) {
		return frameReading{kind: s.contentKind(rawjson.TextBytes(v.delta.Of(doc)))}, nil
	}
	whole := string(s.event) == "response.completed" || string(s.event) == "response.incomplete"
	if rawjson.IsNull(v.response.Of(doc)) || doc[v.response.From] != '{' {
		if whole {
			return frameReading{}, llm.ErrMalformed
		}
		return frameReading{kind: otherFrame}, nil
	}
	var r response
	r.read(doc[:v.response.To], v.response.From)
	if r.model.Found() {
		renameModel(&s.edits, doc, r.model, s.model)
	}
	if !whole {
		// The gateway needs the answer when it writes the end itself.
		s.response = s.edits.AppendPart(s.response[:0], doc, v.response)
		return frameReading{kind: otherFrame}, nil
	}
	finish, err := r.finish(doc, strings.TrimPrefix(string(s.event), "response."))
	if err != nil {
		// The client does not get this frame, so its number is used again.
		s.next = before
		return frameReading{}, err
	}
	// The content came without deltas.
	if s.stats.Finish = finish; s.stats.ContentBytes == 0 {
		s.stats.ContentBytes = r.bytes
	}
	s.readUsage(v.response.Of(doc), r.usage.Of(doc))
	return frameReading{kind: usageFrame, isEndMark: true}, nil
}

// failed returns the error of an event, with its message where errors usually have it.
func (s *responsesStream) failed(v *responseEvent, f sse.Frame) error {
	doc := f.Data
	switch {
	case string(s.event) == "response.failed" && !rawjson.IsNull(v.response.Of(doc)):
		return failure(v.response.Of(doc))
	case !rawjson.IsNull(v.failure.Of(doc)), string(s.event) == "response.failed":
		return failure(doc)
	case string(s.event) == "error", string(f.Event) == "error":
		return failure([]byte(`{"error":`), doc, []byte("}"))
	}
	return nil
}

func (s *responsesStream) append(dst []byte, f sse.Frame) []byte {
	return appendFrame(dst, f, s.event, &s.edits)
}

func (s *responsesStream) preface(dst []byte) []byte { return dst }

func (s *responsesStream) Finish(dst []byte, b llm.Charge) []byte {
	dst = s.appendHeld(dst, responsesFormat, b)
	if !b.Truncated || s.phase == phaseEnding {
		return dst
	}
	answer := s.response
	if len(answer) == 0 {
		answer = []byte(`{}`)
	}
	answer = appendWith(nil, answer, "status", []byte(`"incomplete"`))
	answer = appendWith(nil, answer, "incomplete_details", []byte(`{"reason":"max_output_tokens"}`))
	answer = appendWith(nil, answer, "usage", responseFormat.usageWithCost(nil, b))
	dst = append(dst, "event: response.incomplete\ndata: {\"type\":\"response.incomplete\",\"sequence_number\":"...)
	dst = append(strconv.AppendInt(dst, s.next, 10), `,"response":`...)
	return append(append(dst, answer...), "}\n\n"...)
}
