package money

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/e2e/harness"
)

// TestAPICostLeavesTheBalance is the one promise of the product in its smallest form: balance before, minus the cost
// that was shown, is the balance after, to the nano-dollar.
func TestAPICostLeavesTheBalance(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "exact")
	before := c.SettledBalance(t, c.AccountID)
	var shown int64
	for range 3 {
		done := harness.DecodeCompletion(t, c.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: exactly")))
		shown += harness.Nanos(t, string(done.Usage.Cost))
		a := c.Call(t, "POST", "/v1/chat/completions",
			harness.ChatRequest(harness.CheapModel, "count to 30", `"stream":true`, `"stream_options":{"include_usage":true}`))
		shown += harness.StreamCost(t, a.Body)
	}
	// Trial credit is never leased to a replica, so there is none to give back.
	for deadline := time.Now().Add(harness.ShortWaitMax); ; time.Sleep(5 * time.Millisecond) {
		if b, _ := c.BalanceNow(t, c.AccountID); b.Held == 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d nano-dollars of trial credit stay held", b.Held)
		}
	}
	after := c.SettledBalance(t, c.AccountID)
	if shown == 0 || before.Posted-after.Posted != shown || after.Held != 0 {
		t.Errorf("before %+v, shown %d, after %+v", before, shown, after)
	}
	c.CheckLedger(t)
}

// holdOf is what a call reserves, learned from one that the demo's own account pays for.
func holdOf(t *testing.T, g *harness.Gateway, body string) int64 {
	t.Helper()
	a := g.Call(t, "POST", "/v1/chat/completions", body)
	if a.Status != http.StatusOK {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	return g.UsageRecord(t, a.Header.Get("X-Request-Id")).Reserved
}

// TestAPIOverspend fills a balance of exactly ten holds with a hundred calls at once, while the upstream answers
// no call: ten are admitted, ninety are refused for lack of credit, and the balance falls by the holds of the ten.
func TestAPIOverspend(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	c := g.NewCustomerWithoutCredit(t, "overspend")
	c.SetLimits(t, 1000)
	body := func(i int) string {
		return harness.ChatRequest(harness.CheapModel, fmt.Sprintf("echo: call %03d", i), `"max_tokens":100`)
	}

	c.SetAvailable(t, 10*holdOf(t, g, body(0)))
	start := c.SettledBalance(t, c.AccountID)

	g.CallSimulator(t, "POST", "/_control/hold", "")
	answers := make([]harness.Response, 100)
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	var refused, all sync.WaitGroup
	refused.Add(90)
	for i := range answers {
		all.Go(func() {
			a, err := c.TryCall(ctx, "POST", "/v1/chat/completions", body(i), "X-Error-Status", "standard")
			if err != nil {
				t.Error(err)
			}
			answers[i] = a
			if a.Status != http.StatusOK {
				refused.Done()
			}
		})
	}
	g.CallSimulator(t, "GET", "/_control/waiting?at_least=10&timeout=20s", "")
	refused.Wait()
	if b, _ := c.BalanceNow(t, c.AccountID); b.Posted != b.Held {
		t.Errorf("ten holds do not fill the balance: %+v", b)
	}
	g.CallSimulator(t, "POST", "/_control/release", "")
	all.Wait()

	var succeeded, unfunded int
	var shown int64
	for _, a := range answers {
		switch a.Status {
		case http.StatusOK:
			succeeded++
			shown += harness.Nanos(t, string(harness.DecodeCompletion(t, a).Usage.Cost))
		case http.StatusPaymentRequired:
			f := harness.DecodeChatError(t, a.Body)
			if f.Code == 402 && f.Error.Code == "insufficient_quota" && f.Error.Type == "insufficient_quota" &&
				a.Header.Get("X-Should-Retry") == "false" {
				unfunded++
			}
		default:
			t.Errorf("status %d: %s", a.Status, a.Body)
		}
	}
	after := c.SettledBalance(t, c.AccountID)
	if succeeded != 10 || unfunded != 90 || after.Posted != start.Posted-shown || after.Held != 0 {
		t.Errorf("%d succeeded, %d unfunded, balance %+v → %+v, shown %d", succeeded, unfunded, start, after, shown)
	}
	c.CheckLedger(t)
}

func TestAPINoCredit(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	c := g.NewCustomerWithoutCredit(t, "poor")
	a := c.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: x"), "X-Error-Status", "documented")
	if f := harness.DecodeChatError(t, a.Body); a.Status != http.StatusOK || f.Code != 402 || f.Error.Code != "insufficient_quota" ||
		a.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
	if got := g.UpstreamBodies(t, "echo: x"); strings.Contains(got, "echo: x") {
		t.Error("an unfunded call reached the upstream")
	}
}

// TestAPIConcurrencyLimit holds every call back at the upstream until one is refused.
func TestAPIConcurrencyLimit(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	c := g.NewCustomer(t, "busy")
	g.CallSimulator(t, "POST", "/_control/hold", "")
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if _, err := c.TryCall(ctx, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, fmt.Sprint("echo: ", i))); err != nil {
				t.Error(err)
			}
		})
	}
	g.CallSimulator(t, "GET", "/_control/waiting?at_least=16&timeout=20s", "")
	a := c.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: one too many"), "X-Error-Status", "documented")
	if f := harness.DecodeChatError(t, a.Body); a.Status != http.StatusOK || f.Code != 429 || f.Error.Code != "max_concurrency_exceeded" ||
		f.Error.Type != "rate_limit_error" {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
	standard := c.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: one too many"), "X-Error-Status", "standard")
	if standard.Status != http.StatusTooManyRequests || standard.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, %v", standard.Status, standard.Header)
	}
	g.CallSimulator(t, "POST", "/_control/release", "")
	all.Wait()
	harness.DecodeCompletion(t, c.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: free again")))
}
