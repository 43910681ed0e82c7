package lease

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"umg/app"
	"umg/billing"
	"umg/billing/journal"
	"umg/billing/journal/journaltest"
)

// sharedBooks is the simulated database for workers that run at the same time.
type sharedBooks struct {
	mu    sync.Mutex
	books *books
	began time.Time
	away  bool
	hangs time.Duration // A caller waits this long before it learns that the database is away.
}

// goAway makes the database unreachable, or reachable again.
func (s *sharedBooks) goAway(away bool, hangs time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.hangs = away, hangs
}

func newSharedBooks() *sharedBooks { return &sharedBooks{books: newBooks(), began: time.Now()} }

func exclusively[T any](s *sharedBooks, ask func(*books) (T, error)) (answer T, err error) {
	s.mu.Lock()
	away, hangs := s.away, s.hangs
	s.mu.Unlock()
	if away {
		time.Sleep(hangs)
		return answer, errLine
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books.now = time.Hour + time.Since(s.began)
	return ask(s.books)
}

func (s *sharedBooks) Renew(ctx context.Context, r Replica) error {
	_, err := exclusively(s, func(b *books) (int, error) { return 0, b.Renew(ctx, r) })
	return err
}

func (s *sharedBooks) Take(ctx context.Context, r Replica, a TakeRequest) (LeaseState, error) {
	return exclusively(s, func(b *books) (LeaseState, error) { return b.Take(ctx, r, a) })
}

func (s *sharedBooks) Return(ctx context.Context, r Replica, creditAccountID string, total app.Amount) (LeaseState, error) {
	return exclusively(s, func(b *books) (LeaseState, error) { return b.Return(ctx, r, creditAccountID, total) })
}

func (s *sharedBooks) Recalled(ctx context.Context, r Replica) ([]string, error) {
	return exclusively(s, func(b *books) ([]string, error) { return b.Recalled(ctx, r) })
}

func (s *sharedBooks) Apply(ctx context.Context, r Replica, batch Batch) (journal.LSN, error) {
	return exclusively(s, func(b *books) (journal.LSN, error) { return b.Apply(ctx, r, batch) })
}

func (s *sharedBooks) Register(ctx context.Context, id string) (Start, error) {
	return exclusively(s, func(b *books) (Start, error) { return b.Register(ctx, id) })
}

func (s *sharedBooks) Marks(ctx context.Context, r Replica) ([][]byte, error) {
	return exclusively(s, func(b *books) ([][]byte, error) { return b.Marks(ctx, r) })
}

func (s *sharedBooks) Retire(ctx context.Context, r Replica) error {
	_, err := exclusively(s, func(b *books) (int, error) { return 0, b.Retire(ctx, r) })
	return err
}

func (s *sharedBooks) End(ctx context.Context, r Replica) error {
	_, err := exclusively(s, func(b *books) (int, error) { return 0, b.End(ctx, r) })
	return err
}

func (s *sharedBooks) Reap(ctx context.Context, silent time.Duration) (int, error) {
	return exclusively(s, func(b *books) (int, error) { return b.Reap(ctx, silent) })
}

// These sizes are a thousandth of the real ones.
const (
	restartSegment   = 64 << 10
	restartUnapplied = 512 << 10
	restartFree      = 1 << 20
)

// replica is a lease manager with its journal, over a database and a disk that survive it.
type replica struct {
	t     testing.TB
	books *sharedBooks
	disk  *journaltest.Disk

	manager      *Manager
	log          *journal.Log
	stop         func()
	ids, charged int
}

func newReplica(t testing.TB) *replica {
	r := &replica{t: t, books: newSharedBooks(), disk: journaltest.New()}
	r.books.books.open("acc_1", false, false)
	r.books.books.grant("acc_1", 1_000_000_000, 0)
	return r
}

func (r *replica) start() {
	r.open()
	if err := r.manager.Recover(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	var settling, writing sync.WaitGroup
	settle, stopSettling := context.WithCancel(context.Background())
	write, stopWriting := context.WithCancel(context.Background())
	manager, log := r.manager, r.log
	settling.Go(func() { _ = manager.Run(settle) })
	writing.Go(func() { _ = log.Run(write) })
	r.stop = func() {
		r.stop = func() {}
		stopSettling()
		settling.Wait()
		stopWriting()
		writing.Wait()
		_ = log.Close()
	}
}

// open makes the journal and the manager of a replica that does not run yet.
func (r *replica) open() {
	r.t.Helper()
	var err error
	r.log, err = journal.Open(r.disk.Boot(), journal.Options{
		Owner: "r", SegmentBytes: restartSegment, ClaimBytes: 1024, UnappliedBytesMax: restartUnapplied, FreeBytesMin: restartFree,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.manager, err = New(Options{
		Bank: r.books, Registry: r.books, Journal: r.log, ReplicaID: "r", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// call makes a call and returns the error of its hold.
func (r *replica) call(pieces int) error {
	r.ids++
	id := fmt.Sprint("req_", r.ids)
	h, err := r.manager.Hold(r.t.Context(), billing.HoldRequest{ID: id, AccountID: "acc_1", Want: 1})
	if err != nil {
		return err
	}
	for range pieces {
		r.manager.Progress(h, settlementOf(id, 1))
	}
	err = r.manager.Settle(r.t.Context(), h, settlementOf(id, 1))
	if err == nil {
		r.charged++
	}
	return err
}

func (r *replica) mustCall(times, pieces int) {
	r.t.Helper()
	for range times {
		if err := r.call(pieces); err != nil {
			r.t.Fatalf("call %d: %v", r.ids, err)
		}
		synctest.Wait() // The journal prepares its next segment in the meantime.
	}
}

// fill makes calls until the journal has the given number of segments, while the database keeps up.
func (r *replica) fill(segments int64) {
	r.t.Helper()
	for r.log.Stats().Segments < segments {
		r.mustCall(10, 5)
		if err := r.manager.Booked(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// emptyTail cuts the power after a segment was begun and before its first record is written, and starts again.
func (r *replica) emptyTail() {
	r.t.Helper()
	const beforeRecord = 3 // These are syncs of the last segment, and a write and a sync of the next segment's header.
	segments, last := r.log.Stats().Segments, r.log.Last()
	for seed := uint64(0); r.log.Err() == nil; seed++ {
		if err := r.manager.Booked(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		last = r.log.Last()
		r.disk.CutAfter(beforeRecord, rand.New(rand.NewPCG(seed, 1)))
		_ = r.call(0)
	}
	r.disk.Crash(rand.New(rand.NewPCG(1, 1)))
	r.stop()
	r.start()
	if s := r.log.Stats(); s.Segments != segments+1 || s.Last != last {
		r.t.Fatalf("the last segment is not empty: %d segments to %d, then %d to %d", segments, last, s.Segments, s.Last)
	}
}

// admittedWithin expects a call to be admitted within the given time.
func (r *replica) admittedWithin(limit time.Duration) {
	r.t.Helper()
	began := time.Now()
	err := r.call(0)
	for err != nil && time.Since(began) < limit {
		time.Sleep(50 * time.Millisecond)
		err = r.call(0)
	}
	if err != nil {
		r.t.Fatalf("no call is taken after %v: %v", limit, err)
	}
}

// restartCase is how a process ends, how long the replica is down, what is kept, and what the next process meets.
type restartCase struct {
	end     string
	down    time.Duration
	kept    string
	idle    time.Duration
	missing int64 // The disk has this many bytes fewer than it should have free.
}

func restartCases() (all []restartCase) {
	for _, end := range []string{"clean", "killed", "power cut"} {
		for _, down := range []time.Duration{0, 12 * time.Minute, 9 * 24 * time.Hour} {
			for _, kept := range []string{"nothing", "three calls", "many segments", "empty tail"} {
				for _, idle := range []time.Duration{0, time.Hour} {
					for _, missing := range []int64{0, 1, 3 * restartSegment} {
						noneToRemove, tooLong := missing > 0 && kept != "many segments", idle > 0 && down > time.Hour
						if noneToRemove || tooLong {
							continue
						}
						all = append(all, restartCase{end, down, kept, idle, missing})
					}
				}
			}
		}
	}
	return all
}

func (c restartCase) String() string {
	return fmt.Sprintf("%s, down %v, %s, idle %v, %d bytes short", c.end, c.down, c.kept, c.idle, c.missing)
}

// TestCallsAreTakenSoonAfterEveryRestart expects applied records not to count as unapplied after a restart, whatever the
// journal keeps and however long no call is made.
func TestCallsAreTakenSoonAfterEveryRestart(t *testing.T) {
	t.Parallel()
	for _, c := range restartCases() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { c.play(t) })
		})
	}
}

func (c restartCase) play(t *testing.T) {
	r := newReplica(t)
	r.start()
	t.Cleanup(func() { r.stop() })
	switch c.kept {
	case "three calls":
		r.mustCall(3, 0)
	case "many segments":
		r.fill(3 * restartUnapplied / restartSegment)
	case "empty tail":
		r.fill(3)
		r.emptyTail()
	}
	if c.end == "clean" {
		r.stop()
	} else { // The process dies during a call that has marks.
		h, err := r.manager.Hold(t.Context(), billing.HoldRequest{ID: "req_cut", AccountID: "acc_1", Want: 1})
		if err != nil {
			t.Fatal(err)
		}
		r.manager.Progress(h, settlementOf("req_cut", 1))
		if c.end == "killed" {
			time.Sleep(10 * time.Millisecond)
			r.disk.Kill()
		} else {
			r.disk.Crash(rand.New(rand.NewPCG(1, 1)))
		}
		r.stop()
	}
	time.Sleep(c.down)
	if c.missing > 0 {
		r.disk.SetFree(restartFree - c.missing)
	}
	r.start()
	before := r.log.Stats().Segments
	time.Sleep(c.idle)
	r.admittedWithin(2 * time.Second)
	if after := r.log.Stats().Segments; c.missing > 0 && after > before {
		t.Errorf("%d segments became %d on a disk that is short of room", before, after)
	}
	if err := r.manager.Booked(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := r.log.Stats(); s.UnappliedBytes != 0 || s.UnappliedAge != 0 {
		t.Errorf("all is applied, and %+v", s)
	}
	if charged := r.books.books.charged["acc_1"]; int(charged) < r.charged {
		t.Errorf("%d calls were answered, %d charged", r.charged, charged)
	}
}
