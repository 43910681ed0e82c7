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
	playLines      = "application/x-ndjson"
	playStallMax   = 30 * time.Second // timeout of one write to the browser
	playFlushEvery = 50 * time.Millisecond
	playBatchBytes = 64 << 10 // bytes that are collected before a write
	playRawMax     = 2 << 20  // bytes of an answer that are shown raw
	playRawNotice  = "\n\n: The log ends here: it holds the first 2 MB of an answer.\n\n"
)

// playEvent is one line for the script of the page. Html is made safe by the markup package; all else is put into the page as
// text.
type playEvent struct {
	Kind string `json:"kind"` // request, text, block, thought, call, raw, wait, done or error

	// Of request: what is sent, with the key left out.
	Method  string     `json:"method,omitempty"`
	Path    string     `json:"path,omitempty"`
	Headers [][]string `json:"headers,omitempty"`
	Body    string     `json:"body,omitempty"`

	Text string `json:"text,omitempty"`
	// HTML is of block: the finished part of the open block, in whose place it stands; text is then what is still open. Of done
	// and error it is the whole answer, where that is not the same as its blocks one after the other.
	HTML markdown.HTML `json:"html,omitempty"`
	Call *playCalled   `json:"call,omitempty"`
	Raw  string        `json:"raw,omitempty"`

	Facts     [][]string    `json:"facts,omitempty"`
	Note      string        `json:"note,omitempty"`
	Request   string        `json:"request,omitempty"`
	Estimated bool          `json:"estimated,omitempty"`
	Field     string        `json:"field,omitempty"`
	Code      string        `json:"code,omitempty"`
	Doc       string        `json:"doc,omitempty"` // address of the documentation of the code
	Balance   *balanceEvent `json:"balance,omitempty"`
	Credit    bool          `json:"credit,omitempty"` // the balance does not cover the request
}

// playCalled is a call of a tool that the answer asks for, complete.
type playCalled struct {
	Index int `json:"index"`
	playpages.ToolCall
}

// balanceEvent is the new balance for the top of the page.
type balanceEvent struct {
	Main  string `json:"main"`
	Fine  string `json:"fine"` // digits after the cents
	State string `json:"state"`
	Tone  string `json:"tone"`
}

// playWriter writes events to the browser. What comes faster than a reader sees is written together: at most once in
// playFlushEvery, the last of it by a timer. Each write has a deadline of its own.
type playWriter struct {
	w          http.ResponseWriter
	controller *http.ResponseController
	now        app.Clock

	mu     sync.Mutex
	queue  []playPiece
	frames []byte // frames that are not written yet
	waits  int    // bytes in the queue
	last   time.Time
	timer  *time.Timer
	err    error // error of the first failed write
	closed bool

	blocks   textBlocks
	said     strings.Builder // the whole answer, while it may be rendered again as a whole
	drawn    strings.Builder // the HTML that was sent for it
	rawBytes int
}

// playPiece is an event on its way. Texts of one kind that follow each other are one.
type playPiece struct {
	event playEvent
	text  *strings.Builder
}

func newPlayWriter(w http.ResponseWriter, now app.Clock) *playWriter {
	out := &playWriter{w: w, controller: http.NewResponseController(w), now: now}
	_ = out.controller.SetWriteDeadline(time.Time{}) // the model may think for minutes before it sends anything
	h := w.Header()
	h.Set("Content-Type", playLines)
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return out
}

func (o *playWriter) text(s string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add("text", s)
	if o.said.Len() <= exactBytesMax {
		o.said.WriteString(s)
	}
	if ended := o.blocks.add(s); ended != "" {
		o.block(ended)
	}
	return o.err
}

// block draws what has ended.
func (o *playWriter) block(ended string) {
	html := drawn(ended)
	if o.drawn.Len() <= 2*exactBytesMax {
		o.drawn.WriteString(string(html))
	}
	rest := o.blocks.rest()
	o.waits += len(html) + len(rest)
	o.queue = append(o.queue, playPiece{event: playEvent{Kind: "block", HTML: html, Text: rest}})
}

func (o *playWriter) thought(s string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add("thought", s)
	return o.err
}

func (o *playWriter) call(index int, c playpages.ToolCall) error {
	return o.put(playEvent{Kind: "call", Call: &playCalled{Index: index, ToolCall: c}})
}

// put queues an event behind those that came before it.
func (o *playWriter) put(e playEvent) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, playPiece{event: e})
	return o.err
}

func (o *playWriter) add(kind, s string) {
	o.waits += len(s)
	if n := len(o.queue); n > 0 && o.queue[n-1].text != nil && o.queue[n-1].event.Kind == kind {
		o.queue[n-1].text.WriteString(s)
		return
	}
	piece := playPiece{event: playEvent{Kind: kind}, text: &strings.Builder{}}
	piece.text.WriteString(s)
	o.queue = append(o.queue, piece)
}

func (o *playWriter) raw(p []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := playRawMax - o.rawBytes
	if room < 0 {
		return o.err
	}
	o.rawBytes += len(p)
	o.frames = append(o.frames, p[:min(len(p), room)]...)
	if len(p) > room {
		o.frames = append(o.frames, playRawNotice...)
	}
	o.waits += len(p)
	return o.err
}

// flush writes what waits, now or when the time for it has come.
func (o *playWriter) flush(told bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !told {
		o.queue = append(o.queue, playPiece{event: playEvent{Kind: "wait"}})
	}
	rest := playFlushEvery - o.now().Sub(o.last)
	switch {
	case o.err != nil || o.closed:
	case !told || rest <= 0 || o.waits >= playBatchBytes:
		o.push()
	case o.timer == nil:
		o.timer = time.AfterFunc(rest, o.ring)
	}
	return o.err
}

// ring is the timer's.
func (o *playWriter) ring() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed && o.err == nil {
		o.push()
	}
}

// push writes everything that waits and flushes once.
func (o *playWriter) push() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	if len(o.frames) > 0 {
		o.err = lines.Encode(playEvent{Kind: "raw", Raw: string(o.frames)})
		o.frames = o.frames[:0]
	}
	for i := range o.queue {
		if o.queue[i].text != nil {
			o.queue[i].event.Text = o.queue[i].text.String()
		}
		o.err = errors.Join(o.err, lines.Encode(o.queue[i].event))
	}
	clear(o.queue)
	o.queue, o.waits = o.queue[:0], 0
	_ = o.controller.SetWriteDeadline(o.now().Add(playStallMax))
	if _, err := o.w.Write(b.Bytes()); err != nil {
		o.err = errors.Join(o.err, err)
	}
	if err := o.controller.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		o.err = errors.Join(o.err, err)
	}
	o.last = o.now()
}

// end renders the remaining content, writes the last event and refuses further writes.
func (o *playWriter) end(e playEvent) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if rest := o.blocks.close(); rest != "" {
		o.block(rest)
	}
	if n := o.said.Len(); n > 0 && n <= exactBytesMax {
		if whole := drawn(o.said.String()); string(whole) != o.drawn.String() {
			e.HTML = whole
		}
	}
	o.queue = append(o.queue, playPiece{event: e})
	if o.err == nil && !o.closed {
		o.push()
	}
	o.stop()
	return o.err
}

// close is for calls that end without a last event.
func (o *playWriter) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stop()
}

func (o *playWriter) stop() {
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
	_ = q.controller.SetWriteDeadline(now.Add(playStallMax))
}
