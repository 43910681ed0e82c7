package faults

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// repeatedCrash is a moment at which the process dies under a call with an Idempotency-Key, and what the repetition gets when
// the process is back.
type repeatedCrash struct {
	at     string
	stream bool
	status int
	// replay is true when the retry gets the answer of the first call.
	replay bool
	// charged is the number of calls that are charged in the end.
	charged int
	// known is true when the key had its answer before the crash, so that the retry does not wait.
	known bool
}

var repeatedCrashes = []repeatedCrash{
	{at: "C2:1", status: 200, charged: 1},
	{at: "C3:1", status: 200, charged: 1},
	// The answer was stored and not charged yet. The gateway does not charge for it, so that no call is charged twice.
	{at: "C5:1", status: 200, replay: true, charged: 0},
	{at: "C7:1", status: 200, replay: true, charged: 1},
	{at: "C9:1", status: 200, replay: true, charged: 1, known: true},
	{at: "C3:1", stream: true, status: 422, charged: 0},
	{at: "C4:4", stream: true, status: 422, charged: 1},
	{at: "C7:1", stream: true, status: 422, charged: 1},
}

// TestAnIdempotencyKeySurvivesACrash kills a replica at the moments between a call and its charge: the repetition is given the
// first answer or answered again, and one call at most is charged.
func TestAnIdempotencyKeySurvivesACrash(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t, "--token-interval", "0s")
	for _, c := range repeatedCrashes {
		t.Run(c.at+map[bool]string{false: "/json", true: "/stream"}[c.stream], func(t *testing.T) {
			t.Parallel()
			c.run(t, g)
		})
	}
	t.Cleanup(func() { g.CheckLedger(t) })
}

func (c repeatedCrash) run(t *testing.T, g *harness.Gateway) {
	v, db := victimOf(t, g, c.at), g.DB(t)
	members := []string{}
	if c.stream {
		members = append(members, `"stream":true`)
	}
	key := "crash-" + strings.ReplaceAll(t.Name(), "/", "-")
	body := harness.ChatRequest(harness.CheapModel, crashPrompt, members...)
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	// The gateway dies during this call, so its answer is not checked.
	_, _ = v.TryCall(ctx, http.MethodPost, harness.ChatPath, body, "Idempotency-Key", key)
	v.dies(t, c.at)
	v.rise(t, "")
	if a := v.Call(t, http.MethodPost, harness.ChatPath, body, "Idempotency-Key", key, "X-Error-Status", "standard"); a.Status != http.StatusConflict && !c.known {
		t.Errorf("as long as the first may still run: %d %s", a.Status, a.Body)
	}
	db.MustExec(`update idempotency_keys set claimed_until = now() - interval '1 second' where key = $1`, key)
	a := v.Call(t, http.MethodPost, harness.ChatPath, body, "Idempotency-Key", key, "X-Error-Status", "standard")
	if a.Status != c.status || a.Header.Get("Idempotency-Replayed") == "true" != (c.replay || c.status == http.StatusUnprocessableEntity) {
		t.Fatalf("the repetition: %d %v %s", a.Status, a.Header, a.Body)
	}
	again := v.Call(t, http.MethodPost, harness.ChatPath, body, "Idempotency-Key", key, "X-Error-Status", "standard")
	if again.Status != a.Status || c.status == http.StatusOK && again.Body != a.Body {
		t.Errorf("and once more: %d %s", again.Status, again.Body)
	}
	// After its end every settlement is in the database.
	v.ends(t)
	charged, cost := 0, int64(0)
	for _, r := range v.charges(t, db) {
		if r.Cost > 0 {
			charged++
			cost = r.Cost
			if id := a.Header.Get("X-Generation-Id"); c.status == http.StatusOK && id != r.ID {
				t.Errorf("the answer is of %s, the charge of %s", id, r.ID)
			}
		}
	}
	if charged != c.charged {
		t.Errorf("%d calls are charged, not %d", charged, c.charged)
	}
	if c.status == http.StatusOK && charged == 1 {
		if shown := harness.ShownCost(t, a.Body); shown != cost {
			t.Errorf("%d is shown, %d charged", shown, cost)
		}
	}
}
