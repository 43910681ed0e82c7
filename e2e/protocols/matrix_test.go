package protocols

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/e2e/harness"
)

// The matrix has every style of a client against every style of a provider, through the built server and the simulator. One question is
// asked in every pair, and each behavior in one: app/dialect checks in every pair what requests, answers and streams look like. One model
// for each style of provider has the same prices, so that a call costs the same in every pair.

// matrix is a gateway with one model for each style of provider.
type matrix struct {
	*harness.Gateway
	store *sqlx.DB
	marks atomic.Int64
}

// styleNames are the four styles.
var styleNames = []string{"chat", "messages", "responses", "native"}

// The prices of all models, in nano-dollars a token.
const (
	nanosIn   = 3000
	nanosRead = 300
	nanosOut  = 15000
)

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{Gateway: harness.StartDemo(t, "--token-interval", "0s")}
	m.store = m.DB(t)
	var providers, models strings.Builder
	for _, style := range styleNames {
		base, credential := "v1", "authorization"
		switch style {
		case "messages":
			credential = "x-api-key"
		case "native":
			base, credential = "v1beta", "x-goog-api-key"
		}
		fmt.Fprintf(&providers, `  - id: m-%[1]s
    name: Matrix %[1]s
    base_url: ${UMG_SIMULATOR_URL}/m-%[1]s/%[2]s
    credential: ${UMG_SIMULATOR_KEY}
    credential_header: %[3]s
    styles: [%[1]s]
`, style, base, credential)
		fmt.Fprintf(&models, `  - id: matrix/%[1]s
    name: Matrix %[1]s
    owner: matrix
    kind: text
    capabilities: [text]
    input: [text, image]
    output: [text]
    context_tokens: 128000
    max_output_tokens: 16000
    styles: [chat, messages, responses, native]
    parameters: [temperature, top_p, presence_penalty, stop, seed, tools, tool_choice, response_format, structured_outputs,
      reasoning_effort]
    availability: available
    rates: {input_tokens: 3 per 1M, cache_read_tokens: 0.30 per 1M, cache_write_tokens: 3 per 1M, output_tokens: 15 per 1M}
    limits: {requests_per_minute: 100000, tokens_per_minute: 100000000}
    released: 2026-01-01
    routes:
      - {provider: m-%[1]s, model: upstream-%[1]s-7, style: %[1]s, order: 1, weight: 1}
`, style)
	}
	m.putCatalog(t, providers.String(), models.String())
	return m
}

// putCatalog adds providers and models to the catalog in force.
func (m *matrix) putCatalog(t *testing.T, providers, models string) {
	t.Helper()
	env := []string{"DATABASE_URL=" + m.DatabaseURL(t)}
	text, status := harness.RunCommand(t, env, "catalog", "export")
	if status != 0 {
		t.Fatal(text)
	}
	text = strings.Replace(text, "providers:\n", "providers:\n"+harness.IndentLike(text, providers), 1)
	text = strings.Replace(text, "models:\n", "models:\n"+harness.IndentLike(text, models), 1)
	file := filepath.Join(harness.DataDir(t), "catalog.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, status := harness.RunCommand(t, env, "catalog", "apply", "--allow-unset", file); status != 0 {
		t.Fatalf("catalog apply: %s", out)
	}
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(10 * time.Millisecond) {
		if strings.Contains(m.Call(t, "GET", "/v1/models", "").Body, `"id":"matrix/native"`) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the gateway does not list the models of the matrix")
		}
	}
}

// pair is a client of one style and a provider of the same or of another style.
type pair struct{ client, upstream string }

func (p pair) String() string { return p.client + "→" + p.upstream }

// pairs are all pairs of styles.
func pairs() []pair {
	var all []pair
	for _, client := range styleNames {
		for _, upstream := range styleNames {
			all = append(all, pair{client, upstream})
		}
	}
	return all
}

// sent is one call and all that is known of it afterwards.
type sent struct {
	harness.Response
	style  harness.Style
	mark   string
	record matrixRecord
}

// matrixRecord is what the ledger wrote about one call.
type matrixRecord struct {
	Cost      int64  `db:"cost_nanos"`
	Outcome   string `db:"outcome"`
	Estimated bool   `db:"estimated"`
	Streamed  bool   `db:"streamed"`
	Style     string `db:"style"`
	In        int64  `db:"input_tokens"`
	Read      int64  `db:"cache_read_tokens"`
	Out       int64  `db:"output_tokens"`
	Thought   int64  `db:"reasoning_tokens"`
}

// send makes a call with these members. MARK in them becomes a word, of the same tokens for all, by which the record of the simulator is
// found again.
func (m *matrix) send(t *testing.T, p pair, stream bool, members string, headers ...string) sent {
	t.Helper()
	s := sent{style: harness.Styles[p.client], mark: m.marked()}
	list := []string{strings.ReplaceAll(members, "MARK", s.mark)}
	if stream {
		list = append(list, `"stream":true`, s.style.IncludeUsage())
	}
	s.Response = m.Call(t, "POST", s.style.Path, s.style.RequestWith("matrix/"+p.upstream, list...), append([]string{"X-Error-Status", "standard"}, headers...)...)
	s.record = m.recorded(t, s.Header.Get("X-Request-Id"))
	return s
}

// recorded waits for the usage record of a call. A call that was refused before it was admitted has none.
func (m *matrix) recorded(t *testing.T, requestID string) (r matrixRecord) {
	t.Helper()
	const query = `select cost_nanos, outcome, estimated, streamed, style, coalesce(meters[1], 0) as input_tokens,
		coalesce(meters[2], 0) as cache_read_tokens, coalesce(meters[4], 0) as output_tokens, coalesce(meters[5], 0) as reasoning_tokens from usage_records where request_id = $1`
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err := m.store.Get(&r, query, requestID); err == nil {
			return r
		}
	}
	return matrixRecord{Outcome: "unrecorded"}
}

// arrival is what the simulator remembers of a request.
type arrival struct {
	Path     string      `json:"path"`
	Provider string      `json:"provider"`
	Header   http.Header `json:"header"`
	Body     string      `json:"body"`
}

// arrived are the requests with the mark that reached a provider.
func (m *matrix) arrived(t *testing.T, mark string) []arrival {
	t.Helper()
	return harness.DecodeJSON[struct {
		Requests []arrival `json:"requests"`
	}](t, m.CallSimulator(t, "GET", "/_control/requests?text="+url.QueryEscape(mark), "")).Requests
}

// reached is the only request that a call made, which went to the provider of its pair.
func (m *matrix) reached(t *testing.T, p pair, s *sent) arrival {
	t.Helper()
	list := m.arrived(t, s.mark)
	if len(list) != 1 || list[0].Provider != "m-"+p.upstream {
		t.Fatalf("%d requests reached a provider: %+v", len(list), list)
	}
	return list[0]
}

// answered reads the text of a call that must have been answered, and compares what it shows, costs and has recorded.
func (m *matrix) answered(t *testing.T, p pair, stream bool, s *sent) string {
	t.Helper()
	want := map[bool]string{false: "application/json", true: "text/event-stream"}[stream]
	if got := s.Header.Get("Content-Type"); s.Status != http.StatusOK || !strings.HasPrefix(got, want) {
		t.Fatalf("status %d, content type %q: %s", s.Status, got, s.Body)
	}
	for _, inner := range []string{"upstream-", "m-" + p.upstream + "/"} {
		if strings.Contains(s.Body, inner) {
			t.Errorf("the answer tells of %q: %s", inner, s.Body)
		}
	}
	k := s.record
	if cost := k.In*nanosIn + k.Read*nanosRead + (k.Out+k.Thought)*nanosOut; k.Cost != cost || cost == 0 || harness.ShownCost(t, s.Body) != cost ||
		k.Outcome != "succeeded" || k.Streamed != stream || k.Style != p.client {
		t.Errorf("recorded is %+v, which costs %d: %s", k, cost, s.Body)
	}
	if stream {
		frames := s.style.Frames(t, s.Body)
		s.style.CheckEnd(t, frames)
		return s.style.Text(t, frames)
	}
	answer := s.style.ReadAnswer(t, harness.DecodeObject(t, s.Body))
	if answer.Model != "matrix/"+p.upstream {
		t.Errorf("the answer is said to be of %q", answer.Model)
	}
	return answer.Text
}

func modeOf(stream bool) string { return map[bool]string{false: "json", true: "stream"}[stream] }

// TestMatrix runs all parts against one gateway, whose books must balance in the end.
func TestMatrix(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	before := m.DemoBalance(t)
	t.Run("pairs", func(t *testing.T) {
		for name, part := range map[string]func(*matrix, *testing.T){
			"answers":    testMatrixAnswers,
			"behaviors":  testMatrixBehaviors,
			"signatures": testMatrixSignatures,
			"errors":     testMatrixErrors,
			"images":     testMatrixImages,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				part(m, t)
			})
		}
	})
	after := m.DemoBalance(t)
	var spent int64
	if err := m.store.Get(&spent, `select coalesce(sum(cost_nanos), 0) from usage_records`); err != nil {
		t.Fatal(err)
	}
	if before.Posted-after.Posted != spent || after.Held != 0 || spent == 0 {
		t.Errorf("%d nano-dollars were recorded, the balance went from %+v to %+v", spent, before, after)
	}
	m.CheckLedger(t)
}

// testMatrixAnswers asks one question in every pair, as JSON and as a stream: the same text, the same usage and the same cost, and a
// provider that gets its own credential and no header of the client but those of its style.
func testMatrixAnswers(m *matrix, t *testing.T) {
	var first matrixRecord
	for _, p := range pairs() {
		for _, stream := range []bool{false, true} {
			t.Run(p.String()+"/"+modeOf(stream), func(t *testing.T) {
				s := m.send(t, p, stream, conversations[p.client], "Vendorb-Version", "2026-10-21", "Vendorb-Beta", "one,two", "Cookie", "a=b", "X-Trace", "7")
				if text := m.answered(t, p, stream, &s); text != nastyText {
					t.Errorf("the text is %q", text)
				}
				if lost := s.Header.Get("X-Gateway-Dropped"); lost != "" {
					t.Errorf("something was lost: %s", lost)
				}
				k := s.record
				if k.Style, k.Streamed = "", false; first.Cost == 0 {
					first = k
				}
				if k != first || k.Read == 0 || k.Estimated {
					t.Errorf("recorded is %+v here and %+v elsewhere", k, first)
				}
				got := m.reached(t, p, &s)
				if streams := strings.Contains(got.Body, `"stream":true`) || strings.HasSuffix(got.Path, ":streamGenerateContent"); streams != stream {
					t.Errorf("the provider was asked for a stream: %t", streams)
				}
				headersReached(t, p, got.Header)
			})
		}
	}
}

// headersReached compares the headers that a provider got with the few that it may get.
func headersReached(t *testing.T, p pair, h http.Header) {
	t.Helper()
	credential := map[string]string{"messages": "X-Api-Key", "native": "X-Goog-Api-Key"}[p.upstream]
	own := hashedCredential
	if credential == "" {
		credential, own = "Authorization", "Bearer "+own
	}
	want := map[string]string{credential: own, "Content-Type": "application/json"}
	if p.upstream == "messages" {
		want["Vendorb-Version"], want["Anthropic-Version"] = "2023-06-01", "2023-06-01"
		if p.client == "messages" {
			want["Vendorb-Version"], want["Anthropic-Version"] = "2026-10-21", "2026-10-21"
			want["Vendorb-Beta"], want["Anthropic-Beta"] = "one,two", "one,two"
		}
	}
	for name, value := range want {
		if got := h.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("%s is %q, not %q", name, got, value)
		}
	}
	for name := range h {
		if want[name] == "" && !slices.Contains([]string{"Accept", "Accept-Encoding", "Content-Length", "User-Agent"}, name) {
			t.Errorf("the provider got the header %s: %q", name, h.Values(name))
		}
	}
}
