package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
)

// listPrice is an upstream of the messages style that does what a request asks for and says in its usage what that costs. It
// adds up the list price of all its answers: searches at $10 a thousand, cache writes at 1.25 or 2 times the input, and each
// pass over a conversation that it compacts.
type listPrice struct {
	mu     sync.Mutex
	worth  app.Amount
	bodies []string
	header []http.Header
}

func (p *listPrice) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body := string(raw)
	usage := map[string]any{"input_tokens": 100, "output_tokens": 50}
	worth := app.Amount(100*3000 + 50*15000)
	if strings.Contains(body, `"cache_control"`) {
		const write = int64(4000)
		worth += 4000 * 3750
		usage["cache_creation_input_tokens"] = write
		usage["cache_creation"] = map[string]any{"ephemeral_5m_input_tokens": write, "ephemeral_1h_input_tokens": 0}
		if strings.Contains(body, `"1h"`) {
			worth += 4000 * (6000 - 3750)
			usage["cache_creation"] = map[string]any{"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": write}
		}
	}
	if strings.Contains(body, "web_search_20260318") {
		worth += 9 * app.Dollar / 100
		usage["server_tool_use"] = map[string]any{"web_search_requests": 9}
	}
	if strings.Contains(body, "compact_20260112") {
		worth += 120_000*3000 + 4000*15000
		usage["iterations"] = []any{
			map[string]any{"type": "compaction", "input_tokens": 120_000, "output_tokens": 4000},
			map[string]any{"type": "message", "input_tokens": 100, "output_tokens": 50},
		}
	}
	p.mu.Lock()
	p.worth += worth
	p.bodies, p.header = append(p.bodies, body), append(p.header, r.Header.Clone())
	p.mu.Unlock()
	told, _ := json.Marshal(usage)
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"up-messages","content":[{"type":"text","text":"%s"}],`+
		`"stop_reason":"end_turn","stop_sequence":null,"usage":%s}`, strings.Repeat("word ", 40), told)
}

// charged makes a call of the messages style and holds its cost against what the upstream's answers were worth.
func (p *listPrice) charged(b *bench, body string) *sink {
	b.t.Helper()
	b.answerWith(p)
	call := gateway.Call{
		ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: llm.Messages,
		Headers: http.Header{"Vendorb-Beta": {"extended-cache-ttl-2025-04-11, interleaved-thinking-2025-05-14,compact-2026-01-12"}},
		Body:    []byte(body),
	}
	r, s, err := b.generate(call)
	must(b.t, err)
	if p.worth != r.Cost {
		b.t.Errorf("charged %s for what costs %s; the upstream got %s", r.Cost, p.worth, p.bodies)
	}
	b.settled(r.Cost)
	return s
}

func TestASearchBesideACacheOfAnHourCostsWhatItIsWorth(t *testing.T) {
	t.Parallel()
	b, p := setup(t, startMoney), &listPrice{}
	s := p.charged(b, `{"model":"test/on-messages","max_tokens":500,"system":[{"type":"text","text":"`+strings.Repeat("long ", 3000)+
		`","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":"What is new?"}],`+
		`"tools":[{"name":"read","input_schema":{"type":"object"}},{"type":"web_search_20260318","name":"web_search","max_uses":9}]}`)
	if got, want := s.header.Get("X-Gateway-Dropped"), "cache_control.ttl,tools[1] (web_search_20260318),vendorb-beta (compact-2026-01-12),"+
		"vendorb-beta (extended-cache-ttl-2025-04-11)"; got != want {
		t.Errorf("listed as dropped: %q, want %q", got, want)
	}
}

func TestACompactionCostsWhatItIsWorth(t *testing.T) {
	t.Parallel()
	b, p := setup(t, startMoney), &listPrice{}
	s := p.charged(b, `{"model":"test/on-messages","max_tokens":500,"messages":[{"role":"user","content":"Go on."}],"context_management":`+
		`{"edits":[{"type":"clear_tool_uses_20250919"},{"type":"compact_20260112","trigger":{"type":"input_tokens","value":50000}}]}}`)
	if got := s.header.Get("X-Gateway-Dropped"); !strings.Contains(got, "context_management.edits[1] (compact_20260112)") {
		t.Errorf("listed as dropped: %q", got)
	}
	if !strings.Contains(p.bodies[0], `"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`) {
		t.Errorf("the upstream got %s", p.bodies[0])
	}
}
