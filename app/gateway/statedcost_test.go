package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"umg/app"
	"umg/billing"
)

// TestTheCostThatAProviderStatesIsThePrice lets a provider whose stated cost is the price state costs. One that is zero, missing or
// higher than the call can cost is not a price, and the card of the model is used.
func TestTheCostThatAProviderStatesIsThePrice(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	byCard := cost(20, 4)
	for name, c := range map[string]struct {
		member string
		want   app.Amount
		stated bool
	}{
		"less than the card":         {`,"cost":0.00001`, 10_000, true},
		"more than the card":         {`,"cost":0.0005`, 500_000, true},
		"a part of a nano-dollar":    {`,"cost":0.0000100001`, 10_001, true},
		"nothing":                    {`,"cost":0`, byCard, false},
		"no word of it":              {``, byCard, false},
		"more than the call can use": {`,"cost":100`, byCard, false},
	} {
		for _, stream := range []bool{false, true} {
			b := all.fresh(t)
			usage := `"usage":{"prompt_tokens":20,"completion_tokens":4,"total_tokens":24` + c.member + `}`
			more := `,"max_tokens":50`
			if stream {
				more += streamed
				b.answerWith(streaming(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":{"role":"assistant","content":"one two"},"finish_reason":"stop"}]}`,
					`{"id":"c","object":"chat.completion.chunk","created":1,"model":"up","choices":[],`+usage+`}`, `[DONE]`))
			} else {
				b.answerWith(answering(`{"id":"c","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":` +
					`{"role":"assistant","content":"one two"},"finish_reason":"stop"}],` + usage + `}`))
			}
			r, said, err := b.generate(b.call("test/stated", "hi", more))
			b.answerWith(b.sim)
			must(t, err)
			u := b.record()
			if r.Cost != c.want || u.Cost != c.want || r.Reason != billing.ReasonCompleted || strings.Contains(u.Flags, billing.FlagProviderPrice) != c.stated {
				t.Errorf("%s, stream %v: cost %s, want %s, record %+v\n%s", name, stream, r.Cost, c.want, u, said.text())
			}
			// What the operator pays is by the cost card in any case: 20 × $2 and 4 × $10 per 1M.
			if u.UpstreamCost == nil || *u.UpstreamCost != 80_000 || u.CostCardID == "" {
				t.Errorf("%s, stream %v: the operator's cost is %v by %q", name, stream, u.UpstreamCost, u.CostCardID)
			}
			b.settled(c.want)
		}
	}
}

// streaming is a provider that sends the frames of a stream.
func streaming(frames ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, frame := range frames {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", frame)
		}
	})
}
