package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"umg/app"
	"umg/billing"
	"umg/billing/journal/journaltest"
)

// options configure one simulation. All are derived from its seed.
type options struct {
	nodes, accounts, steps        int
	journal                       bool
	rich                          bool    // Accounts have credit for leases, not only for calls.
	lost                          float64 // This share of the database's requests and answers is lost.
	deaths                        float64 // The process dies at this share of them.
	kills, cuts, pauses, aways    float64 // Each of these is the chance per step.
	cutOffs                       float64
	restores, leaps, skews        float64
	grants, expiries, freezes     float64
	eio, poison, overruns, losses float64
	eager                         bool // In this negative control clients get answers before the settlement is durable.
	careless                      bool // In this negative control neither cursor nor ids prevent a second charge.
	limits                        float64
	ahead                         bool // Leases take credit ahead.
}

func deriveOptions(seed uint64) options {
	r := rand.New(rand.NewPCG(seed, 1))
	some := func(chance, most float64) float64 {
		if r.Float64() > chance {
			return 0
		}
		return most * r.Float64()
	}
	o := options{
		nodes: 1 + r.IntN(3), accounts: 1 + r.IntN(5), steps: 60 + r.IntN(140),
		journal: r.Float64() < 0.75, rich: r.Float64() < 0.5,
		lost: some(0.6, 0.1), deaths: some(0.4, 0.02),
		kills: some(0.6, 0.03), cuts: some(0.5, 0.03), pauses: some(0.3, 0.02), aways: some(0.4, 0.02),
		restores: some(0.15, 0.02), leaps: some(0.4, 0.02), skews: some(0.3, 0.02),
		grants: some(0.7, 0.05), expiries: some(0.3, 0.05), freezes: some(0.1, 0.02),
		eio: some(0.15, 0.1), poison: some(0.1, 0.1), overruns: some(0.3, 0.3), losses: some(0.05, 0.01),
	}
	o.cutOffs = o.aways
	if limits := rand.New(rand.NewPCG(seed, 4)); limits.Float64() < 0.4 {
		o.limits = 0.1 * limits.Float64()
	}
	o.ahead = rand.New(rand.NewPCG(seed, 6)).Float64() < 0.7
	if !o.journal { // Without a journal a backup is the only copy.
		o.restores = 0
	}
	if o.restores > 0 { // Settlements that a broken journal or a lost disk did not keep have no second copy.
		o.eio, o.losses = 0, 0
	}
	return o
}

// world is the whole state of one simulation.
type world struct {
	seed           uint64
	o              options
	r              *rand.Rand
	limits         *rand.Rand // Limits have their own random source, which keeps older seeds unchanged.
	now            time.Duration
	books          *books
	backup         *books
	since          []func(*books) // These grants were made after the backup and are repeated when it is restored.
	nodes          []*node
	accounts       []string
	creditAccounts []string
	calls          []*simCall
	awayUntil      time.Duration
	changed        bool // The database changed since the last check.
	loose          bool // Leases were reclaimed or the database restored, so the platform may bear the cost of a delivered answer.
	restored       bool
	refusals       map[app.Kind]int
	telling        bool // The simulation keeps a trace.
	trace          []string
	err            error
}

func newWorld(seed uint64, o options) *world {
	w := &world{seed: seed, o: o, r: rand.New(rand.NewPCG(seed, 2)), limits: rand.New(rand.NewPCG(seed, 5)),
		books: newBooks(), now: time.Hour, refusals: map[app.Kind]int{}}
	w.books.careless = o.careless
	for i := range o.accounts {
		id := fmt.Sprintf("acc_%d", i)
		w.accounts = append(w.accounts, id)
		w.creditAccounts = append(w.creditAccounts, id, "key_"+id)
		w.books.open(id, false, w.chance(0.2))
		w.books.open("key_"+id, true, false)
		credit := app.Amount(w.r.IntN(3000))
		if o.rich {
			credit = app.Amount(50_000 + w.r.IntN(100_000))
		}
		w.books.grant(id, credit, 0)
		w.books.grant("key_"+id, app.Amount(w.r.IntN(4000)), 0)
	}
	for i := range o.nodes {
		w.nodes = append(w.nodes, &node{w: w, id: fmt.Sprintf("r%d", i), disk: journaltest.New()})
	}
	w.backup = w.books.clone()
	return w
}

func (w *world) chance(p float64) bool { return p > 0 && w.r.Float64() < p }

func (w *world) note(format string, args ...any) {
	if w.telling {
		w.trace = append(w.trace, fmt.Sprintf("%v ", w.now)+fmt.Sprintf(format, args...))
	}
}

func (w *world) count(err error) { w.refusals[app.KindOf(err)]++ }

func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// run plays the seed and returns the first violated invariant.
func (w *world) run() error {
	for step := 0; step < w.o.steps && w.err == nil; step++ {
		w.now += time.Duration(w.r.IntN(30)) * time.Millisecond
		w.misfortune()
		n := w.nodes[w.r.IntN(len(w.nodes))]
		if w.now >= n.pausedUntil {
			w.guarded(n, func() { w.step(n) })
		}
		w.check()
	}
	if w.err == nil {
		w.end()
	}
	return w.err
}

// guarded runs a node's step, during which the node may die.
func (w *world) guarded(n *node, do func()) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case killed:
			n.die(w.chance(0.5))
		default:
			panic(why)
		}
	}()
	do()
}

// step performs the next event of a node.
func (w *world) step(n *node) {
	switch {
	case !n.up:
		n.boot()
		return
	case !n.open:
		n.recover()
		return
	}
	switch dice := w.r.IntN(100); {
	case dice < 14 && len(n.calls) < 12:
		w.start(n)
	case dice < 68 && len(n.calls) > 0:
		n.calls[w.r.IntN(len(n.calls))].advance()
	case dice < 76:
		n.write()
	case dice < 88:
		n.commit()
	default:
		n.tick()
	}
}

// misfortune injects an outside fault.
func (w *world) misfortune() {
	o, n := w.o, w.nodes[w.r.IntN(len(w.nodes))]
	seconds := func(most int) time.Duration { return time.Duration(w.r.IntN(most*1000)) * time.Millisecond }
	switch {
	case w.chance(o.kills):
		n.die(false)
	case w.chance(o.cuts) && n.up:
		n.cutInCommit()
	case w.chance(o.pauses):
		n.pausedUntil = w.now + seconds(200)
		w.note("%s is stopped until %v", n.id, n.pausedUntil)
	case w.chance(o.aways):
		w.awayUntil = w.now + seconds(90)
		w.note("the books are away until %v", w.awayUntil)
	case w.chance(o.cutOffs):
		n.cutUntil = w.now + seconds(120)
		w.note("%s is cut off until %v", n.id, n.cutUntil)
	case w.chance(o.restores):
		w.restore()
	case w.chance(o.leaps):
		w.now += seconds(60)
	case w.chance(o.skews):
		n.skew = time.Duration(w.r.Int64N(int64(2*time.Hour))) - time.Hour
		w.note("%s has a wall clock that is off by %v", n.id, n.skew)
	case w.chance(o.losses) && n.up && w.o.journal:
		n.die(true)
		n.disk = journaltest.New()
		w.note("%s has lost its disk", n.id)
		for _, c := range w.calls {
			c.lossy = c.lossy || c.n == n
		}
	}
	w.fortune()
}

// restrict changes the spend limit of an account and recalls leases as the database does.
func (w *world) restrict() {
	id, limit := w.accounts[w.limits.IntN(len(w.accounts))], billing.SpendLimit{}
	if w.limits.IntN(4) > 0 {
		limit.Limit = app.Amount(1 + w.limits.IntN(3000))
	}
	set := func(b *books) {
		b.creditAccounts[id].restrict(limit)
		b.recall(Replica{}, id)
	}
	set(w.books)
	w.since = append(w.since, set)
	w.note("%s may spend %d", id, limit.Limit)
	w.changed = true
}

// fortune changes accounts: it grants credit, expires it or freezes them.
func (w *world) fortune() {
	if w.o.limits > w.limits.Float64() {
		w.restrict()
	}
	id := w.accounts[w.r.IntN(len(w.accounts))]
	switch {
	case w.chance(w.o.grants):
		amount, expires := app.Amount(1+w.r.IntN(3000)), time.Duration(0)
		if w.chance(w.o.expiries * 10) {
			expires = w.now + time.Duration(w.r.IntN(5000))*time.Millisecond
		}
		give := func(b *books) { b.grant(id, amount, expires) }
		give(w.books)
		w.since = append(w.since, give)
	case w.chance(w.o.expiries):
		w.books.now = w.now
		w.books.expire(id)
	case w.chance(w.o.freezes):
		w.books.creditAccounts[id].frozen = !w.books.creditAccounts[id].frozen
	default:
		return
	}
	w.changed = true
}

// restore makes a backup or restores the last one.
func (w *world) restore() {
	if w.chance(0.5) {
		w.note("the books are copied")
		w.backup, w.since = w.books.clone(), nil
		return
	}
	w.note("the books are restored")
	w.books = w.backup.clone()
	for _, give := range w.since {
		give(w.books)
	}
	w.loose, w.restored, w.changed = true, true, true
}

func (w *world) check() {
	if w.changed {
		w.changed = false
		if err := w.books.check(); err != nil {
			w.fail("%v", err)
		}
	}
	for _, n := range w.nodes {
		n.check()
	}
}

// end removes every fault and finishes the simulation: all calls end, all records are applied, all leases are returned.
func (w *world) end() {
	w.note("everything heals")
	w.awayUntil, w.o.lost, w.o.deaths, w.o.eio = 0, 0, 0, 0
	for _, n := range w.nodes {
		n.pausedUntil, n.cutUntil, n.renewed = 0, 0, 0
	}
	for _, p := range w.books.creditAccounts {
		p.frozen = false
	}
	for round := 0; round < roundsMax && w.err == nil; round++ {
		w.now += 20 * time.Millisecond
		busy := false
		for _, n := range w.nodes {
			busy = w.finishNode(n) || busy
			w.check()
		}
		if !busy {
			break
		}
	}
	w.rest()
	for _, n := range w.nodes {
		w.closeNode(n)
	}
	w.check()
	w.judge()
}

// rest recalls all leases. Their credit must then be free, and everything in the ledger.
func (w *world) rest() {
	for range 3 {
		w.now += idleAfter + usedWithin
		for _, creditAccountID := range w.creditAccounts {
			w.books.recall(Replica{}, creditAccountID)
		}
		for _, n := range w.nodes {
			if w.err == nil {
				n.tick()
			}
		}
	}
	for id, p := range w.books.creditAccounts {
		if p.held != 0 && !w.restored && w.err == nil {
			w.fail("I9: account %s: %d are held by no lease or job", id, p.held)
		}
	}
}

const roundsMax = 400

// finishNode advances a node's calls, and reports whether some still run.
func (w *world) finishNode(n *node) bool {
	for !n.up || !n.open {
		if w.step(n); w.err != nil {
			return false
		}
	}
	n.commit()
	for _, c := range append([]*simCall(nil), n.calls...) {
		if c.phase != finished {
			c.advance()
		}
	}
	n.commit()
	n.tick()
	if n.log != nil && n.log.Err() != nil && n.allFinished() { // An operator restarts the node.
		n.die(w.chance(0.5))
		return true
	}
	return n.manager.calls.running.Load() > 0 || len(n.calls) > 0 && !n.allFinished() || len(n.manager.fenced) > 0
}

func (n *node) allFinished() bool {
	for _, c := range n.calls {
		if c.phase != finished {
			return false
		}
	}
	return true
}

// closeNode ends a node's epoch in order.
func (w *world) closeNode(n *node) {
	if w.err != nil {
		return
	}
	if running := n.manager.calls.running.Load(); running > 0 {
		w.fail("%s: %d calls never end", n.id, running)
		return
	}
	if err := n.manager.close(context.Background()); err != nil || n.manager.table.Load() != nil {
		w.fail("%s does not close: %v", n.id, err)
	}
	switch {
	case n.manager.retries.count() > 0:
		w.fail("%s: %d settlements were kept and never applied", n.id, n.manager.retries.count())
	case n.log != nil && n.manager.appliedTo() != n.log.Last():
		w.fail("%s: applied to %d, its journal ends at %d", n.id, n.manager.appliedTo(), n.log.Last())
	case w.books.replicas[n.id].state != "ended":
		w.fail("%s: its run is %s", n.id, w.books.replicas[n.id].state)
	}
}

// judge makes the last check: nothing is held, and each client paid for what it saw.
func (w *world) judge() {
	for id, p := range w.books.creditAccounts {
		if p.held != 0 {
			w.fail("I11: account %s: %d stay held", id, p.held)
		}
	}
	if err := w.books.check(); err != nil {
		w.fail("%v", err)
	}
	for _, c := range w.calls {
		if err := c.judge(w); err != nil {
			w.fail("%v", err)
		}
	}
}

// story returns the last events.
func (w *world) story() string {
	return strings.Join(w.trace[max(0, len(w.trace)-storyLines):], "\n")
}

const storyLines = 60
