package simulator

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const eventStream = "text/event-stream; charset=utf-8"

// streamBytesHeld is how much of a stream without pace is collected before it is written.
const streamBytesHeld = 32 << 10

// frameKind says what a frame is for.
type frameKind uint8

const (
	lifecycle frameKind = iota // The frame opens, closes, repeats or counts.
	token                      // The frame carries one token of output.
	marker                     // The frame says that the stream is complete.
)

// stream writes event frames and lets the fault have its way with them. A style opens a frame, appends its JSON and
// closes it; once over is set, what a style still says is dropped.
type stream struct {
	*buffer
	x      *exchange
	mark   int // Mark is where the frame under construction begins.
	data   int // Data is where the JSON of that frame begins.
	frames int
	tokens int
	over   bool
	broken bool
	sample []byte          // Sample is the first token frame, for a fault that repeats it.
	fail   func(e failure) // Fail replaces failLate of the style if the error depends on the state of the stream; otherwise nil.
}

func (x *exchange) newStream() *stream { return &stream{buffer: x.sim.buffers.take(), x: x} }

func (x *exchange) sendStream() {
	o := x.newStream()
	defer x.sim.buffers.put(o.buffer)
	o.start()
	if x.fault.truncated {
		o.raw("data: ").raw(`{"id":"`)
		o.over = true
	}
	if !o.over {
		x.style.stream(o, x)
	}
	o.finish()
}

func (o *stream) start() {
	x := o.x
	if x.prompt.array {
		x.head("application/json")
	} else {
		x.head(eventStream)["Cache-Control"] = []string{"no-cache"}
	}
	// Without this net/http would give a short stream a length, which no real stream has.
	x.w.Header()["Transfer-Encoding"] = []string{"chunked"}
	x.entry.status(http.StatusOK)
	x.w.WriteHeader(http.StatusOK)
	if slices.Contains(x.fault.frames, "bom") {
		o.raw("\ufeff")
	}
	o.breakIfDue()
}

// open begins a frame. The event name is empty in the styles that have none.
func (o *stream) open(event string) *buffer {
	o.mark = len(o.b)
	switch {
	case !o.x.prompt.array:
		if event != "" {
			o.raw("event: ").raw(event).raw("\n")
		}
		o.raw("data: ")
	case o.frames == 0:
		o.raw("[")
	default:
		o.raw(",\r\n")
	}
	o.data = len(o.b)
	return o.buffer
}

// close ends a frame and sends it when it is time to.
func (o *stream) close(kind frameKind) {
	f := o.x.fault
	if o.over || kind == marker && f.noEnd {
		o.b = o.b[:o.mark]
		return
	}
	o.frames++
	if kind == token {
		o.tokens++
		if f.hugeLine > 0 && o.tokens == 1 {
			o.pad(o.data, f.hugeLine)
		}
	}
	if f.malformedAt == o.frames {
		o.b = o.b[:o.data+(len(o.b)-o.data)/2]
	}
	if !o.x.prompt.array {
		o.raw("\n\n")
	}
	if f.extra && kind == token && o.sample == nil {
		o.sample = bytes.Clone(o.b[o.mark:])
	}
	o.send(kind)
	o.breakIfDue()
}

// send writes the frame at its pace, or leaves it to be collected with others.
func (o *stream) send(kind frameKind) {
	f := o.x.fault
	pace := o.x.pace()
	if pace > 0 && kind == token && o.tokens > 1 && !o.x.pause(pace) {
		o.over = true
		return
	}
	if f.frames != nil {
		o.reshape()
		if slices.Contains(f.frames, "split") {
			o.sendSplit()
			return
		}
	}
	switch {
	case pace > 0:
		o.flush()
	case len(o.b) >= streamBytesHeld:
		o.writeOut()
	}
}

// breakIfDue ends the stream the way the fault wants once enough of it is sent.
func (o *stream) breakIfDue() {
	f := o.x.fault
	sent := o.frames
	if f.breakTokens {
		sent = o.tokens
	}
	if f.breaking == "" || o.broken || o.over || sent < f.breakAfter {
		return
	}
	o.broken = true
	if f.breaking == "error" {
		if o.fail != nil {
			o.fail(f.failure())
		} else {
			o.x.style.failLate(o, o.x, f.failure())
		}
	}
	o.flush()
	o.over = true
	switch f.breaking {
	case "reset":
		o.x.drop(true)
	case "cut":
		o.x.drop(false)
	case "stall":
		o.x.stall()
	case "chatter":
		o.chatter()
	}
}

// finish sends what is left, and what the fault adds to a stream that is complete.
func (o *stream) finish() {
	f := o.x.fault
	if o.x.prompt.array && o.frames > 0 && !o.over {
		o.raw("]")
	}
	if f.extra && !o.over {
		o.raw(string(o.sample)).raw("data: {\"extra\":true}\n\ntrailing garbage\n\n")
	}
	if o.broken {
		return
	}
	if len(o.b) > 0 {
		o.writeOut()
	}
	switch {
	case f.keepOpen:
		o.x.flush()
		o.x.stall()
	case f.closeIdle:
		o.x.flush()
		o.x.drop(false)
	}
}

func (o *stream) writeOut() {
	if !o.x.write(o.b) {
		o.over = true
	}
	o.b = o.b[:0]
}

func (o *stream) flush() {
	o.writeOut()
	o.x.flush()
}

// reshape gives the frame another form that means the same to a reader of event streams.
func (o *stream) reshape() {
	frame := string(o.b[o.mark:])
	for _, form := range o.x.fault.frames {
		switch form {
		case "comments":
			frame = ": keep-alive\n\n" + frame
		case "unknown":
			frame = "id: 7\nretry: 1000\nfield-unknown: x\n" + frame
		case "multiline":
			frame = splitData(frame)
		}
	}
	for _, form := range o.x.fault.frames {
		switch form {
		case "crlf":
			frame = strings.ReplaceAll(frame, "\n", "\r\n")
		case "cr":
			frame = strings.ReplaceAll(frame, "\n", "\r")
		}
	}
	o.b = append(o.b[:o.mark], frame...)
}

// splitData puts the JSON of a frame on two data lines, between its first two members.
func splitData(frame string) string {
	at := strings.Index(frame, "data: {")
	if at < 0 {
		return frame
	}
	comma := strings.Index(frame[at:], `,"`)
	if comma < 0 {
		return frame
	}
	at += comma + 1
	return frame[:at] + "\ndata: " + frame[at:]
}

// sendSplit writes the frame in three pieces, cut inside its first field name and inside a rune when it has a long one.
func (o *stream) sendSplit() {
	frame := bytes.Clone(o.b)
	o.b = o.b[:0]
	middle := len(frame) / 2
	if at := bytes.IndexFunc(frame, func(r rune) bool { return r >= utf8.RuneSelf && r != utf8.RuneError }); at > 2 {
		middle = at + 1
	}
	for _, piece := range [][]byte{frame[:2], frame[2:middle], frame[middle:]} {
		if !o.over {
			o.over = !o.x.write(piece)
			o.x.flush()
		}
	}
}

// pad lengthens the JSON object that begins at from to the given number of bytes, by an unknown member.
func (b *buffer) pad(from int, size int64) {
	missing := int(size) - (len(b.b) - from) - len(`,"padding":""`)
	if missing < 0 || len(b.b) == from || b.b[len(b.b)-1] != '}' {
		return
	}
	b.b = b.b[:len(b.b)-1]
	b.b = slices.Grow(b.b, missing+len(`,"padding":""}`))
	b.raw(`,"padding":"`)
	for range missing {
		b.b = append(b.b, 'x')
	}
	b.raw(`"}`)
}

// chatterPeriod is the time between two signs of life of a stream that says nothing, unless the fault names a pace.
const chatterPeriod = 20 * time.Millisecond

// chatterFrames are the signs of life of each style: comments, pings, and frames without content.
var chatterFrames = map[string][]string{
	"chat": {
		": keep-alive\n\n",
		`data: {"id":"chatcmpl-idle","object":"chat.completion.chunk","created":1,"model":"idle",` +
			`"choices":[{"index":0,"delta":{},"finish_reason":null}]}` + "\n\n",
		`data: {"id":"chatcmpl-idle","object":"chat.completion.chunk","created":1,"model":"idle",` +
			`"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}` + "\n\n",
	},
	"messages": {
		"event: ping\ndata: {\"type\":\"ping\"}\n\n",
		": keep-alive\n\n",
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}` + "\n\n",
	},
	"responses": {
		": keep-alive\n\n", // The frames of this style are numbered, but comments are not.
	},
	"native": {
		": keep-alive\n\n",
		`data: {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"index":0}]}` + "\n\n",
	},
}

// chatter shows that the stream lives and says nothing, until the client leaves.
func (o *stream) chatter() {
	frames, period := chatterFrames[o.x.style.name], chatterPeriod
	if pace := o.x.fault.pace; pace > 0 {
		period = pace
	}
	for n := 0; n < int(o.x.sim.options.StallMax/period); n++ {
		if !o.x.pause(period) || !o.x.write([]byte(frames[n%len(frames)])) {
			return
		}
		o.x.flush()
	}
	o.x.drop(false)
}
