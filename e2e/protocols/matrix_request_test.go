package protocols

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// sampled are the wishes of question.samples, as each style writes them; what a style lacks has no place in it.
var sampled = []struct {
	name string
	// said has the expected part of the upstream's request, by the upstream's style.
	said map[string]string
	// lost has, for each style of client, the parameter that the error names when the upstream's style cannot express it.
	lost map[string]string
}{
	{"temperature", map[string]string{"chat": `"temperature":0.25`, "messages": `"temperature":0.25`, "responses": `"temperature":0.25`,
		"native": `"temperature":0.25`}, nil},
	{"top_p", map[string]string{"chat": `"top_p":0.5`, "messages": `"top_p":0.5`, "responses": `"top_p":0.5`, "native": `"topP":0.5`}, nil},
	{"top_k", map[string]string{"messages": `"top_k":9`, "native": `"topK":9`},
		map[string]string{"messages": "top_k", "native": "generationConfig.topK"}},
	{"seed", map[string]string{"chat": `"seed":7`, "native": `"seed":7`},
		map[string]string{"chat": "seed", "native": "generationConfig.seed"}},
	{"presence penalty", map[string]string{"chat": `"presence_penalty":0.125`, "native": `"presencePenalty":0.125`},
		map[string]string{"chat": "presence_penalty", "native": "generationConfig.presencePenalty"}},
	{"end user", map[string]string{"chat": `"user":"customer-42"`, "messages": `"metadata":{"user_id":"customer-42"}`,
		"responses": `"safety_identifier":"customer-42"`},
		map[string]string{"chat": "user", "messages": "metadata.user_id", "responses": "safety_identifier"}},
	{"metadata", map[string]string{"chat": `"metadata":{"trace":"t-1"}`, "responses": `"metadata":{"trace":"t-1"}`,
		"native": `"labels":{"trace":"t-1"}`},
		map[string]string{"chat": "metadata", "responses": "metadata", "native": "labels"}},
}

// testMatrixRequests looks at what an upstream gets in addition to the conversation: every parameter in its own words, a list of
// the others for the client, the headers that it knows and the gateway's own credential.
func testMatrixRequests(m *matrix, t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			q := question{model: p.model(), samples: true, limit: 9, turns: says("echo: x")}
			if p.client.style == "responses" || p.upstream.style == "responses" {
				// The style accepts no smaller limit.
				q.limit = 16
			}
			s := m.send(t, p.client, q, "Vendorb-Version", "2026-10-21", "Vendorb-Beta", "one,two", "Cookie", "a=b", "X-Trace", "7")
			if s.Status != http.StatusOK {
				t.Fatalf("status %d: %s", s.Status, s.Body)
			}
			m.reached(t, p, &q, s.mark)
			got := m.arrived(t, s.mark)[0]
			var lost []string
			for _, one := range sampled {
				from, to := one.said[p.client.style], one.said[p.upstream.style]
				switch {
				case from == "" || to == "":
					if to != "" && strings.Contains(got.Body, to) {
						t.Errorf("the request did not ask for %s: %s", one.name, got.Body)
					}
					if from != "" {
						lost = append(lost, one.lost[p.client.style])
					}
				case !strings.Contains(got.Body, to):
					t.Errorf("%s did not arrive as %s: %s", one.name, to, got.Body)
				}
			}
			told := strings.FieldsFunc(s.Header.Get("X-Gateway-Dropped"), func(r rune) bool { return r == ',' || r == ' ' })
			slices.Sort(told)
			slices.Sort(lost)
			if !slices.Equal(told, lost) {
				t.Errorf("told are %q, lost are %q", told, lost)
			}
			headersReached(t, p, got.Header)
		})
		if p.upstream.style == "responses" && p.client.style != "responses" {
			t.Run(p.String()+"/least bound", func(t *testing.T) { m.leastBound(t, p) })
		}
	}
}

// leastBound asks for fewer tokens than the upstream's style can say.
func (m *matrix) leastBound(t *testing.T, p pair) {
	t.Parallel()
	_, s := m.ask(t, p.client, question{model: p.model(), limit: 3, turns: says("echo: x")})
	m.reached(t, p, &question{limit: 16}, s.mark)
}

// headersReached holds the headers that an upstream got against the few it may get.
func headersReached(t *testing.T, p pair, h http.Header) {
	t.Helper()
	sum := sha256.Sum256([]byte("simulated"))
	own := "sha256:" + hex.EncodeToString(sum[:])
	credential := map[string]string{"messages": "X-Api-Key", "native": "X-Goog-Api-Key"}[p.upstream.style]
	if credential == "" {
		credential, own = "Authorization", "Bearer "+own
	}
	want := map[string]string{credential: own, "Content-Type": "application/json"}
	if p.upstream.style == "messages" {
		want["Vendorb-Version"], want["Anthropic-Version"] = "2023-06-01", "2023-06-01"
		if p.client.style == "messages" {
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
			t.Errorf("the upstream got the header %s: %q", name, h.Values(name))
		}
	}
}
