package dialect

import (
	"strconv"
	"sync"

	"umg/app"
	"umg/app/dialect/native"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/sse"
)

// nativeStream passes a native stream through. Each frame is an answer of its own, and the last one has the finish reason. Clients of
// this style reject comments, event lines and end marks of other styles.
type nativeStream struct {
	passthrough

	edits    rawjson.Edits
	finished int64
	calls    bool
	// reopened means that the stream continued after a finish reason.
	reopened bool
	// id is the id of the answer, as JSON.
	id []byte
}

var nativeStreams = sync.Pool{New: func() any { return &nativeStream{} }}

func newNativeStream(a llm.ResponseOptions) Stream {
	s, _ := nativeStreams.Get().(*nativeStream)
	*s = nativeStream{passthrough: s.reuseBuffers(a, llm.Native), id: s.id[:0]}
	s.reader = s
	return s
}

func (s *nativeStream) Close() {
	s.trim(&s.id)
	nativeStreams.Put(s)
}

// Stats returns the statistics so far. The style has no end mark, so only a pause shows that the answer has ended.
func (s *nativeStream) Stats() StreamStats {
	t := s.passthrough.Stats()
	t.Last, t.Doubtful = t.Ended, s.reopened
	return t
}

func (s *nativeStream) Fail(dst []byte, e *app.Error, requestID string, charge *llm.Charge) []byte {
	return native.AppendErrorFrame(dst, e, requestID, charge)
}

func (s *nativeStream) read(f sse.Frame) (frameReading, error) {
	var g generation
	doc := f.Data
	s.edits.Reset()
	if string(doc) == doneMark {
		// The frame has the end mark of another style.
		return frameReading{}, nil
	}
	if o := g.read(doc); !o.IsWhole() {
		return frameReading{}, llm.ErrMalformed
	}
	if !rawjson.IsNull(g.failure.Of(doc)) || string(f.Event) == "error" {
		return frameReading{}, failure(doc)
	}
	if err := g.failedBy(doc); err != nil {
		return frameReading{}, err
	}
	if s.phase == phaseEnding && g.finished == 0 && (g.bytes > 0 || !g.candidates.Found() && rawjson.IsNull(g.usage.Of(doc))) {
		// The frame comes after the end of the answer.
		return frameReading{}, nil
	}
	if g.model.Found() {
		renameModel(&s.edits, doc, g.model, s.model)
	}
	if g.id.Found() {
		s.id = append(s.id[:0], g.id.Of(doc)...)
	}
	return s.count(doc, &g), nil
}

// count adds the content of a frame to the statistics.
func (s *nativeStream) count(doc []byte, g *generation) frameReading {
	usage := g.usage.Of(doc)
	r := frameReading{kind: s.contentKind(g.bytes), reopens: s.phase == phaseEnding && g.bytes > 0}
	// Some providers send a finish reason in every frame.
	if r.reopens {
		s.finished, s.done, s.reopened = 0, false, true
	}
	s.readUsage(doc, usage)
	if g.plain() && rawjson.IsNull(usage) {
		r.text = g.text
	}
	s.calls = s.calls || g.calls
	s.finished += g.finished
	if finish := g.finish(doc, s.calls); finish != "" {
		s.stats.Finish = finish
	}
	if g.blocked.Found() || s.finished >= max(1, s.options.Choices) {
		if s.phase != phaseEnding || r.reopens || !rawjson.IsNull(usage) {
			r.kind = usageFrame
		}
		s.done = true
	}
	return r
}

func (s *nativeStream) append(dst []byte, f sse.Frame) []byte {
	return appendFrame(dst, f, nil, &s.edits)
}

func (s *nativeStream) preface(dst []byte) []byte { return dst }

func (s *nativeStream) Finish(dst []byte, b llm.Charge) []byte {
	dst = s.appendHeld(dst, nativeFormat, b)
	if !b.Truncated || s.phase == phaseEnding {
		return dst
	}
	dst = append(dst, `data: {"candidates":[`...)
	for index := s.finished; index < max(1, s.options.Choices); index++ {
		if index > s.finished {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"content":{"role":"model","parts":[]},"finishReason":"MAX_TOKENS","index":`...)
		dst = append(strconv.AppendInt(dst, index, 10), '}')
	}
	dst = append(append(dst, `],"usageMetadata":`...), nativeFormat.usageWithCost(nil, b)...)
	dst = append(append(dst, `,"modelVersion":`...), s.model...)
	if len(s.id) > 0 {
		dst = append(append(dst, `,"responseId":`...), s.id...)
	}
	return append(dst, "}\n\n"...)
}
