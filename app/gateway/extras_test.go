package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/provider"
)

// generous are models whose contracts have every parameter, so that nothing is refused because a model does not know it.
const generous = `
  - {id: test/generous-chat, GENEROUS [{provider: alpha, model: up-generous, style: chat}]}
  - {id: test/generous-messages, GENEROUS [{provider: alpha, model: up-generous, style: messages}]}
  - {id: test/generous-responses, GENEROUS [{provider: alpha, model: up-generous, style: responses}]}
  - {id: test/generous-native, GENEROUS [{provider: alpha, model: up-generous, style: native}]}
`

const generousTerms = `name: Test, owner: test, kind: text, capabilities: [text], input: [text, image, audio, video, file], output: [text],
     context_tokens: 128000, max_output_tokens: 4096, parameters: [temperature, top_p, stop, seed, n, tools, custom_tools, tool_choice,
     reasoning_effort, response_format, structured_outputs, service_tier, web_search, audio, prediction],
     rates: {input_tokens: 3 per 1M, output_tokens: 15 per 1M}, limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000},
     released: 2026-01-01, routes:`

// extraCase is a request that asks for an extra, as members beside a question and a tool of the client.
type extraCase struct {
	row     string // Row is the place in the table, with its type if the place has several rows.
	members string // Members replace the usual ones of the same name.
	dropped string // Dropped is how a translation lists the extra; empty for a refused one.
	refused string // Refused is the field that the error names.
	never   string // No upstream may get never.
}

const (
	functionOfChat      = `{"type":"function","function":{"name":"own"}}`
	functionOfResponses = `{"type":"function","name":"own"}`
	toolOfMessages      = `{"name":"own","input_schema":{"type":"object"}}`
	functionsOfNative   = `{"functionDeclarations":[{"name":"own"}]}`
)

// question is what a request says where its members do not.
var question = map[llm.Style]map[string]string{
	llm.Chat:      {"messages": `[{"role":"user","content":"count to 3"}]`, "tools": `[` + functionOfChat + `]`},
	llm.Messages:  {"messages": `[{"role":"user","content":"count to 3"}]`, "tools": `[` + toolOfMessages + `]`, "max_tokens": "300"},
	llm.Responses: {"input": `[{"role":"user","content":"count to 3"}]`, "tools": `[` + functionOfResponses + `]`},
	llm.Native:    {"contents": `[{"role":"user","parts":[{"text":"count to 3"}]}]`, "tools": `[` + functionsOfNative + `]`},
}

// body is the request of a case for a model.
func (c extraCase) body(style llm.Style, model string, stream bool) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":%q,"stream":%t`, model, stream)
	for name, value := range question[style] {
		if !strings.HasPrefix(c.members, `"`+name+`":`) && !strings.Contains(c.members, `,"`+name+`":`) {
			fmt.Fprintf(&b, `,%q:%s`, name, value)
		}
	}
	return []byte(b.String() + "," + c.members + "}")
}

// tape is an upstream that keeps what it was sent.
type tape struct {
	next   http.Handler
	mu     sync.Mutex
	bodies []string
}

func (u *tape) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	u.bodies = append(u.bodies, string(raw))
	u.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(raw))
	u.next.ServeHTTP(w, r)
}

func (u *tape) played() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.bodies
	u.bodies = nil
	return all
}

// TestNoExtraGoesUpstream makes calls for every row of the table: to a provider of the same style as JSON and as a stream, to
// one of another style in turn, and as a quote and a count.
func TestNoExtraGoesUpstream(t *testing.T) {
	t.Parallel()
	for style, cases := range extraCases {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			b := setup(t, startMoney)
			o := b.options
			o.Balance = b.ledger.Balance
			b.gateway = gateway.New(o)
			u := &tape{next: b.sim}
			b.answerWith(u)
			others := slices.DeleteFunc(llm.Styles(), func(s llm.Style) bool { return s == style })
			for i, c := range cases {
				b.asksFor(t, u, style, style, "test/generous-", c, false)
				b.asksFor(t, u, style, style, "test/generous-", c, true)
				b.asksFor(t, u, style, others[i%len(others)], "test/generous-", c, i%2 == 0)
			}
		})
	}
}

// asksFor makes the call of a case, to the model of a style whose id begins like that.
func (b *bench) asksFor(t *testing.T, u *tape, style, upstream llm.Style, models string, c extraCase, stream bool) {
	t.Helper()
	name := fmt.Sprintf("%s to %s, stream %t: %s", style, upstream, stream, c.members)
	call := gateway.Call{
		ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: style,
		Body: c.body(style, models+string(upstream), stream),
	}
	quote, quoteErr := b.gateway.Quote(t.Context(), call)
	count, countErr := gateway.Count{}, quoteErr
	if provider.Counts(&catalog.Route{Style: upstream}) {
		count, countErr = b.gateway.CountTokens(t.Context(), call)
	}
	counted := u.played()
	before := b.balance().Posted
	_, s, err := b.generate(call)
	sent := u.played()
	if c.refused != "" {
		for _, err := range []error{err, quoteErr, countErr} {
			if e := app.AsError(err); err == nil || e.Kind != app.Invalid || e.Param != c.refused {
				t.Errorf("%s\nanswered with %v, want an error about %s", name, err, c.refused)
			}
		}
		if len(sent)+len(counted) > 0 || b.balance().Posted != before {
			t.Errorf("%s\nrefused, but sent %s %s", name, sent, counted)
		}
		return
	}
	if err != nil || quoteErr != nil || countErr != nil {
		t.Errorf("%s\nrefused: %v, quote %v, count %v", name, err, quoteErr, countErr)
		return
	}
	listed := []string{s.header.Get("X-Gateway-Dropped"), quote.Dropped}
	if provider.Counts(&catalog.Route{Style: upstream}) {
		listed = append(listed, count.Dropped)
	}
	for _, list := range listed {
		if !strings.Contains(","+list+",", ","+c.dropped+",") {
			t.Errorf("%s\nlisted as dropped: %q, want %q", name, list, c.dropped)
		}
	}
	if len(sent) != 1 {
		t.Errorf("%s\nsent %d times", name, len(sent))
	}
	for _, body := range append(sent, counted...) {
		if strings.Contains(body, c.never) {
			t.Errorf("%s\nthe upstream got %s", name, body)
		}
		bare(t, upstream, body)
	}
}

// bare holds what went upstream against the table of its style.
func bare(t *testing.T, style llm.Style, body string) {
	t.Helper()
	d, _ := dialect.Of(style)
	if style == llm.Native { // This style has the model in its path.
		body = `{"model":"m",` + strings.TrimPrefix(body, "{")
	}
	if !strings.Contains(body, `"model"`) {
		return
	}
	h, err := d.Peek([]byte(body))
	if err != nil || h.Err() != nil || len(h.Extras()) > 0 {
		t.Errorf("an upstream of the %s style got %s: %v, %v, %q", style, body, err, h.Err(), h.Extras())
	}
}

// TestEveryExtraHasACase fails for a row of the table that no case asks for.
func TestEveryExtraHasACase(t *testing.T) {
	t.Parallel()
	for _, style := range llm.Styles() {
		asked := map[string]bool{}
		for _, c := range extraCases[style] {
			asked[c.row] = true
		}
		for _, row := range dialect.Extras(style) {
			if len(row.By) > 0 {
				continue // TestPricedExtrasAreServedAndCharged asks for it.
			}
			names := []string{row.At}
			for _, kind := range row.Types {
				names = append(names, row.At+" "+kind)
			}
			if len(row.Types) > 0 {
				names = names[1:]
			}
			if row.Only != nil {
				names[0] += " kept"
			}
			for _, name := range names {
				if !asked[name] {
					t.Errorf("%s: no case asks for %s", style, name)
				}
			}
		}
	}
}
