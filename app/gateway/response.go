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
	length    [1]string     // Length is the value of the header with the length of a whole answer.
	truncated bool          // The gateway ended the answer at the length that the hold pays for.

	deliveredTokens  int64 // DeliveredTokens is the number of delivered output tokens.
	checkpointTokens int64 // CheckpointTokens is the number of output tokens in the last checkpoint.
	checkpointAt     time.Time
}

// header returns the response headers about the lifecycle of the model and about the limits.
func (p *pipeline) header(h http.Header, values *limitValues) http.Header {
	for _, one := range p.model.LifecycleHeaders() {
		h[one.Name] = []string{one.Value}
	}
	values.set(h, p.slot.Requests(), p.slot.Tokens())
	return h
}

// newHeader is header in memory of its own.
func (p *pipeline) newHeader() http.Header { return p.header(make(http.Header, 8), &limitValues{}) }

// SetLimitHeaders sets the x-ratelimit headers of those windows that have a limit.
func SetLimitHeaders(h http.Header, requests, tokens ratelimit.Window) {
	(&limitValues{}).set(h, requests, tokens)
}

// limitValues are the values of the x-ratelimit headers, whose texts share their memory.
type limitValues [6]string

var limitNames = [...]string{
	"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests",
	"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens",
}

func (v *limitValues) set(h http.Header, requests, tokens ratelimit.Window) {
	var (
		short [128]byte
		ends  [len(limitNames)]int
	)
	text := short[:0]
	for i, w := range [...]*ratelimit.Window{&requests, &tokens} {
		if w.Limit != 0 {
			text = strconv.AppendInt(text, w.Limit, 10)
			ends[3*i] = len(text)
			text = strconv.AppendInt(text, w.Remaining, 10)
			ends[3*i+1] = len(text)
			text = appendDuration(text, w.Reset)
			ends[3*i+2] = len(text)
		}
	}
	all, from := string(text), 0
	for i, end := range ends {
		if end > 0 {
			v[i] = all[from:end]
			h[limitNames[i]] = v[i : i+1 : i+1]
			from = end
		}
	}
}

// appendDuration appends what Duration.String returns. It does so itself for whole milliseconds below a minute, as nearly all are.
func appendDuration(dst []byte, d time.Duration) []byte {
	switch {
	case d <= 0 || d >= time.Minute || d%time.Millisecond != 0:
		return append(dst, d.String()...)
	case d < time.Second:
		return append(strconv.AppendInt(dst, d.Milliseconds(), 10), "ms"...)
	}
	dst = strconv.AppendInt(dst, int64(d/time.Second), 10)
	if rest := d % time.Second; rest > 0 {
		dst = append(dst, '.')
		for unit := time.Second / 10; rest > 0; unit /= 10 {
			dst = append(dst, byte('0'+rest/unit))
			rest %= unit
		}
	}
	return append(dst, 's')
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
