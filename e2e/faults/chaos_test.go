//go:build chaos || soak

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"umg/e2e/harness"
)

// These limits shape the load. The files of the two forms say how long it lasts.
const (
	chaosReplicas = 3
	chaosClients  = 160
	chaosAccounts = 12
	// chaosPoor is the number of accounts with little credit, whose calls take their holds from the database.
	chaosPoor = 2
	// chaosPoorShare is the number of calls to one call of a poor account.
	chaosPoorShare = 25
	// chaosGrant is the credit that a poor account gets at a time, in nano-dollars.
	chaosGrant = 2_000_000
	// chaosPauseMin and chaosPauseMax bound the time between two kills.
	chaosPauseMin   = 800 * time.Millisecond
	chaosPauseMax   = 1800 * time.Millisecond
	chaosFeedEvery  = 2 * time.Second
	chaosSampleWait = 50 * time.Millisecond
	// chaosRetryWait is the wait before the test starts a replica again that did not start.
	chaosRetryWait = 100 * time.Millisecond
	chaosSettleMax = 3 * time.Minute
	// chaosStops is the number of kills to one hard stop of the database.
	chaosStops = 12
)

// chaos is one run: replicas that are killed, a database that is stopped hard, and clients who write down what they saw.
type chaos struct {
	// binary is the program of the replicas.
	binary string
	// env has the replicas' variables in addition to the usual ones.
	env    []string
	wanted chaosSize
	// silent is true when findings are counted and do not fail the test.
	silent bool
	// home owns the database and restarts it; it serves no call of the run.
	home      *harness.Gateway
	replicas  []*mortalReplica
	customers []harness.Customer
	seen      []*witness
	overspent atomic.Int64
	kills     atomic.Int64
	stops     atomic.Int64
	answers   atomic.Int64
	done      chan struct{}
}

// chaosSize is how much chaos a run makes: until there were so many kills and answers, or time is up.
type chaosSize struct {
	kills, answers int64
	timeMax        time.Duration
}

// TestChaos kills replicas and stops the database hard while clients call, and compares every answer that a client saw
// with the tables: none is lost, none is charged twice, none at another cost, and no account spends more than it has.
func TestChaos(t *testing.T) {
	bin, err := harness.GatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	c := newChaos(t, bin, chaosSize{kills: chaosKills, answers: chaosAnswers, timeMax: chaosTimeMax})
	started := time.Now()
	c.run(t)
	c.rest(t)
	v := c.compare(t)
	fmt.Printf("%d of %d answers were streams; %d hard stops of the database; %s; %d refused for want of credit; "+
		"%d charged whose last byte no client saw; delivered and not charged at most %d tokens a stream\n",
		v.streams, v.answers, c.stops.Load(), time.Since(started).Round(time.Second), v.unfunded, v.unseen, v.behindMost)
	fmt.Printf("answers=%d kills=%d lost=%d duplicate=%d wrong=%d overspent=%d\n",
		v.answers, c.kills.Load(), v.lost, v.duplicate, v.wrong, c.overspent.Load()+v.overspent)
	if v.lost+v.duplicate+v.wrong+v.overspent+c.overspent.Load() != 0 {
		t.Error("the books and what clients saw disagree")
	}
	if int(c.kills.Load()) < chaosKills || v.answers < chaosAnswers {
		t.Errorf("the run was to have %d kills and %d answers", chaosKills, chaosAnswers)
	}
	if v.behindMost > 64 {
		t.Errorf("a stream delivered %d tokens more than it was charged", v.behindMost)
	}
}

func newChaos(t *testing.T, bin string, wanted chaosSize, env ...string) *chaos {
	t.Helper()
	_, upstream := harness.StartSimulator(t, "--token-interval", "0s")
	c := &chaos{binary: bin, env: env, wanted: wanted, home: harness.StartDemo(t, "--simulator-url", upstream), done: make(chan struct{})}
	c.home.AddModels(t, harness.Model{ID: "test/quick", UpstreamModel: "sim"}, harness.Model{ID: "test/paced", UpstreamModel: "sim+pace=4ms"})
	for i := range chaosAccounts {
		one := c.home.NewCustomerWithoutCredit(t, fmt.Sprint("chaos", i))
		one.SetLimits(t, 1_000_000)
		one.SetAvailable(t, chaosGrant)
		if i >= chaosPoor {
			one.SetAvailable(t, 500e9)
		}
		c.customers = append(c.customers, one)
	}
	for range chaosReplicas {
		c.replicas = append(c.replicas, newMortalReplica(t, c))
	}
	return c
}

// run lets clients call and everything else go wrong until enough was done or time is up.
func (c *chaos) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), c.wanted.timeMax)
	defer cancel()
	var clients, others sync.WaitGroup
	for i := range chaosClients {
		w := &witness{chaos: c, random: rand.New(rand.NewPCG(chaosSeed, uint64(i)))}
		c.seen = append(c.seen, w)
		clients.Go(func() { w.call(ctx) })
	}
	others.Go(func() { c.kill(ctx, t) })
	others.Go(func() { c.sample(t) })
	others.Go(func() { c.feed(ctx, t) })
	for ctx.Err() == nil && (c.answers.Load() < c.wanted.answers || c.kills.Load() < c.wanted.kills) {
		time.Sleep(chaosSampleWait)
	}
	cancel()
	clients.Wait()
	close(c.done)
	others.Wait()
}

// kill ends replicas at random, and now and then the database, and starts the dead again.
func (c *chaos) kill(ctx context.Context, t *testing.T) {
	random := rand.New(rand.NewPCG(chaosSeed, 1<<32))
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(chaosPauseMin + time.Duration(random.Int64N(int64(chaosPauseMax-chaosPauseMin)))):
		}
		c.replicas[random.IntN(len(c.replicas))].kill()
		c.kills.Add(1)
		if n%chaosStops == 0 {
			if pid := c.home.DatabasePID(t); pid > 0 && syscall.Kill(pid, syscall.SIGQUIT) == nil {
				c.stops.Add(1)
			}
		}
	}
}

// sample looks for an account that has spent more than it had.
func (c *chaos) sample(t *testing.T) {
	db := c.home.DB(t)
	for {
		select {
		case <-c.done:
			return
		case <-time.After(chaosSampleWait):
		}
		// The query fails while the database is stopped, and the count then stays zero.
		var below int64
		if db.Get(&below, `select count(*) from credit_accounts where posted_nanos - held_nanos < 0 or posted_nanos < 0`) == nil {
			c.overspent.Add(below)
		}
	}
}

// feed gives the poor a little at a time, so that they use up their credit again.
func (c *chaos) feed(ctx context.Context, t *testing.T) {
	url := "DATABASE_URL=" + c.home.DatabaseURL(t)
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(chaosFeedEvery):
		}
		who := c.customers[n%chaosPoor].AccountID
		_, _ = harness.RunCommand(t, []string{url}, "credit", "grant", who, harness.Dollars(chaosGrant), "--reason", "for a test")
	}
}

// rest waits until the database has every settlement, and then stops the replicas gracefully.
func (c *chaos) rest(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(chaosSettleMax)
	for _, r := range c.replicas {
		r.end(t, deadline)
	}
	if !c.silent {
		c.home.CheckLedger(t)
	}
}

// mortalReplica is a replica with a journal of its own that is started again whenever it was killed.
type mortalReplica struct {
	chaos *chaos
	// url is the address of the database.
	url  string
	data string

	mu     sync.Mutex
	now    harness.Replica
	ending bool
	// alive is the replica's address while it serves, and nil otherwise.
	alive atomic.Pointer[string]
	over  chan struct{}
}

func newMortalReplica(t *testing.T, c *chaos) *mortalReplica {
	t.Helper()
	r := &mortalReplica{chaos: c, url: c.home.DatabaseURL(t), data: harness.DataDir(t), over: make(chan struct{})}
	p, err := r.start()
	if err != nil {
		t.Fatal(err)
	}
	r.serve(p)
	go r.keep()
	return r
}

func (r *mortalReplica) start() (harness.Replica, error) {
	return harness.TryReplicaBinary(r.chaos.binary, r.chaos.env, r.url, r.chaos.home, "--data", r.data)
}

func (r *mortalReplica) serve(p harness.Replica) {
	r.mu.Lock()
	r.now = p
	r.mu.Unlock()
	r.alive.Store(&p.BaseURL)
}

// keep starts the replica again until it is to end. A start fails while the database is away.
func (r *mortalReplica) keep() {
	defer close(r.over)
	for {
		r.mu.Lock()
		exited := r.now.Exited
		r.mu.Unlock()
		err := <-exited
		r.alive.Store(nil)
		r.mu.Lock()
		ending := r.ending
		r.mu.Unlock()
		if ending && err == nil {
			return
		}
		for {
			p, err := r.start()
			if err == nil {
				r.serve(p)
				break
			}
			time.Sleep(chaosRetryWait)
		}
	}
}

func (r *mortalReplica) kill() {
	r.alive.Store(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.now.Command.Process.Kill()
}

// end insists on an orderly end, by a replica that lives.
func (r *mortalReplica) end(t *testing.T, deadline time.Time) {
	t.Helper()
	r.mu.Lock()
	r.ending = true
	r.mu.Unlock()
	for {
		if r.alive.Load() != nil {
			r.mu.Lock()
			_ = r.now.Command.Process.Signal(os.Interrupt)
			r.mu.Unlock()
		}
		select {
		case <-r.over:
			return
		case <-time.After(time.Second):
		}
		if time.Now().After(deadline) {
			r.mu.Lock()
			defer r.mu.Unlock()
			t.Fatalf("a replica does not come to rest:\n%s", tail(r.now.Log.String(), 4000))
		}
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
