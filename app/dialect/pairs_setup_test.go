package dialect_test

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/simulator"
	"umg/app/sse"
)

// pair is a client of one style and a provider of the same or of another style. The simulator is the provider: it reads requests and
// writes answers without the codecs.
type pair struct{ client, upstream llm.Style }

func (p pair) String() string { return string(p.client + " on " + p.upstream) }

// eachPair runs a test for every style of the client with every style of the provider.
func eachPair(t *testing.T, test func(t *testing.T, p pair)) {
	t.Helper()
	for _, client := range llm.Styles() {
		for _, upstream := range llm.Styles() {
			t.Run(pair{client, upstream}.String(), func(t *testing.T) { t.Parallel(); test(t, pair{client, upstream}) })
		}
	}
}

const (
	pairModel  = "meridian/atlas"
	pairOutput = 16_000 // A request without a limit gets this limit on output tokens if the provider's style requires one.
)

var pairProvider = simulator.New(simulator.Options{})

// called is a call in a pair of styles: what the provider was sent, and how its answer began.
type called struct {
	pair
	exchange *translate.Exchange
	options  llm.ResponseOptions
	sent     []byte
	answer   *httptest.ResponseRecorder
}

// clientBody is a request in the style of the client.
func (p pair) clientBody(t *testing.T, r llm.Request) []byte {
	t.Helper()
	r.Model = pairModel
	body, err := dialectOf(t, p.client).Codec.EncodeRequest(&r)
	if err == nil && p.client == llm.Native { // Clients of this style have both in the path.
		body, err = dialect.NameModel(body, pairModel, r.Stream)
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// exchangeOf makes the exchange of a request as the gateway does.
func (p pair) exchangeOf(t *testing.T, body []byte) *translate.Exchange {
	t.Helper()
	client, upstream := dialectOf(t, p.client), dialectOf(t, p.upstream)
	head, err := client.Peek(body)
	if err != nil || head.Err() != nil {
		t.Fatal(err, head.Err())
	}
	if p.client == p.upstream {
		marked := dialect.HasMarkedSignature(body)
		if got := head.HasMarkedSignature(body); got != marked {
			t.Errorf("the head of %s says %v of its marked signatures, not %v", body, got, marked)
		}
		if !marked {
			return translate.Passthrough(client, body, &head)
		}
		if x, ok := translate.PassthroughWithoutSignatures(client, body); ok {
			return x
		}
	}
	read, err := client.Read(body)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	x, err := translate.New(client, upstream, read, "maker-"+string(p.upstream), pairOutput)
	if err == nil {
		err = x.Prepare()
	}
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return x
}

// edit is how the gateway changes a request for its provider. Every request of the messages style has a bound; a translation adds it.
func (p pair) edit(x *translate.Exchange) dialect.Edit {
	e := dialect.Edit{Model: "upstream-model"}
	if p.client == llm.Messages && p.upstream == llm.Messages && !x.Bounded() {
		e.MaxTokens = pairOutput
	}
	return e
}

// call sends a request to the provider.
func (p pair) call(t *testing.T, r llm.Request) *called {
	t.Helper()
	c := &called{pair: p, exchange: p.exchangeOf(t, p.clientBody(t, r)), answer: httptest.NewRecorder()}
	c.options = llm.ResponseOptions{Model: pairModel, CallID: "req_01test", Created: 1_760_000_000, Choices: 1, IncludeUsage: true}
	c.sent = c.exchange.Request(nil, p.edit(c.exchange))
	fitsRequest(t, p.upstream, c.sent)
	path := map[llm.Style]string{
		llm.Chat: "/v1/chat/completions", llm.Messages: "/v1/messages", llm.Responses: "/v1/responses", llm.Native: "/v1beta/models/upstream-model:generateContent",
	}[p.upstream]
	if p.upstream == llm.Native && (c.exchange.Streams() || r.Stream) {
		path = strings.Replace(path, "generate", "streamGenerate", 1) + "?alt=sse"
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(c.sent))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Anthropic-Version", "2023-06-01")
	pairProvider.ServeHTTP(c.answer, request)
	if c.answer.Code != http.StatusOK {
		t.Fatalf("the provider answers %d to %s: %s", c.answer.Code, c.sent, c.answer.Body)
	}
	return c
}

// delivered is what a client gets of an answer, before and at its end.
type delivered struct {
	live, out string
	stats     dialect.StreamStats
	err       error
	stream    dialect.Stream // The stream is open until the test ends.
}

func pairCharge(s dialect.StreamStats) llm.Charge {
	return llm.Charge{Usage: s.Usage, Estimated: !s.Reported, Cost: 210_000}
}

// deliver reads the answer in the form that it has and writes it in the form that the client wants.
func (c *called) deliver(t *testing.T, streamed bool) (d delivered) {
	t.Helper()
	kind, _, err := mime.ParseMediaType(c.answer.Header().Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	raw := c.answer.Body.Bytes()
	if kind != "text/event-stream" && !streamed {
		body, err := c.exchange.ReadBody(raw, c.options)
		if err != nil {
			return delivered{err: err}
		}
		return delivered{out: string(body.Append(nil, pairCharge(body.Stats()))), stats: body.Stats()}
	}
	if kind != "text/event-stream" {
		if raw, err = c.exchange.Frames(raw); err != nil {
			return delivered{err: err}
		}
	}
	if !streamed {
		folded := c.exchange.NewFolded(c.options)
		d.live, d.err = passToEnd(folded, raw)
		d.stats = folded.Stats()
		if body, whole := folded.Body(); whole && d.err == nil {
			d.out = string(body.Append(nil, pairCharge(d.stats)))
		}
		return d
	}
	d.stream = c.exchange.NewStream(c.options)
	t.Cleanup(d.stream.Close)
	d.live, d.err = passToEnd(d.stream, raw)
	if d.stats = d.stream.Stats(); d.err == nil && (d.stats.Ended || d.stats.Whole) {
		d.out = d.live + string(d.stream.Finish(nil, pairCharge(d.stats)))
	}
	return d
}

// passToEnd passes frames on until the answer is over, as the gateway does.
func passToEnd(s dialect.Stream, raw []byte) (string, error) {
	r := sse.NewReader(bytes.NewReader(raw), nil)
	defer r.Close()
	var out []byte
	for {
		f, broken := r.Next()
		if broken != nil && !errors.Is(broken, io.EOF) {
			return string(out), broken
		}
		if broken != nil {
			f = sse.Frame{}
		}
		var step dialect.Step
		var err error
		if out, step, err = s.Frame(out, f); err != nil || broken != nil || step == dialect.Done {
			return string(out), err
		}
	}
}

// failed ends a stream that broke off with an error, and returns all that the client has.
func (c *called) failed(t *testing.T, d *delivered) string {
	t.Helper()
	charge := pairCharge(d.stats)
	return string(d.stream.Fail([]byte(d.live), app.Errorf(app.Upstream, "upstream_error", "It broke."), c.options.CallID, &charge))
}
