package lease

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"umg/app"
	"umg/billing/journal"
	"umg/billing/journal/journaltest"
)

// killed is the panic value of a process that dies during a step.
type killed struct{}

var errLine = app.ErrStore(errors.New("the line to the books is cut"))

// line is one node's connection to the database. It may lose a request, an answer, or the process that waits for it.
type line struct {
	w *world
	n *node
}

// reach reports whether a request arrives.
func (l line) reach() error {
	switch {
	case l.w.now < l.w.awayUntil || l.w.now < l.n.cutUntil, l.w.chance(l.w.o.lost):
		return errLine
	case l.w.chance(l.w.o.deaths):
		panic(killed{})
	}
	l.w.books.now = l.w.now
	return nil
}

// back reports whether the answer arrives.
func (l line) back() error {
	l.w.changed = true
	switch {
	case l.w.chance(l.w.o.lost):
		return errLine
	case l.w.chance(l.w.o.deaths):
		panic(killed{})
	}
	return nil
}

func through[T any](l line, ask func() (T, error)) (answer T, err error) {
	if err := l.reach(); err != nil {
		return answer, err
	}
	given, failed := ask()
	if err := l.back(); err != nil {
		return answer, err
	}
	return given, failed
}

func (l line) Renew(ctx context.Context, r Replica) error {
	_, err := through(l, func() (int, error) { return 0, l.w.books.Renew(ctx, r) })
	return err
}

func (l line) Take(ctx context.Context, r Replica, a TakeRequest) (LeaseState, error) {
	return through(l, func() (LeaseState, error) { return l.w.books.Take(ctx, r, a) })
}

func (l line) Return(ctx context.Context, r Replica, id string, total app.Amount) (LeaseState, error) {
	return through(l, func() (LeaseState, error) { return l.w.books.Return(ctx, r, id, total) })
}

func (l line) Recalled(ctx context.Context, r Replica) ([]string, error) {
	return through(l, func() ([]string, error) { return l.w.books.Recalled(ctx, r) })
}

func (l line) Apply(ctx context.Context, r Replica, b Batch) (journal.LSN, error) {
	return through(l, func() (journal.LSN, error) { return l.w.books.Apply(ctx, r, b) })
}

func (l line) Register(ctx context.Context, id string) (Start, error) {
	return through(l, func() (Start, error) { return l.w.books.Register(ctx, id) })
}

func (l line) Marks(ctx context.Context, r Replica) ([][]byte, error) {
	return through(l, func() ([][]byte, error) { return l.w.books.Marks(ctx, r) })
}

func (l line) Retire(ctx context.Context, r Replica) error {
	_, err := through(l, func() (int, error) { return 0, l.w.books.Retire(ctx, r) })
	return err
}

func (l line) End(ctx context.Context, r Replica) error {
	_, err := through(l, func() (int, error) { return 0, l.w.books.End(ctx, r) })
	return err
}

func (l line) Reap(ctx context.Context, silent time.Duration) (int, error) {
	lost, err := through(l, func() (int, error) { return l.w.books.Reap(ctx, silent) })
	if lost > 0 {
		l.w.loose = true
	}
	return lost, err
}

// node is one replica: its process, which starts and stops, and its disk.
type node struct {
	w           *world
	id          string
	disk        *journaltest.Disk
	log         *journal.Log // The log is nil without a journal.
	manager     *Manager
	up          bool // The process runs.
	open        bool // The process takes calls.
	pausedUntil time.Duration
	cutUntil    time.Duration
	skew        time.Duration // The wall clock is off by this much.
	renewed     time.Duration
	written     journal.LSN // Records up to this position survive a kill.
	calls       []*simCall  // These calls belong to the present process.
}

func (n *node) wall() time.Time { return time.Unix(1_800_000_000, 0).Add(n.w.now + n.skew) }

// boot starts a process.
func (n *node) boot() {
	quiet := slog.New(slog.DiscardHandler)
	o := Options{Bank: line{n.w, n}, Registry: line{n.w, n}, ReplicaID: n.id, Now: n.wall, Log: quiet}
	if n.w.o.journal {
		log, err := journal.Open(n.disk.Boot(), journal.Options{
			Owner: n.id, SegmentBytes: segmentBytes, FreeBytesMin: 1, Keep: 7 * 24 * time.Hour, ClaimBytes: 64, Now: n.wall, Log: quiet,
		})
		if err != nil {
			n.w.fail("%s: the journal does not open: %v", n.id, err)
			return
		}
		n.log, o.Journal, n.written = log, log, log.Last()
	}
	manager, err := New(o)
	if err != nil {
		n.w.fail("%s: %v", n.id, err)
		return
	}
	manager.mono = func() time.Duration { return n.w.now }
	manager.pause = func(_ context.Context, d time.Duration) error {
		n.w.now += d
		return nil
	}
	n.manager, n.up, n.open, n.calls = manager, true, false, nil
	n.w.note("%s boots", n.id)
}

const segmentBytes = 32 << 10

// recover opens the manager, or leaves that to a later attempt.
func (n *node) recover() {
	err := n.manager.Recover(context.Background())
	n.w.note("%s recovers: %v", n.id, err)
	n.open = n.open || err == nil
	n.renewed = n.w.now
	switch {
	case err == nil, transient(err), n.log != nil && n.log.Err() != nil, errors.Is(err, errMoved):
	default:
		n.w.fail("%s: recover: %v", n.id, err)
	}
}

// die ends the process. After a power cut only synced records are sure to remain.
func (n *node) die(power bool) {
	if !n.up {
		return
	}
	n.w.note("%s dies, power cut: %v", n.id, power)
	survives := n.written
	if n.log != nil {
		survives = max(survives, n.log.Durable())
		if power {
			survives = n.log.Durable()
			n.disk.Crash(n.w.r)
		} else {
			n.disk.Kill()
		}
	}
	for _, c := range n.calls {
		c.orphan(survives, n.log != nil)
	}
	n.up, n.open, n.manager, n.log, n.calls = false, false, nil, nil, nil
	n.pausedUntil = 0
}

// cutInCommit cuts the power during a write or a sync.
func (n *node) cutInCommit() {
	if n.log == nil {
		n.die(true)
		return
	}
	n.disk.CutAfter(n.w.r.IntN(3), rand.New(rand.NewPCG(n.w.r.Uint64(), 0)))
	_ = n.log.Commit()
	n.die(true)
}

// write and commit do the work of the journal's own worker.
func (n *node) write() {
	if n.log != nil && n.log.Write() == nil {
		n.written = n.log.Last()
	}
}

func (n *node) commit() {
	if n.log == nil {
		return
	}
	if n.w.chance(n.w.o.eio) {
		n.w.note("%s: the next sync fails", n.id)
		n.disk.FailSync(rand.New(rand.NewPCG(n.w.r.Uint64(), 0)))
	}
	if n.log.Commit() == nil {
		n.written = n.log.Last()
	}
	_ = n.log.Tidy()
}

// tick performs one round of every task of Run.
func (n *node) tick() {
	ctx := context.Background()
	t := n.manager
	select {
	case <-t.fenced:
		n.w.note("%s recovers", n.id)
		n.w.loose = true
		t.counters.fenced.Add(1)
		if err := t.Recover(ctx); err != nil {
			n.w.note("%s does not recover: %v", n.id, err)
			t.fence(t.table.Load())
		}
	default:
	}
	if n.w.now-n.renewed >= renewEvery {
		if t.renew(ctx) == nil {
			n.renewed = n.w.now
		}
	}
	if err := t.applyAll(ctx); err != nil {
		n.w.note("%s: apply: %v", n.id, err)
	}
	n.lookForIdle()
	n.giveAll()
	if t.reaper.steady(n.w.now) {
		_ = t.reap(ctx)
	}
}

// lookForIdle does what the manager's method does, in the order of the names.
func (n *node) lookForIdle() {
	b := n.manager.table.Load()
	for _, creditAccountID := range n.w.creditAccounts {
		if l := b.find(creditAccountID); l != nil {
			n.manager.schedule(b, l, n.w.now, n.manager.appliedTo())
		}
	}
}

// giveAll returns what is queued for return, and handles the recalls of others.
func (n *node) giveAll() {
	b := n.manager.table.Load()
	if n.w.now >= n.cutUntil {
		for _, creditAccountID := range n.w.creditAccounts {
			if l := n.w.books.leases[leaseKey{n.id, b.replica.Epoch, creditAccountID}]; l != nil && l.recalled {
				n.manager.recall(creditAccountID, 0)
			}
		}
	}
	for {
		select {
		case l := <-n.manager.returns:
			_ = n.manager.returnFree(context.Background(), l)
		case l := <-n.manager.topUps:
			if n.w.o.ahead {
				_ = n.manager.takeAhead(context.Background(), l)
			}
		default:
			return
		}
	}
}

// check compares a process's memory with its calls and with the database.
func (n *node) check() {
	if !n.open {
		return
	}
	b := n.manager.table.Load()
	if b == nil { // The manager is closed.
		return
	}
	for _, creditAccountID := range n.w.creditAccounts {
		l := b.find(creditAccountID)
		if l == nil {
			continue
		}
		var reserved app.Amount
		for _, c := range n.calls {
			reserved += c.reservedOf(l)
		}
		switch {
		case l.reserved < 0 || l.spent < 0 || l.returned < 0 || l.free() < 0:
			n.w.fail("I5: %s: lease of %s: granted %d, returned %d, spent %d, reserved %d", n.id, creditAccountID, l.granted, l.returned, l.spent, l.reserved)
		case l.reserved != reserved:
			n.w.fail("I5: %s: lease of %s has %d reserved, its calls %d", n.id, creditAccountID, l.reserved, reserved)
		case n.w.loose || b.over.Load() || l.unread:
			continue
		}
		row := n.w.books.leases[leaseKey{n.id, b.replica.Epoch, creditAccountID}]
		if row == nil || row.granted < l.granted || row.returned > l.returned || row.spent > l.spent+l.reserved {
			n.w.fail("I14: %s: lease of %s: granted %d, returned %d, spent %d; the books have %+v", n.id, creditAccountID, l.granted, l.returned, l.spent, row)
		}
	}
}

func (n *node) drop(c *simCall) {
	n.calls = slices.DeleteFunc(n.calls, func(other *simCall) bool { return other == c })
}
