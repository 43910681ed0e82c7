package gateway_test

import (
	"context"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/ratelimit"
)

// TestEveryWayGivesItsSlotBack makes calls that end in every way there is, one after the other, for an account that may
// make one at a time: each must find the place free.
func TestEveryWayGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	ends := []struct {
		fault  string
		asked  asked
		leaves bool
	}{
		{asked: asked{prompt: "count to 9"}},
		{asked: asked{prompt: "count to 9", more: members{"temperature": 9}}},
		{asked: asked{prompt: "count to 9", choices: 2}},
		{fault: "status=500"}, {fault: "status=422"}, {fault: "stall-after=3t", leaves: true}, {fault: "pace=5ms", asked: asked{prompt: "count to 900"}, leaves: true},
		{fault: "cut-after=3t"}, {fault: "error-in-200"}, {fault: "truncated-json"}, {fault: "endless", asked: asked{bound: 20}}, {fault: "usage=huge"},
	}
	eachStyleBothForms(t, 1, all, func(b *bench, client, upstream llm.Style, stream bool) {
		for _, end := range ends {
			if end.fault != "" {
				b.fault("alpha", end.fault)
			}
			a := end.asked
			if a.prompt == "" {
				a.prompt = "say 9 words"
			}
			a.stream = stream
			c := b.styledCall(client, on(upstream), a)
			c.Key = ratelimit.Key{ID: "key_one", Concurrency: 1}
			ctx, leave := context.WithCancel(t.Context())
			s := &sink{}
			if end.leaves && !stream {
				leave()
			} else if end.leaves {
				s.hook = func([]byte) error { leave(); return nil }
			}
			_, err := b.gateway.Generate(ctx, c, s)
			leave()
			if e := app.AsError(err); e != nil && e.Code == "max_concurrency_exceeded" {
				t.Fatalf("%q: the call before still has its place", end.fault)
			}
			b.control("DELETE", "faults", nil)
			if _, err := b.gateway.CountTokens(t.Context(), gateway.Call{Principal: c.Principal, Style: client, Body: c.Body, Key: c.Key}); err != nil {
				if e := app.AsError(err); e.Code == "max_concurrency_exceeded" {
					t.Fatalf("%q: the call before still has its place when it is counted", end.fault)
				}
			}
		}
		if held := b.reserved(); held != 0 {
			t.Errorf("%s are still held", held)
		}
	})
}
