package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"umg/app"
	"umg/app/llm"
	"umg/billing"
)

// answering is a provider that sends one body.
func answering(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	})
}

// TestALongPromptIsChargedByItsTier sends 300,000 tokens to a model whose price doubles above 200,000, and as many as are just below.
func TestALongPromptIsChargedByItsTier(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for tokens, want := range map[int64]app.Amount{300_000: 750_150_000, 200_001: 500_152_500, 200_000: 250_100_000} {
		b := all.fresh(t)
		b.answerWith(answering(fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":"one two three four"}]},"finishReason":"STOP","index":0}],`+
			`"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":10,"totalTokenCount":%d}}`, tokens, tokens+10)))
		r, _, err := b.generate(b.styledCall(llm.Native, "test/tiers", asked{prompt: strings.Repeat("word ", int(tokens)), bound: 10}))
		b.answerWith(b.sim)
		must(t, err)
		u := b.record()
		if r.Cost != want || r.Reason != billing.ReasonCompleted || u.Overrun != 0 || u.Reserved < want || u.Reserved > 4*want {
			t.Errorf("%d tokens cost %s, want %s, record %+v", tokens, r.Cost, want, u)
		}
		b.settled(want)
	}
}

// TestAMaximumOfExactlyWhatWasUsedIsChargedExactly lets providers count hidden prompts for tools in calls whose maximum is what they use.
func TestAMaximumOfExactlyWhatWasUsedIsChargedExactly(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	tool := `,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]`
	for _, c := range []struct{ input, output int64 }{{633, 75}, {4_658, 12}, {14_100, 1}, {16, 4}} {
		b := all.fresh(t)
		b.answerWith(answering(fmt.Sprintf(`{"id":"c","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":`+
			`{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, c.input, c.output)))
		r, _, err := b.generate(b.call("test/one", "hi", fmt.Sprintf(`,"max_tokens":%d`, c.output)+tool))
		b.answerWith(b.sim)
		must(t, err)
		want := cost(c.input, c.output)
		if u := b.record(); r.Cost != want || r.Reason != billing.ReasonCompleted || u.Overrun != 0 || u.Reserved < want {
			t.Errorf("%d and %d tokens cost %s, want %s, record %+v", c.input, c.output, r.Cost, want, u)
		}
		b.settled(want)
	}
}

// TestLeavingBeforeTheFirstTokenIsCharged leaves when the provider has the request. The input is charged, and no more than it costs.
func TestLeavingBeforeTheFirstTokenIsCharged(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	prompt := strings.Repeat("some words of a prompt ", 200)
	exact, _, err := b.generate(b.call("test/patient", prompt, ""))
	must(t, err)
	b.open(startMoney)
	r := b.leftWaiting(prompt)
	if r.Reason != billing.ReasonClientLeftWaiting || r.Cost == 0 || r.Cost > exact.Cost || r.Usage[0] == 0 {
		t.Errorf("charged %s of %s, report %+v", r.Cost, exact.Cost, r)
	}
	b.settled(r.Cost)
}
