package playground

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"umg/app"
	"umg/app/markdown"
	playpages "umg/views/playground"
)

const (
	eventsType    = "application/x-ndjson"
	writeTimeout  = 30 * time.Second // This is the timeout of one write to the browser.
	flushInterval = 50 * time.Millisecond
	batchBytes    = 64 << 10 // A write starts early once this many bytes are queued.
	rawBytesMax   = 2 << 20  // At most this many bytes of an answer are shown raw.
	rawNotice     = "\n\n: The log ends here: it holds the first 2 MB of an answer.\n\n"
)

// event is one line for the script of the page. Html is made safe by the markup package; all else is put into the page as text.
type event struct {
	Kind string `json:"kind"` // Kind is request, text, block, thought, call, raw, wait, done or error.

	// These fields of a request event show what is sent, without the key.
	Method  string     `json:"method,omitempty"`
	Path    string     `json:"path,omitempty"`
	Headers [][]string `json:"headers,omitempty"`
	Body    string     `json:"body,omitempty"`

	Text string `json:"text,omitempty"`
	// HTML of a block event replaces the open block with its finished part, and text is what is still open. Done and error
	// events have the HTML of the whole answer if it differs from its blocks one after the other.
	HTML markdown.HTML  `json:"html,omitempty"`
	Call *toolCallEvent `json:"call,omitempty"`
	Raw  string         `json:"raw,omitempty"`

	Facts     [][]string       `json:"facts,omitempty"`
	Stats     []playpages.Stat `json:"stats,omitempty"`
	Unkept    bool             `json:"unkept,omitempty"` // The run could not be stored, although the account keeps runs.
	Note      string           `json:"note,omitempty"`
	Request   string           `json:"request,omitempty"`
	Estimated bool             `json:"estimated,omitempty"`
	Field     string           `json:"field,omitempty"`
	Code      string           `json:"code,omitempty"`
	Doc       string           `json:"doc,omitempty"` // Doc is the address of the documentation of the code.
	Balance   *balanceEvent    `json:"balance,omitempty"`
	Credit    bool             `json:"credit,omitempty"` // Credit reports that the balance does not cover the request.
}

// toolCallEvent is a call of a tool that the answer asks for, complete.
type toolCallEvent struct {
	Index int `json:"index"`
	playpages.ToolCall
}

// balanceEvent is the new balance for the top of the page.
type balanceEvent struct {
	// Rounded has whole cents.
	Rounded string `json:"rounded"`
	Exact   string `json:"exact"`
	State   string `json:"state"`
	Tone    string `json:"tone"`
}

// eventWriter writes events to the browser. What comes faster than a reader sees is written together: at most once in
// playFlushEvery, the last of it by a timer. Each write has a deadline of its own.
type eventWriter struct {
	w          http.ResponseWriter
	controller *http.ResponseController
	now        app.Clock

	mu          sync.Mutex
	queue       []queuedEvent
	frames      []byte // These frames are not yet written.
	queuedBytes int
	last        time.Time
	timer       *time.Timer
	err         error // This is the error of the first failed write.
	closed      bool

	blocks   textBlocks
	answer   strings.Builder // This text is rendered again as a whole if it is short enough.
	html     strings.Builder // This HTML of the answer was already sent.
	rawBytes int
}

// queuedEvent is an event on its way. Texts of one kind that follow each other are one.
type queuedEvent struct {
	event event
	text  *strings.Builder
}

func newEventWriter(w http.ResponseWriter, now app.Clock) *eventWriter {
	out := &eventWriter{w: w, controller: http.NewResponseController(w), now: now}
	_ = out.controller.SetWriteDeadline(time.Time{}) // The model may think for minutes before it sends anything.
	h := w.Header()
	h.Set("Content-Type", eventsType)
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return out
}

func (o *eventWriter) text(s string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add("text", s)
	if o.answer.Len() <= exactBytesMax {
		o.answer.WriteString(s)
	}
	if ended := o.blocks.add(s); ended != "" {
		o.block(ended)
	}
	return o.err
}

// block queues the HTML of blocks that have ended.
func (o *eventWriter) block(ended string) {
	html := renderMarkdown(ended)
	if o.html.Len() <= 2*exactBytesMax {
		o.html.WriteString(string(html))
	}
	rest := o.blocks.rest()
	o.queuedBytes += len(html) + len(rest)
	o.queue = append(o.queue, queuedEvent{event: event{Kind: "block", HTML: html, Text: rest}})
}

func (o *eventWriter) thought(s string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add("thought", s)
	return o.err
}

func (o *eventWriter) call(index int, c playpages.ToolCall) error {
	return o.put(event{Kind: "call", Call: &toolCallEvent{Index: index, ToolCall: c}})
}

// put queues an event behind those that came before it.
func (o *eventWriter) put(e event) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, queuedEvent{event: e})
	return o.err
}

func (o *eventWriter) add(kind, s string) {
	o.queuedBytes += len(s)
	if n := len(o.queue); n > 0 && o.queue[n-1].text != nil && o.queue[n-1].event.Kind == kind {
		o.queue[n-1].text.WriteString(s)
		return
	}
	piece := queuedEvent{event: event{Kind: kind}, text: &strings.Builder{}}
	piece.text.WriteString(s)
	o.queue = append(o.queue, piece)
}

func (o *eventWriter) raw(p []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := rawBytesMax - o.rawBytes
	if room < 0 {
		return o.err
	}
	o.rawBytes += len(p)
	o.frames = append(o.frames, p[:min(len(p), room)]...)
	if len(p) > room {
		o.frames = append(o.frames, rawNotice...)
	}
	o.queuedBytes += len(p)
	return o.err
}

// flush writes the queued events, now or when flushInterval has passed.
func (o *eventWriter) flush(hasNews bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !hasNews {
		o.queue = append(o.queue, queuedEvent{event: event{Kind: "wait"}})
	}
	rest := flushInterval - o.now().Sub(o.last)
	switch {
	case o.err != nil || o.closed:
	case !hasNews || rest <= 0 || o.queuedBytes >= batchBytes:
		o.write()
	case o.timer == nil:
		o.timer = time.AfterFunc(rest, o.flushLate)
	}
	return o.err
}

// flushLate is called by the timer.
func (o *eventWriter) flushLate() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed && o.err == nil {
		o.write()
	}
}

// write writes all queued events and flushes once.
func (o *eventWriter) write() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	if len(o.frames) > 0 {
		o.err = lines.Encode(event{Kind: "raw", Raw: string(o.frames)})
		o.frames = o.frames[:0]
	}
	for i := range o.queue {
		if o.queue[i].text != nil {
			o.queue[i].event.Text = o.queue[i].text.String()
		}
		o.err = errors.Join(o.err, lines.Encode(o.queue[i].event))
	}
	clear(o.queue)
	o.queue, o.queuedBytes = o.queue[:0], 0
	_ = o.controller.SetWriteDeadline(o.now().Add(writeTimeout))
	if _, err := o.w.Write(b.Bytes()); err != nil {
		o.err = errors.Join(o.err, err)
	}
	if err := o.controller.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		o.err = errors.Join(o.err, err)
	}
	o.last = o.now()
}

// end renders the remaining content, writes the last event and refuses further writes.
func (o *eventWriter) end(e event) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if rest := o.blocks.close(); rest != "" {
		o.block(rest)
	}
	if n := o.answer.Len(); n > 0 && n <= exactBytesMax {
		if whole := renderMarkdown(o.answer.String()); string(whole) != o.html.String() {
			e.HTML = whole
		}
	}
	o.queue = append(o.queue, queuedEvent{event: e})
	if o.err == nil && !o.closed {
		o.write()
	}
	o.stop()
	return o.err
}

// close is for calls that end without a last event.
func (o *eventWriter) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stop()
}

func (o *eventWriter) stop() {
	o.closed = true
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

// DeferredResponse is a page that is written only after the answer has come.
type DeferredResponse struct{ controller *http.ResponseController }

// NewDeferredResponse lifts the write deadline until StartDeadline sets it.
func NewDeferredResponse(w http.ResponseWriter) DeferredResponse {
	q := DeferredResponse{http.NewResponseController(w)}
	_ = q.controller.SetWriteDeadline(time.Time{})
	return q
}

// StartDeadline limits the time in which the page must be written.
func (q DeferredResponse) StartDeadline(now time.Time) {
	_ = q.controller.SetWriteDeadline(now.Add(writeTimeout))
}
