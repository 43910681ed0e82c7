package gateway

import (
	"net/http"
	"strconv"
	"time"

	"umg/app"
	"umg/app/ratelimit"
)

const (
	eventStream = "text/event-stream"
	jsonType    = "application/json"
)

// response is the client's side of a call: the writer, the deadlines, and how much was delivered.
type response struct {
	writer    clientWriter
	deadlines deadlines
	now       app.Clock
	started   time.Time
	timing    *Timing
	firstByte time.Duration // FirstByte is the time to the first delivered byte of the answer; zero before it.
	truncated bool          // The gateway ended the answer at the length that the hold pays for.

	deliveredTokens  int64 // DeliveredTokens is the number of delivered output tokens.
	checkpointTokens int64 // CheckpointTokens is the number of output tokens in the last checkpoint.
	checkpointAt     time.Time
}

// header returns the response headers about the lifecycle of the model, about the limits, and against buffering of streams.
func (p *pipeline) header() http.Header {
	h := make(http.Header, 8)
	if p.head.Stream {
		h["Cache-Control"] = []string{"no-cache, no-transform"}
		h["X-Accel-Buffering"] = []string{"no"}
	}
	for _, one := range p.model.LifecycleHeaders() {
		h[one.Name] = []string{one.Value}
	}
	SetLimitHeaders(h, p.slot.Requests(), p.slot.Tokens())
	return h
}

// SetLimitHeaders sets the x-ratelimit headers of those windows that have a limit.
func SetLimitHeaders(h http.Header, requests, tokens ratelimit.Window) {
	for _, one := range [...]struct {
		window ratelimit.Window
		names  [3]string
	}{
		{requests, [3]string{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"}},
		{tokens, [3]string{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"}},
	} {
		if one.window.Limit == 0 {
			continue
		}
		values := []string{
			strconv.FormatInt(one.window.Limit, 10), strconv.FormatInt(one.window.Remaining, 10), one.window.Reset.String(),
		}
		for i, name := range one.names {
			h[name] = values[i : i+1 : i+1]
		}
	}
}

// begin prepares the response and starts the timer of its deadlines.
func (r *response) begin(c *call, out StreamWriter, header http.Header) {
	o := &c.gateway.o
	r.now, r.started, r.timing = o.Now, c.started, c.request.Timing
	r.writer.out, r.writer.now, r.writer.last, r.writer.header = out, o.Now, c.started, header
	if c.head.Stream {
		r.writer.keepAliveEvery, r.writer.keepAliveText = o.KeepAlive, c.dialect.KeepAlive
	}
	r.deadlines.start(o.Now, &r.writer)
}

// setHeader sets a header if the response has not begun. An empty value removes the header.
func (r *response) setHeader(name, value string) { r.writer.setHeader(name, value) }

// setHeaders sets headers if the response has not begun.
func (r *response) setHeaders(h http.Header) {
	for name, values := range h {
		r.writer.setHeader(name, values[0])
	}
}

// removeHeaders removes the headers of these names.
func (r *response) removeHeaders(h http.Header) {
	for name := range h {
		r.writer.setHeader(name, "")
	}
}
