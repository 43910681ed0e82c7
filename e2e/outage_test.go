package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// What a minute without the database must not cost customers who have credit.
const (
	outageTime        = 60 * time.Second
	outageAnsweredMin = 0.99
	// outageModel has no rate limits.
	outageModel = "test/outage"
	// Accounts that make no calls during the outage are called for this long before it.
	outageWarm = 6 * time.Second
)

// caller is a customer who calls at a steady rate, whether or not answers come, and counts what they got.
type caller struct {
	customer
	name  string
	every time.Duration

	mu                    sync.Mutex
	answered, away, shown int64
	wrong                 []string
	slowest               time.Duration
	since                 time.Time
	before                balance
	calling               sync.WaitGroup
}

// call makes one call and counts its answer. What is neither an answer nor 503 with a time to come back is wrong.
func (c *caller) callOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
	defer cancel()
	began := time.Now()
	a, err := c.tryCall(ctx, "POST", "/v1/chat/completions", ask(outageModel, "echo: in an outage"), "X-Error-Status", "standard")
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slowest = max(c.slowest, took)
	switch {
	case err != nil:
		c.wrong = append(c.wrong, err.Error())
	case a.status == http.StatusOK:
		c.answered++
		c.shown += nanos(t, string(decodeCompletion(t, a).Usage.Cost))
	case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "":
		c.away++
		t.Log(c.name, "after", time.Since(c.since), a.body)
	default:
		c.wrong = append(c.wrong, fmt.Sprint(a.status, " ", a.body))
	}
}

// callFor calls steadily for so long, and waits for the answers.
func (c *caller) callFor(t *testing.T, d time.Duration) {
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	for end := time.After(d); ; {
		select {
		case <-end:
			c.calling.Wait()
			return
		case <-tick.C:
			c.calling.Go(func() { c.callOnce(t) })
		}
	}
}

// outage is a gateway whose database goes away and comes back.
type outage struct {
	// gateway gets the calls.
	gateway *gateway
	// owner owns the database.
	owner  *gateway
	goAway func(t *testing.T)
	// comeBack ends the outage and returns the owner of the database.
	comeBack func(t *testing.T) *gateway
}

// TestFaultDatabaseIsAwayForAMinute takes the database away from accounts that have credit, one of which calls often, one now and
// then, and some not at all until it is away. Their calls are answered, and charged once when it is back.
func TestFaultDatabaseIsAwayForAMinute(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T) outage{"stopped": stoppedDatabase, "frozen": frozenDatabase} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin(t).play(t)
		})
	}
}

// stoppedDatabase is a replica whose database another process owns, which ends in order with it.
func stoppedDatabase(t *testing.T) outage {
	dir := grownDir(t)
	_, simulatorURL := startSimulator(t)
	begin := func(t *testing.T) *gateway {
		g, err := startIn(dir, "--simulator-url", simulatorURL)
		if err != nil {
			t.Fatal(err)
		}
		g.killAtEnd(t)
		g.SimulatorURL = simulatorURL
		return g
	}
	owner := begin(t)
	p := serve(t, owner)
	p.killAtEnd(t)
	return outage{gateway: p.gateway, owner: owner, goAway: func(t *testing.T) {
		if err := owner.stop(); err != nil {
			t.Fatal(err)
		}
	}, comeBack: func(t *testing.T) *gateway {
		back := begin(t)
		p.stopAtEnd(t)
		return back
	}}
}

// frozenDatabase is a gateway whose own database is stopped with SIGSTOP.
func frozenDatabase(t *testing.T) outage {
	g := start(t)
	var thaw func()
	return outage{gateway: g, owner: g, goAway: func(t *testing.T) { thaw = g.freezeDatabase(t) },
		comeBack: func(*testing.T) *gateway {
			thaw()
			return g
		}}
}

func (o outage) play(t *testing.T) {
	var idle, all []*caller
	busy := []*caller{{name: "busy", every: time.Second / 15}, {name: "steady", every: time.Second / 2}}
	for i := range 5 {
		idle = append(idle, &caller{name: fmt.Sprint("idle-", i), every: 5*time.Second + time.Duration(i)*time.Second})
	}
	all = append(append(all, busy...), idle...)
	o.gateway.addModels(t, model{id: outageModel, upstream: "sim", provider: "meridian"})
	env := []string{"DATABASE_URL=" + o.owner.databaseURL(t)}
	for _, c := range all {
		c.customer = o.owner.newCustomer(t, "outage-"+c.name)
		if out, status := run(t, env, "credit", "grant", c.Email, "1000", "--reason", "a test"); status != 0 {
			t.Fatal(out)
		}
		c.setLimits(t, 10)
		c.before = c.balanceOf(t, c.accountID)
		c.gateway = o.as(c.customer)
	}
	for _, c := range idle {
		c.callOnce(t)
	}
	atOnce(busy, func(c *caller) { c.callFor(t, outageWarm) })
	for _, c := range all {
		if c.away > 0 || len(c.wrong) > 0 {
			t.Fatalf("before the outage %s: %d refused, %q", c.name, c.away, c.wrong)
		}
		c.answered, c.slowest, c.since = 0, 0, time.Now()
	}
	o.goAway(t)
	atOnce(all, func(c *caller) { c.callFor(t, outageTime) })
	back := o.comeBack(t)
	var answered, refused int64
	for _, c := range all {
		t.Logf("%s: %d answered, %d told to come back, slowest %v", c.name, c.answered, c.away, c.slowest)
		answered, refused = answered+c.answered, refused+c.away
		if len(c.wrong) > 0 {
			t.Errorf("%s: %d answers are neither: %s", c.name, len(c.wrong), c.wrong[0])
		}
	}
	if share := float64(answered) / float64(answered+refused); share < outageAnsweredMin || answered < 500 {
		t.Errorf("%.2f %% of %d calls were answered", 100*share, answered+refused)
	}
	for _, c := range all {
		if after := back.paidBy(t, c); c.before.Posted-after.Posted != c.shown || after.Held != 0 {
			t.Errorf("%s: %d shown, balance %+v → %+v", c.name, c.shown, c.before, after)
		}
	}
	back.books(t)
}

// as is the called gateway with a customer's key.
func (o outage) as(c customer) *gateway {
	g := *o.gateway
	g.APIKey, g.Email = c.APIKey, c.Email
	return &g
}

// paidBy is a caller's balance when the database has the settlements of all answers.
func (g *gateway) paidBy(t *testing.T, c *caller) (b balance) {
	t.Helper()
	for deadline := time.Now().Add(callTimeMax); ; time.Sleep(20 * time.Millisecond) {
		if b = g.balanceOf(t, c.accountID); c.before.Posted-b.Posted >= c.shown || time.Now().After(deadline) {
			return b
		}
	}
}

func atOnce(all []*caller, do func(*caller)) {
	var wait sync.WaitGroup
	for _, c := range all {
		wait.Go(func() { do(c) })
	}
	wait.Wait()
}
