package gateway_test

import (
	"context"
	"errors"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/ratelimit"
	"umg/billing"
)

// TestCreditIsAskedForTheSmallestCall looks at what is asked of the books before a body is read, and what a refusal leaves.
func TestCreditIsAskedForTheSmallestCall(t *testing.T) {
	t.Parallel()
	var asked []billing.HoldRequest
	var answer error
	b := setup(t, app.Dollar, func(o *gateway.Options) {
		o.Credit = func(_ context.Context, q billing.HoldRequest) error {
			asked = append(asked, q)
			return answer
		}
	})
	b.options.Balance = b.ledger.Balance
	g := gateway.New(b.options)
	arrival := gateway.AdmissionRequest{ID: "req_1", Work: gateway.TextWork, Principal: app.Principal{AccountID: b.account, BudgetID: "key_1"}, BodyBytes: 10}
	admitted, _, err := g.Admit(t.Context(), arrival)
	if err != nil || len(asked) != 1 {
		t.Fatalf("%v, the books were asked %d times", err, len(asked))
	}
	quote, err := g.Quote(t.Context(), gateway.Call{
		Principal: arrival.Principal, Style: llm.Chat, Body: []byte(`{"model":"test/one","max_tokens":1,"messages":[{"role":"user","content":""}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	q := asked[0]
	if q.AccountID != b.account || q.BudgetID != "key_1" || q.Min != q.Want || q.Min <= 0 || q.Min > quote.LeastReserve || q.Min < quote.LeastReserve/4 {
		t.Errorf("the books are asked for %+v, and the smallest call holds %s", q, quote.LeastReserve)
	}
	places := func() int64 {
		return b.limits.Peek([]ratelimit.Request{{AccountID: b.account, Model: "test/one"}})[0].Account.Places.Remaining
	}
	if n := places(); n != ratelimit.ConcurrencyStandard-1 {
		t.Errorf("%d places are free while the call is there", n)
	}
	admitted.Release(10)
	for what, c := range map[string]struct {
		models []string
		work   gateway.Work
		answer error
		asks   int
		kind   app.Kind // A zero kind means that the call is admitted.
	}{
		"a key for one model":        {models: []string{"test/one"}, work: gateway.TextWork, asks: 1},
		"a key for no model":         {models: []string{"test/unheard-of", "test/coming"}, work: gateway.TextWork},
		"no model of the kind":       {work: gateway.VideoWork},
		"a dry run":                  {work: gateway.CheckWork},
		"a look":                     {work: gateway.ReadWork},
		"a change":                   {work: gateway.ChangeWork},
		"too little credit":          {work: gateway.TextWork, answer: app.Errorf(app.Unfunded, "insufficient_quota", "x"), asks: 1, kind: app.Unfunded},
		"a frozen account":           {work: gateway.TextWork, answer: app.Errorf(app.Forbidden, "account_frozen", "x"), asks: 1, kind: app.Forbidden},
		"books that are away":        {work: gateway.TextWork, answer: app.ErrStore(errors.New("away")), asks: 1},
		"a caller who leaves for it": {work: gateway.TextWork, answer: app.Errorf(app.Canceled, "canceled", "x"), asks: 1},
	} {
		asked, answer = nil, c.answer
		arrival.Work, arrival.Principal.Models = c.work, c.models
		admitted, _, err := g.Admit(t.Context(), arrival)
		if len(asked) != c.asks || (err != nil) != (c.kind != 0) || err != nil && app.KindOf(err) != c.kind {
			t.Errorf("%s: %v, the books were asked %d times", what, err, len(asked))
		}
		admitted.Release(0)
		if n := places(); n != ratelimit.ConcurrencyStandard {
			t.Errorf("%s: %d places are free", what, n)
		}
	}
}

// TestAPersonHasARateOfTheirOwn lets people look and change beside an account whose programs have used up its rates.
func TestAPersonHasARateOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, app.Dollar, func(o *gateway.Options) { o.Rates = gateway.StandardRates(0, 20, 10, 0) })
	g := gateway.New(b.options)
	for _, c := range []struct {
		name   string
		user   string
		factor int
		work   gateway.Work
		passed int
	}{
		{"reads", "user_1", 1, gateway.ReadWork, 20}, {"changes", "user_1", 1, gateway.ChangeWork, 10},
		{"reads of another", "user_2", 0, gateway.ReadWork, 20}, {"reads with a factor", "user_3", 2, gateway.ReadWork, 40},
	} {
		passed := 0
		for range 60 {
			err := g.AdmitPerson(c.user, c.factor, c.work)
			if err == nil {
				passed++
			} else if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Exhausted || e.RetryAfter <= 0 {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		if passed != c.passed {
			t.Errorf("%s: %d of 60 pass, want %d", c.name, passed, c.passed)
		}
	}
	if _, _, err := g.Admit(t.Context(), gateway.AdmissionRequest{Work: gateway.ReadWork, Principal: app.Principal{AccountID: "user_1"}}); err != nil {
		t.Errorf("the account has what its person used: %v", err)
	}
}
