package lease

import (
	"context"
	"fmt"
	"slices"

	"umg/app"
	"umg/billing"
	"umg/billing/journal"
)

// phase is the present phase of a simulated call.
type phase uint8

const (
	wanting  phase = iota // The call acquires a hold.
	streams               // The upstream answers.
	extends               // The hold is being raised.
	settles               // The settlement is being written to disk.
	finished              // The call has ended on this node.
)

// simCall is one call with what its client saw.
type simCall struct {
	n       *node
	id      string
	account string
	budget  string
	phase   phase
	g       *holdRequest
	asked   *TakeRequest // This take is at the database.
	answer  func()       // This delivers the database's answer, which has not arrived yet.
	until   int64        // The call pauses until this time, in nanoseconds of the simulator.
	hold    billing.Hold
	stream  bool // The answer arrives in pieces, else as a whole at the end.
	pieces  int
	over    app.Amount // This is the cost beyond the hold, at the end.
	poison  bool

	delivered app.Amount
	marks     []simMark
	p         pendingCall
	at        journal.LSN
	total     app.Amount // This is the total of its settlement, including the cost beyond the hold.
	appended  bool       // The settlement may be found in the journal.
	seen      bool       // The client has the whole answer.
	refusal   error      // This is why the hold was refused.
	uncertain bool       // The answer was withheld, and it is unknown whether it was charged.
	kept      bool       // The end of the answer was withheld, and the charge is retried.
	surviving int        // This many marks survive any crash.
	crashed   bool
	lossy     bool // Its disk is lost.
}

type simMark struct {
	at   journal.LSN
	cost app.Amount
}

func (c *simCall) settlement(cost app.Amount, reason billing.Reason) billing.Settlement {
	return billing.Settlement{
		Cost: cost, Delivered: c.delivered > 0,
		Record: billing.UsageRecord{RequestID: c.id, AccountID: c.account, Reason: string(reason), Outcome: "succeeded"},
	}
}

// reservedOf is what the call has reserved of a lease.
func (c *simCall) reservedOf(l *lease) (sum app.Amount) {
	add := func(of call) {
		if of.account == l || of.budget == l {
			sum += of.amount
		}
	}
	if c.g != nil {
		add(c.g.call)
	}
	if one, exists := c.n.manager.calls.shard(c.id).calls[c.id]; exists {
		add(one)
	}
	return sum
}

// start begins a hold as the manager's Hold does.
func (w *world) start(n *node) {
	c := &simCall{
		n: n, id: fmt.Sprintf("req_%d", len(w.calls)), account: w.accounts[w.r.IntN(len(w.accounts))],
		stream: w.chance(0.6), pieces: w.r.IntN(6), poison: w.chance(w.o.poison),
	}
	if w.chance(0.4) {
		c.budget = "key_" + c.account
	}
	want := app.Amount(1 + w.r.IntN(400))
	if w.chance(0.05) {
		want = 0
	}
	if w.chance(w.o.overruns) {
		c.over = app.Amount(w.r.IntN(100))
	}
	w.calls = append(w.calls, c)
	b, err := n.manager.serving()
	if err == nil {
		err = n.manager.settlements.claim()
	}
	if err != nil {
		c.refuse(err)
		return
	}
	r := billing.HoldRequest{ID: c.id, AccountID: c.account, BudgetID: c.budget, Want: want, Min: want}
	if w.chance(0.5) {
		r.Min = min(want, 1+want/4)
	}
	c.g = &holdRequest{manager: n.manager, request: r, want: want, call: call{table: b, began: n.manager.mono()}}
	n.calls = append(n.calls, c)
	c.proceed(c.g.step())
}

func (c *simCall) refuse(err error) {
	c.refusal, c.phase, c.g = err, finished, nil
	c.n.drop(c)
	c.n.w.count(err)
}

// proceed handles a verdict as the manager's pursue does.
func (c *simCall) proceed(n nextAction) {
	w := c.n.w
	switch n.verdict {
	case reserved:
		c.held()
	case refused:
		c.ended(n.err)
	case needsTake:
		a := n.ask
		c.asked = &a
	case needsPause:
		c.until = int64(w.now + n.pause)
	}
}

// held ends a hold or an extension that succeeded. The node must still own its credit.
func (c *simCall) held() {
	t, w := c.n.manager, c.n.w
	for _, l := range []*lease{c.g.call.account, c.g.call.budget} {
		if l == nil || w.restored {
			continue
		}
		line := w.books.leases[leaseKey{c.n.id, c.g.call.table.replica.Epoch, l.creditAccountID}]
		if line == nil || line.state != "open" {
			w.fail("I14: %s: %s is held from an ended lease of %s", c.n.id, c.id, l.creditAccountID)
		}
	}
	if c.phase == extends {
		if t.raise(c.id, c.g.call) {
			c.hold.Amount += c.g.call.amount
		}
		c.g, c.phase = nil, streams
		return
	}
	if !t.calls.add(c.id, c.g.call) {
		c.n.w.fail("%s: its id is in use", c.id)
	}
	c.hold = c.g.hold()
	c.g, c.phase = nil, streams
	c.n.w.note("%s: %s held %d of %s", c.n.id, c.id, c.hold.Amount, c.account)
	c.mark()
}

// ended ends a hold or an extension that failed.
func (c *simCall) ended(err error) {
	c.g = nil
	if c.phase == extends {
		c.phase, c.pieces = streams, 0
		return
	}
	c.n.manager.settlements.unclaim()
	c.refuse(err)
}

// mark records what was delivered, as the manager's Progress does.
func (c *simCall) mark() {
	t := c.n.manager
	s := c.settlement(c.delivered, billing.ReasonCrashed)
	missed := t.counters.marksMissed.Load()
	t.Progress(c.hold, s)
	if t.counters.marksMissed.Load() == missed {
		at := journal.LSN(0)
		if c.n.log != nil {
			at = c.n.log.Last()
		}
		c.marks = append(c.marks, simMark{at, c.delivered})
	}
}

// advance performs the next event of a call.
func (c *simCall) advance() {
	w, t := c.n.w, c.n.manager
	switch {
	case c.answer != nil:
		do := c.answer
		c.answer = nil
		do()
	case c.asked != nil: // The database decides now, and the answer arrives later.
		a, g := *c.asked, c.g
		c.asked = nil
		row, err := t.o.Bank.Take(context.Background(), g.call.table.replica, a)
		w.note("%s: %s takes %d to %d of %s: %+v %v", c.n.id, c.id, a.Need, a.Want, a.CreditAccountID, row, err)
		c.answer = func() { c.proceed(g.answer(row, err)) }
	case c.g != nil:
		if int64(w.now) >= c.until {
			c.proceed(c.g.step())
		}
	case c.phase == streams && c.stream && c.pieces > 0:
		c.piece()
	case c.phase == streams:
		c.settle()
	case c.phase == settles:
		c.lookWhetherDurable()
	}
}

// piece delivers a part of the answer after a mark. It raises the hold first when the hold does not cover the part.
func (c *simCall) piece() {
	w := c.n.w
	cost := app.Amount(1 + w.r.IntN(60))
	if c.delivered+cost > c.hold.Amount {
		b := c.n.manager.table.Load()
		if b == nil || !b.trusted(w.now) || b.replica.Epoch != c.hold.Epoch || c.hold.Amount == 0 {
			c.pieces = 0
			return
		}
		more := app.Amount(100)
		r := billing.HoldRequest{ID: c.id, AccountID: c.account, BudgetID: c.budget, Want: more, Min: more}
		c.g, c.phase = &holdRequest{manager: c.n.manager, request: r, want: more, call: call{table: b}}, extends
		c.proceed(c.g.step())
		return
	}
	c.pieces--
	if w.chance(0.7) { // Otherwise the mark may lag behind.
		c.mark()
	}
	c.delivered += cost
}

// settle appends the settlement.
func (c *simCall) settle() {
	w, t := c.n.w, c.n.manager
	final := c.delivered
	if !c.stream {
		final = app.Amount(w.r.Int64N(int64(c.hold.Amount) + 1))
	}
	c.total = final + c.over
	reason := billing.ReasonCompleted
	if c.poison {
		reason = poison
	}
	p, runs := t.beginSettle(c.hold, c.settlement(c.total, reason))
	if !runs {
		w.fail("%s: %s is settled twice", c.n.id, c.id)
		return
	}
	c.p, c.phase = p, settles
	at, err := t.put(p)
	if err != nil {
		c.directly(err)
		return
	}
	c.at, c.appended = at, true
	if w.o.eager { // In this negative control the client has the answer before it is durable.
		c.seen = true
	}
}

// lookWhetherDurable ends the settlement once it is durable.
func (c *simCall) lookWhetherDurable() {
	t := c.n.manager
	if c.n.log == nil {
		ctx, cancel := context.WithCancel(context.Background())
		one := t.applier.database.waiting[c.at]
		select {
		case <-one.done:
		default:
			if !c.n.w.chance(0.1) {
				cancel()
				return
			}
			cancel()
		}
		err := t.settlements.wait(ctx, c.at)
		cancel()
		if err != nil {
			c.appended = one.sealed
			c.directly(err)
			return
		}
		c.done(c.at)
		return
	}
	switch {
	case c.n.log.Durable() >= c.at:
		c.done(c.at)
	case c.n.log.Err() != nil:
		c.directly(c.n.log.Err())
	}
}

func (c *simCall) done(at journal.LSN) {
	c.n.manager.endSettle(c.p, c.p.cost, at)
	c.seen, c.phase = true, finished
	c.n.drop(c)
}

// directly settles at the database because the disk did not take the settlement.
func (c *simCall) directly(cause error) {
	t := c.n.manager
	c.appended = true
	err := t.settleDirectly(context.Background(), c.p, cause)
	c.n.w.note("%s: %s settles directly: %v", c.n.id, c.id, err)
	switch {
	case err == nil:
		c.seen = true
	case c.p.delivered:
		c.kept = true
		c.phase = finished
		return // It stays among the node's calls, as its reservation does.
	default:
		c.uncertain = true
	}
	c.phase = finished
	c.n.drop(c)
}

// orphan is the remainder of a call after a crash.
func (c *simCall) orphan(survives journal.LSN, journaled bool) {
	if c.phase == finished && !c.kept {
		return
	}
	c.crashed = true
	c.surviving = 0
	for i, m := range c.marks {
		if journaled && m.at <= survives {
			c.surviving = i + 1
		}
	}
	c.phase, c.g, c.asked, c.answer = finished, nil, nil, nil
}

func (c *simCall) turnedAway() bool { return c.refusal != nil }

// judge compares what a call was charged with what its client saw.
func (c *simCall) judge(w *world) error {
	rec, charged := w.books.records[c.id]
	total := rec.cost + rec.overrun
	fits := slices.ContainsFunc(c.marks[min(c.surviving, len(c.marks)):], func(m simMark) bool { return m.cost == total })
	if c.surviving > 0 && c.marks[c.surviving-1].cost == total {
		fits = true
	}
	switch {
	case c.turnedAway() && charged:
		return fmt.Errorf("call %s was refused and charged", c.id)
	case c.turnedAway() || c.poison || c.lossy:
		return nil
	case c.seen && !charged:
		return fmt.Errorf("I8: the client of %s saw the answer, and nothing was charged", c.id)
	case c.seen && total != c.total:
		return fmt.Errorf("I8: the client of %s was shown %d, charged were %d and %d beyond", c.id, c.total, rec.cost, rec.overrun)
	case c.seen && !w.loose && rec.cost != c.p.cost:
		return fmt.Errorf("I8: the client of %s was shown %d and charged %d", c.id, c.p.cost, rec.cost)
	case c.seen, c.uncertain && (!charged || total == c.total || fits):
		return nil
	case c.kept && !w.loose && !c.crashed && total != c.total:
		return fmt.Errorf("I8: the settlement of %s was kept, and %d instead of %d charged", c.id, total, c.total)
	case charged && c.appended && total == c.total, charged && fits:
		return nil
	case !charged && c.surviving == 0:
		return nil
	}
	return fmt.Errorf("I10: %s delivered %d, marks %v of which %d survived, charged %v %d", c.id, c.delivered, c.marks, c.surviving, charged, total)
}
