package protocols

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"umg/e2e/harness"
)

// The matrix: every style of a client against every style of an upstream, through the built server and the simulator.
// What is asked is a table; see matrixCases. A few questions are asked in every cell, each other one in eight cells. One model for each
// style of upstream has the same prices, so that a call costs the same in every cell.

// matrix is a gateway with one model for each style of upstream.
type matrix struct {
	*harness.Gateway
	schemas published
	store   *sqlx.DB
	marks   atomic.Int64
}

// The prices of all models, in nano-dollars a token.
const (
	nanosIn   = 3000
	nanosRead = 300
	nanosOut  = 15000
)

// matrixOutputMax is the most output of the models, which a call gets that names no bound.
const matrixOutputMax = 16000

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{Gateway: harness.StartDemo(t, "--token-interval", "0s"), schemas: loadPublished(t)}
	m.store = m.DB(t)
	var providers, models strings.Builder
	for _, up := range wires {
		base, credential := "v1", "authorization"
		switch up.style {
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
`, up.style, base, credential)
		fmt.Fprintf(&models, `  - id: matrix/%[1]s
    name: Matrix %[1]s
    owner: matrix
    kind: text
    capabilities: [text]
    input: [text, image]
    output: [text]
    context_tokens: 128000
    max_output_tokens: %[2]d
    styles: [chat, messages, responses, native]
    parameters: [temperature, top_p, presence_penalty, stop, seed, tools, tool_choice, response_format, structured_outputs,
      reasoning_effort]
    availability: available
    rates: {input_tokens: 3 per 1M, cache_read_tokens: 0.30 per 1M, output_tokens: 15 per 1M}
    limits: {requests_per_minute: 100000, tokens_per_minute: 100000000}
    released: 2026-01-01
    routes:
      - {provider: m-%[1]s, model: upstream-%[1]s-7, style: %[1]s, order: 1, weight: 1}
`, up.style, matrixOutputMax)
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

// sent is one call and all that is known of it afterwards.
type sent struct {
	harness.Response

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
	Finish    string `db:"finish_reason"`
	In        int64  `db:"input_tokens"`
	Read      int64  `db:"cache_read_tokens"`
	Out       int64  `db:"output_tokens"`
	Thought   int64  `db:"reasoning_tokens"`
}

// send asks a question. The system text gets a mark, of the same tokens for all, by which the upstream's record of
// the call is found again.
func (m *matrix) send(t *testing.T, w *wire, q question, headers ...string) sent {
	t.Helper()
	mark := fmt.Sprintf("mark%06d", m.marks.Add(1))
	q.system = strings.TrimSpace(q.system + " " + mark)
	a := m.Call(t, "POST", w.path, q.body(w), append([]string{"X-Error-Status", "standard"}, headers...)...)
	return sent{Response: a, mark: mark, record: m.recorded(t, a.Header.Get("X-Request-Id"))}
}

// recorded waits for the usage record of a call. A call that was refused before it was admitted has none.
func (m *matrix) recorded(t *testing.T, requestID string) (r matrixRecord) {
	t.Helper()
	const query = `select cost_nanos, outcome, estimated, streamed, style, finish_reason, coalesce(meters[1], 0) as input_tokens,
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

// arrived are the requests with the mark that reached an upstream.
func (m *matrix) arrived(t *testing.T, mark string) []arrival {
	t.Helper()
	return harness.DecodeJSON[struct {
		Requests []arrival `json:"requests"`
	}](t, m.CallSimulator(t, "GET", "/_control/requests?text="+url.QueryEscape(mark), "")).Requests
}

// ask sends a question that must be answered, and reads the answer.
func (m *matrix) ask(t *testing.T, w *wire, q question) (reply, sent) {
	t.Helper()
	s := m.send(t, w, q)
	want, read := "application/json", w.answer
	if q.stream {
		want, read = "text/event-stream", w.stream
	}
	if got := s.Header.Get("Content-Type"); s.Status != http.StatusOK || !strings.HasPrefix(got, want) {
		t.Fatalf("status %d, content type %q: %s", s.Status, got, s.Body)
	}
	r := read(m, t, s.Body)
	if r.model != q.model {
		t.Errorf("the answer is said to be of %q", r.model)
	}
	for _, inner := range []string{"upstream-", "m-" + strings.TrimPrefix(q.model, "matrix/") + "/"} {
		if strings.Contains(s.Body, inner) {
			t.Errorf("the answer tells of %q: %s", inner, s.Body)
		}
	}
	m.priced(t, &r, &s)
	return r, s
}

// priced holds the price that was shown against the usage that was shown and against the ledger.
func (m *matrix) priced(t *testing.T, r *reply, s *sent) {
	t.Helper()
	u, cost := r.tokens, harness.Nanos(t, r.cost)
	if want := (u.in-u.read-u.written)*nanosIn + u.read*nanosRead + u.written*nanosIn + u.out*nanosOut; cost != want || cost == 0 {
		t.Errorf("%+v cost %d, not %d nano-dollars", u, cost, want)
	}
	if k := s.record; k.Cost != cost || k.In+k.Read != u.in || k.Read != u.read || k.Out+k.Thought != u.out || k.Outcome != "succeeded" {
		t.Errorf("shown are %+v and %d nano-dollars, recorded is %+v", u, cost, k)
	}
}

// pair is a cell of the matrix.
type pair struct{ client, upstream *wire }

func (p pair) String() string { return p.client.style + "→" + p.upstream.style }

func (p pair) model() string { return "matrix/" + p.upstream.style }

func (p pair) straight() bool { return p.client == p.upstream }

// pairs are all cells.
func pairs() []pair {
	var all []pair
	for _, client := range wires {
		for _, upstream := range wires {
			all = append(all, pair{client, upstream})
		}
	}
	return all
}

// oncePerStyle are eight cells: every style passed through, and four translations in which every style is once the client's and once the
// upstream's. Most questions are asked only there: how a style is read and written does not depend on the other one, and app/dialect
// tests it in depth.
func oncePerStyle() []pair {
	var all []pair
	for i, client := range wires {
		all = append(all, pair{client, client}, pair{client, wires[(i+1)%len(wires)]})
	}
	return all
}

// cells are all cells for a case that runs in every pair, and eight for any other.
func cells(everyPair bool) []pair {
	if everyPair {
		return pairs()
	}
	return oncePerStyle()
}

func modeOf(stream bool) string { return map[bool]string{false: "json", true: "stream"}[stream] }

// TestMatrix runs all parts against one gateway, whose books must balance in the end.
func TestMatrix(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	before := m.DemoBalance(t)
	t.Run("cells", func(t *testing.T) {
		for name, part := range map[string]func(*matrix, *testing.T){
			"answers":    testMatrixAnswers,
			"signatures": testMatrixSignatures,
			"requests":   testMatrixRequests,
			"stops":      testMatrixStops,
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
