package simulator

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// bodyBytesMax is the largest request body.
const bodyBytesMax = 64 << 20

// answerWaitMax bounds how long a whole answer is kept back to look as slow as a stream of it.
const answerWaitMax = 30 * time.Second

// style is one text protocol: how it reads a request and how it writes answers and errors.
type style struct {
	name     string
	idHeader string // IDHeader is the response header with the id of the request.
	decode   func(x *exchange) (*prompt, *failure)
	body     func(b *buffer, x *exchange)
	stream   func(o *stream, x *exchange)
	fail     func(b *buffer, x *exchange, e failure)
	failLate func(o *stream, x *exchange, e failure) // FailLate writes an error into a stream that has begun.
	tokens   func(b *buffer, x *exchange)            // Tokens writes the answer of the counting route.
	endings  [5]string                               // Endings has the word of the style for each ending.

	signed     string // Signed is the prefix of the style's signatures of reasoning.
	forged     string // Forged is the error message for a foreign signature.
	forgedCode string // An empty forgedCode means the usual code of the status.
}

// exchange is one request and its answer.
type exchange struct {
	sim      *Simulator
	w        http.ResponseWriter
	r        *http.Request
	style    *style
	provider string // Provider is the first path segment, or empty if that names no provider.
	tail     string // Tail is the rest of the path: the model of a native call.
	body     []byte
	seed     uint64
	created  int64
	id       string // Errors and a header name this id of the request.
	entry    *entry
	counting bool // Counting means that the caller wants the number of input tokens instead of an answer.

	prompt *prompt
	fault  *fault
	answer *answer
}

// serveText answers one call of a text style; counting answers with its number of input tokens only.
func serveText(st *style, counting bool) func(x *exchange) {
	return func(x *exchange) {
		x.style, x.counting = st, counting
		x.fault = &fault{}
		x.id = x.mint("req_")
		if !x.authorised() {
			x.fail(failure{status: http.StatusUnauthorized})
			return
		}
		if bad := x.understand(); bad != nil {
			x.fail(*bad)
			return
		}
		if x.sim.gate.pass(x.r.Context(), x.fault.hold, x.provider, x.prompt.model) != nil {
			return
		}
		if act, ok := wholes[x.fault.whole]; ok {
			if x.pause(x.fault.slowFirst) {
				act(x)
			}
			return
		}
		x.respond()
	}
}

// understand reads the body, decodes it and chooses the fault. The body is recorded even when it cannot be decoded.
func (x *exchange) understand() *failure {
	if bad := x.read(); bad != nil {
		return bad
	}
	p, bad := x.style.decode(x)
	if bad != nil {
		return bad
	}
	if bad := x.verify(p); bad != nil {
		return bad
	}
	p.finish()
	x.prompt = p
	f, err := x.sim.faults.strike(x.call(onText, p, ""))
	if err != nil {
		return badRequest("model", err.Error())
	}
	x.fault = f
	x.entry.understood(p.model, f.spec)
	if bad := x.prefillRefused(); bad != nil && f.whole == "" {
		return bad
	}
	if bad := x.thinkingRefused(); bad != nil && f.whole == "" {
		return bad
	}
	switch {
	case p.choices < 1 || p.choices > choicesMax:
		return badRequest("n", "The number of choices must be from 1 to 128.")
	case f.asJSON:
		p.stream = false
	case f.asStream:
		p.stream = true
	}
	return nil
}

// prefillRefused is what a provider says that does not go on with begun answers, and what the messages style says to
// one that ends with white space.
func (x *exchange) prefillRefused() *failure {
	text := x.prompt.begun.text
	switch {
	case text == "":
		return nil
	case x.fault.prefill == "refuse":
		return &failure{status: http.StatusBadRequest, code: "invalid_value",
			message: "This model does not support assistant message prefill. The conversation must end with a user message."}
	case x.style == &messagesStyle && strings.TrimRight(text, " \t\r\n") != text:
		return &failure{status: http.StatusBadRequest, message: "messages: final assistant content cannot end with trailing whitespace"}
	}
	return nil
}

// A model may take only one of these types of thinking.
const (
	thinkingEnabled  = "enabled"
	thinkingAdaptive = "adaptive"
)

// thinkingRefused is what a provider says to a request for thinking in a form that its model does not take.
func (x *exchange) thinkingRefused() *failure {
	asked, takes := x.prompt.thinkingType, x.fault.thinking
	switch {
	case asked == thinkingEnabled && takes == thinkingAdaptive:
		return badRequest("thinking", `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and `+
			`"output_config.effort" to control thinking behavior.`)
	case asked == thinkingAdaptive && takes == thinkingEnabled:
		return badRequest("thinking", "adaptive thinking is not supported on this model")
	case x.prompt.effort != "" && x.fault.noEffort:
		return badRequest("output_config", "This model does not support the effort parameter.")
	}
	return nil
}

// receive reads the body, of whatever type.
func (x *exchange) receive() *failure {
	var body bytes.Buffer
	if n := x.r.ContentLength; n > 0 && n <= bodyBytesMax {
		body.Grow(int(n) + bytes.MinRead)
	}
	_, err := body.ReadFrom(http.MaxBytesReader(x.w, x.r.Body, bodyBytesMax))
	x.body = body.Bytes()
	x.entry.received(x.body)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return &failure{status: http.StatusRequestEntityTooLarge}
	}
	if err != nil {
		return badRequest("", "The body could not be read.")
	}
	return nil
}

// read reads a body that must say it is JSON.
func (x *exchange) read() *failure {
	if bad := x.receive(); bad != nil {
		return bad
	}
	if media, _, _ := strings.Cut(x.r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		return &failure{status: http.StatusUnsupportedMediaType}
	}
	return nil
}

// authorised compares the key of the request, in whichever header it came, with the one the simulator wants.
func (x *exchange) authorised() bool {
	want := x.sim.options.Key
	if want == "" {
		return true
	}
	bearer, _ := strings.CutPrefix(x.r.Header.Get("Authorization"), "Bearer ")
	for _, key := range []string{bearer, x.r.Header.Get("X-Api-Key"), x.r.Header.Get("X-Goog-Api-Key")} {
		if subtle.ConstantTimeCompare([]byte(key), []byte(want)) == 1 {
			return true
		}
	}
	return false
}

// respond gives the answer in the form the caller asked for, as slowly as the options and the fault say.
func (x *exchange) respond() {
	x.answer = answerTo(x.prompt, x.fault)
	x.answer.word = x.fault.finish
	x.entry.answered(x.answer.usage)
	first := x.sim.options.FirstToken
	if x.fault.slowFirst > 0 {
		first = x.fault.slowFirst
	}
	if x.counting {
		x.sendJSON(func(b *buffer) { x.style.tokens(b, x) })
		return
	}
	if !x.prompt.stream {
		first += min(x.pace()*time.Duration(min(x.answer.usage.output, 1<<20)), answerWaitMax)
	}
	switch {
	case !x.pause(first):
	case x.fault.gzip > 0:
		x.bomb()
	case x.prompt.stream:
		x.sendStream()
	default:
		x.sendJSON(func(b *buffer) { x.style.body(b, x) })
	}
}

func (x *exchange) pace() time.Duration {
	if x.fault.pace > 0 {
		return x.fault.pace
	}
	return x.sim.options.Pace
}

// pause waits and reports whether the client is still there.
func (x *exchange) pause(d time.Duration) bool {
	if d <= 0 {
		return x.r.Context().Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.r.Context().Done():
		return false
	}
}

// stall keeps the connection and says nothing until the client leaves, then closes it.
func (x *exchange) stall() {
	if x.pause(x.sim.options.StallMax) {
		x.drop(false)
	}
}

// drop ends the connection in the middle of the answer: with a reset, or with an orderly end that the framing of the
// answer does not announce.
func (x *exchange) drop(reset bool) {
	x.entry.broke()
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// head sets the headers that every answer has, and those the fault adds.
func (x *exchange) head(contentType string) http.Header {
	h := x.w.Header()
	if x.fault.contentType != "" {
		contentType = x.fault.contentType
	}
	h["Content-Type"] = []string{contentType}
	h[x.style.idHeader] = []string{x.id}
	for i := range x.fault.headers {
		h["X-Filler-"+strconv.FormatInt(i, 10)] = []string{"filler"}
	}
	if n := x.fault.headerBytes; n > 0 {
		h["X-Filler"] = []string{strings.Repeat("x", int(n))}
	}
	return h
}

// fail refuses in the layout of the style.
func (x *exchange) fail(e failure) {
	b := x.sim.buffers.take()
	defer x.sim.buffers.put(b)
	x.style.fail(b, x, e)
	h := x.head("application/json")
	if e.retryAfter != "" {
		h.Set("Retry-After", e.retryAfter)
	}
	if e.retryIn > 0 {
		// The date uses the same clock as the header Date.
		h.Set("Retry-After", time.Now().Add(time.Duration(e.retryIn)*time.Second).UTC().Format(http.TimeFormat))
	}
	x.entry.status(e.status)
	x.w.WriteHeader(e.status)
	_, _ = x.w.Write(b.b)
}

// mint makes an id: unique within the life of the simulator, and the same for the same clock and order of requests.
func (x *exchange) mint(prefix string) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	id := make([]byte, 0, len(prefix)+24)
	id = append(id, prefix...)
	for len(id) < len(prefix)+24 {
		x.seed += 0x9e3779b97f4a7c15
		z := x.seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		for range 8 {
			id = append(id, letters[z%62])
			z /= 62
		}
	}
	return string(id)
}
