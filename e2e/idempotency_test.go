package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
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
	g := start(t, "--token-interval", "0s")
	for _, c := range repeatedCrashes {
		t.Run(c.at+map[bool]string{false: "/json", true: "/stream"}[c.stream], func(t *testing.T) {
			t.Parallel()
			c.run(t, g)
		})
	}
	t.Cleanup(func() { g.books(t) })
}

func (c repeatedCrash) run(t *testing.T, g *gateway) {
	v, db := victimOf(t, g, c.at), g.db(t)
	members := []string{}
	if c.stream {
		members = append(members, `"stream":true`)
	}
	key := "crash-" + strings.ReplaceAll(t.Name(), "/", "-")
	body := ask(cheapModel, crashPrompt, members...)
	ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
	defer cancel()
	// The gateway dies during this call, so its answer is not checked.
	_, _ = v.tryCall(ctx, http.MethodPost, chatPath, body, "Idempotency-Key", key)
	v.dies(t, c.at)
	v.rise(t, "")
	if a := v.call(t, http.MethodPost, chatPath, body, "Idempotency-Key", key, "X-Error-Status", "standard"); a.status != http.StatusConflict && !c.known {
		t.Errorf("as long as the first may still run: %d %s", a.status, a.body)
	}
	db.MustExec(`update idempotency_keys set claimed_until = now() - interval '1 second' where key = $1`, key)
	a := v.call(t, http.MethodPost, chatPath, body, "Idempotency-Key", key, "X-Error-Status", "standard")
	if a.status != c.status || a.header.Get("Idempotency-Replayed") == "true" != (c.replay || c.status == http.StatusUnprocessableEntity) {
		t.Fatalf("the repetition: %d %v %s", a.status, a.header, a.body)
	}
	again := v.call(t, http.MethodPost, chatPath, body, "Idempotency-Key", key, "X-Error-Status", "standard")
	if again.status != a.status || c.status == http.StatusOK && again.body != a.body {
		t.Errorf("and once more: %d %s", again.status, again.body)
	}
	// After its end every settlement is in the database.
	v.ends(t)
	charged, cost := 0, int64(0)
	for _, r := range v.charges(t, db) {
		if r.Cost > 0 {
			charged++
			cost = r.Cost
			if id := a.header.Get("X-Generation-Id"); c.status == http.StatusOK && id != r.ID {
				t.Errorf("the answer is of %s, the charge of %s", id, r.ID)
			}
		}
	}
	if charged != c.charged {
		t.Errorf("%d calls are charged, not %d", charged, c.charged)
	}
	if c.status == http.StatusOK && charged == 1 {
		if shown := costIn(t, a.body); shown != cost {
			t.Errorf("%d is shown, %d charged", shown, cost)
		}
	}
}
