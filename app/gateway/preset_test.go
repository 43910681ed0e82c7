package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
)

// cloudCall is a request that a provider with a preset got.
type cloudCall struct {
	uri    string
	body   map[string]any
	header http.Header
}

// cloud answers in the messages style and records what it gets.
func cloud(t *testing.T, got chan<- cloudCall) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		c := cloudCall{uri: r.RequestURI, header: r.Header}
		if err := json.Unmarshal(raw, &c.body); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		got <- c
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"Hello"}],`+
			`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":2}}`)
	})
}

// TestAProviderMayTakeTrialFeaturesInItsBody makes calls of two styles to a provider whose preset says that the model is in the path, and
// the version and the trial features are in the body.
func TestAProviderMayTakeTrialFeaturesInItsBody(t *testing.T) {
	t.Parallel()
	b, got := setup(t, startMoney), make(chan cloudCall, 3)
	b.answerWith(cloud(t, got))
	messages := b.styledCall(llm.Messages, "test/on-cloud", asked{prompt: "Hi", bound: 9})
	messages.Headers = http.Header{
		"Vendorb-Version": {"2023-06-01"}, "Vendorb-Beta": {"interleaved-thinking-2025-05-14, compact-2026-01-12", "interleaved-thinking-2025-05-14"},
	}
	chat := b.styledCall(llm.Chat, "test/on-cloud", asked{prompt: "Hi"})
	for _, c := range []struct {
		call    gateway.Call
		betas   []any
		dropped string
	}{
		{messages, []any{"interleaved-thinking-2025-05-14"}, "vendorb-beta (compact-2026-01-12)"},
		{chat, nil, ""},
	} {
		_, s, err := b.generate(c.call)
		must(t, err)
		sent := <-got
		_, hasModel := sent.body["model"]
		_, hasStream := sent.body["stream"]
		betas, _ := sent.body["anthropic_beta"].([]any)
		if sent.uri != "/model/arn:aws:bedrock:a%2Fb/invoke" || hasModel || hasStream || sent.body["anthropic_version"] != "bedrock-2023-05-31" ||
			sent.body["messages"] == nil || !slices.Equal(betas, c.betas) {
			t.Errorf("%s got %s %v", c.call.Style, sent.uri, sent.body)
		}
		for name := range sent.header {
			if strings.HasSuffix(name, "-Beta") || strings.HasSuffix(name, "-Version") && c.call.Style != llm.Messages {
				t.Errorf("%s got the header %s", c.call.Style, name)
			}
		}
		if d := s.header.Get("X-Gateway-Dropped"); d != c.dropped {
			t.Errorf("dropped %q, want %q", d, c.dropped)
		}
	}
	messages.ID = b.ids.New("req")
	if count, err := b.gateway.CountTokens(t.Context(), messages); err != nil || !count.Estimated || len(got) > 0 {
		t.Errorf("%+v %v", count, app.AsError(err))
	}
}
