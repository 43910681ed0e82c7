package faults

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"umg/e2e/harness"
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
	harness.Customer
	name  string
	every time.Duration

	mu                    sync.Mutex
	answered, away, shown int64
	wrong                 []string
	slowest               time.Duration
	since                 time.Time
	before                harness.Balance
	calling               sync.WaitGroup
}

// callOnce makes one call and counts its answer. What is neither an answer nor 503 with a time to come back is wrong.
func (c *caller) callOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	began := time.Now()
	a, err := c.TryCall(ctx, "POST", "/v1/chat/completions", harness.ChatRequest(outageModel, "echo: in an outage"), "X-Error-Status", "standard")
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slowest = max(c.slowest, took)
	switch {
	case err != nil:
		c.wrong = append(c.wrong, err.Error())
	case a.Status == http.StatusOK:
		c.answered++
		c.shown += harness.Nanos(t, string(harness.DecodeCompletion(t, a).Usage.Cost))
	case a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "":
		c.away++
		t.Log(c.name, "after", time.Since(c.since), a.Body)
	default:
		c.wrong = append(c.wrong, fmt.Sprint(a.Status, " ", a.Body))
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
	gateway *harness.Gateway
	// owner owns the database.
	owner  *harness.Gateway
	goAway func(t *testing.T)
	// comeBack ends the outage and returns the owner of the database.
	comeBack func(t *testing.T) *harness.Gateway
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
	dir := harness.DemoDir(t)
	_, simulatorURL := harness.StartSimulator(t)
	begin := func(t *testing.T) *harness.Gateway {
		g, err := harness.StartDemoIn(dir, "--simulator-url", simulatorURL)
		if err != nil {
			t.Fatal(err)
		}
		killAtEnd(t, g)
		g.SimulatorURL = simulatorURL
		return g
	}
	owner := begin(t)
	p := harness.StartReplica(t, owner)
	killAtEnd(t, p.Gateway)
	return outage{gateway: p.Gateway, owner: owner, goAway: func(t *testing.T) {
		if err := owner.Stop(); err != nil {
			t.Fatal(err)
		}
	}, comeBack: func(t *testing.T) *harness.Gateway {
		back := begin(t)
		p.StopAtEnd(t)
		return back
	}}
}

// frozenDatabase is a gateway whose own database is stopped with SIGSTOP.
func frozenDatabase(t *testing.T) outage {
	g := harness.StartDemo(t)
	var thaw func()
	return outage{gateway: g, owner: g, goAway: func(t *testing.T) { thaw = freezeDatabase(t, g) },
		comeBack: func(*testing.T) *harness.Gateway {
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
	o.gateway.AddModels(t, harness.Model{ID: outageModel, UpstreamModel: "sim", Provider: "meridian"})
	env := []string{"DATABASE_URL=" + o.owner.DatabaseURL(t)}
	for _, c := range all {
		c.Customer = o.owner.NewCustomer(t, "outage-"+c.name)
		if out, status := harness.RunCommand(t, env, "credit", "grant", c.Email, "1000", "--reason", "a test"); status != 0 {
			t.Fatal(out)
		}
		c.SetLimits(t, 10)
		c.before = c.SettledBalance(t, c.AccountID)
		c.Gateway = o.as(c.Customer)
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
		if after := paidBy(t, back, c); c.before.Posted-after.Posted != c.shown || after.Held != 0 {
			t.Errorf("%s: %d shown, balance %+v → %+v", c.name, c.shown, c.before, after)
		}
	}
	back.CheckLedger(t)
}

// as is the called gateway with a customer's key.
func (o outage) as(c harness.Customer) *harness.Gateway {
	g := *o.gateway
	g.APIKey, g.Email = c.APIKey, c.Email
	return &g
}

// paidBy is a caller's balance when the database has the settlements of all answers.
func paidBy(t *testing.T, g *harness.Gateway, c *caller) (b harness.Balance) {
	t.Helper()
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(20 * time.Millisecond) {
		if b = g.SettledBalance(t, c.AccountID); c.before.Posted-b.Posted >= c.shown || time.Now().After(deadline) {
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
