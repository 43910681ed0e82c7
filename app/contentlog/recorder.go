package contentlog

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/llm"
)

// StreamWriter is the client's end of a call.
type StreamWriter interface {
	Begin(status int, contentType string, header http.Header) error
	Write(p []byte) error
	Flush() error
}

// Call is a call whose content is kept.
type Call struct {
	AccountID string
	KeyID     string // KeyID is empty for the playground.
	RequestID string
	Style     string
	At        time.Time // At is the start of the call.
}

// clipGrow is what a clip grows by at least.
const clipGrow = 1 << 10

// truncatedBody is the beginning of a body.
type truncatedBody struct {
	text  []byte
	total int64 // Total counts the bytes of the whole body.
	cut   bool  // Cut means that text lacks the end of the body.
}

// Recorder takes down one call while it runs: the beginning of its request and of what its client was sent. It holds a bounded part of
// memory that all calls share; where there is none left the call is not taken down. All of its methods may be called on nil, which
// takes nothing down.
type Recorder struct {
	service *Service
	call    Call
	model   string
	request truncatedBody
	answer  truncatedBody
	stream  *stream // Stream is nil unless the answer is a stream of events.
	held    int64   // Held is the bytes reserved from the shared memory.
	lost    bool    // Lost means that the shared memory was used up.
	ends    bool    // Ends means that the caller will call End, so Abandon does nothing.
	over    bool    // Over means that the recording was ended or abandoned.
}

// Start begins to take a call down.
func (s *Service) Start(c Call) *Recorder { return &Recorder{service: s, call: c} }

// Hear copies what is kept of the request. It is called once.
func (t *Recorder) Hear(body []byte) {
	if t != nil {
		t.add(&t.request, body)
	}
}

// add appends to a clip what fits.
func (t *Recorder) add(c *truncatedBody, p []byte) {
	c.total += int64(len(p))
	room := BytesMax - len(c.text)
	if c.cut || t.lost || len(p) == 0 {
		return
	}
	if c.text = t.grow(c.text, min(len(p), room)); !t.lost {
		c.text, c.cut = appendShort(c.text, p, room)
	}
}

// grow makes room for n more bytes, out of the memory that all calls share.
func (t *Recorder) grow(b []byte, n int) []byte {
	more := max(len(b)+n, min(2*cap(b), BytesMax), clipGrow) - cap(b)
	if cap(b)-len(b) >= n {
		return b
	}
	if !t.take(int64(more)) {
		return b
	}
	return slices.Grow(b, cap(b)-len(b)+more)
}

func (t *Recorder) take(n int64) bool {
	if t.lost || !t.service.memory.Take(n) {
		t.lost = true
		return false
	}
	t.held += n
	return true
}

// Over returns the client's end with the tape in front of it. What the client does not take is not taken down.
func (t *Recorder) Over(out StreamWriter) StreamWriter {
	if t == nil {
		return out
	}
	return &recordingWriter{StreamWriter: out, tape: t}
}

// recordingWriter writes to a client and to a tape.
type recordingWriter struct {
	StreamWriter

	tape *Recorder
}

// Begin learns which form the answer has.
func (w *recordingWriter) Begin(status int, contentType string, header http.Header) error {
	if mediaType, _, _ := strings.Cut(contentType, ";"); mediaType == "text/event-stream" {
		w.tape.stream = newStream(llm.Style(w.tape.call.Style), w.tape.call)
	}
	return w.StreamWriter.Begin(status, contentType, header)
}

// Write passes the bytes on first, so that the client does not wait for the tape.
func (w *recordingWriter) Write(p []byte) error {
	err := w.StreamWriter.Write(p)
	if err == nil {
		w.tape.hear(p)
	}
	return err
}

// Flush passes on, and reads what has gathered of a stream.
func (w *recordingWriter) Flush() error {
	err := w.StreamWriter.Flush()
	if s := w.tape.stream; s != nil && len(s.pending) >= foldBytes {
		s.fold()
	}
	return err
}

// hear takes down what the client was sent.
func (t *Recorder) hear(p []byte) {
	if t.stream == nil {
		t.add(&t.answer, p)
		return
	}
	t.answer.total += int64(len(p))
	if !t.stream.begun {
		t.stream.begun = t.take(streamBytes)
	}
	if !t.lost {
		t.stream.hear(p)
	}
}

// Error takes down an answer that was written past the tape, because the call has failed before anything was sent.
func (t *Recorder) Error(body []byte) {
	if t != nil && !t.over && t.answer.total == 0 {
		t.add(&t.answer, body)
	}
}

// Expect says that the call has a record, by which its content is found, and that the tape will be ended.
func (t *Recorder) Expect(model string) {
	if t != nil {
		t.ends, t.model = true, model
	}
}

// End hands the call over to be written. It never waits: where too many wait already, the content is lost.
func (t *Recorder) End() {
	if t == nil || t.over {
		return
	}
	if t.over = true; t.lost {
		t.lose()
		return
	}
	select {
	case t.service.queue <- t:
	default:
		t.lose()
		return
	}
	app.Wake(t.service.queued)
}

// Abandon gives up a tape that no caller will end.
func (t *Recorder) Abandon() {
	if t != nil && !t.over && !t.ends {
		t.over = true
		t.giveBack()
	}
}

func (t *Recorder) lose() {
	t.service.dropped.Add(1)
	t.giveBack()
}

func (t *Recorder) giveBack() {
	t.service.memory.Give(t.held)
	t.held = 0
}

// row is a call as it is written.
type row struct {
	call         Call
	request      string
	requestBytes int64
	requestCut   bool
	answer       string
	answerBytes  int64
	answerCut    bool
	streamed     bool
	redacted     int
}

// row takes the secrets out and gives the memory back.
func (t *Recorder) row() row {
	r := row{
		call: t.call, requestBytes: t.request.total, requestCut: t.request.cut, answerBytes: t.answer.total, answerCut: t.answer.cut,
		streamed: t.stream != nil,
	}
	if t.stream != nil {
		t.stream.ask.Model = t.model
		t.stream.end()
		text, cut := t.stream.text()
		t.answer.text, r.answerCut = appendShort(nil, text, 2*BytesMax)
		r.answerCut = r.answerCut || cut
	}
	var in, out int
	r.request, in = Redact(storable(t.request.text))
	r.answer, out = Redact(storable(t.answer.text))
	r.redacted = in + out
	t.giveBack()
	t.request, t.answer, t.stream = truncatedBody{}, truncatedBody{}, nil
	return r
}

// storable is text that the store takes: it knows no zero bytes, and a body may be cut within a character.
func storable(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), ""), "\x00", "")
}
