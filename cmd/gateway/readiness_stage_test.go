package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/app/overload"
	"umg/app/postgres/pgtest"
	"umg/billing"
	"umg/billing/journal"
	"umg/billing/journal/journaltest"
	"umg/billing/lease"
)

// clock is a wall clock that a test moves.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time        { return time.Unix(1_800_000_000, c.nanos.Load()) }
func (c *clock) pass(by time.Duration) { c.nanos.Add(int64(by)) }

// stage is a replica with a disk, a database and a clock of its own, whose steps a scene spoils.
type stage struct {
	*testing.T
	clock
	disk  *journaltest.Disk
	hang  chan struct{} // holds writes up while it is open; nil holds none
	held  chan struct{} // tells of writes that are held up
	away  atomic.Bool   // the database
	full  atomic.Bool   // the database takes no more runs
	bank  *lease.SQLBank
	log   *journal.Log
	house *house
	heard chan string // messages of the log
}

var errAwayInTest = app.ErrStore(errors.New("the database is away"))

// Renew and Register are the steps at the books that say whether this replica lives.
func (s *stage) Renew(ctx context.Context, r lease.Replica) error {
	if s.away.Load() {
		return errAwayInTest
	}
	return s.bank.Renew(ctx, r)
}

func (s *stage) Register(ctx context.Context, id string) (lease.Start, error) {
	if s.away.Load() || s.full.Load() {
		return lease.Start{}, errAwayInTest
	}
	return s.bank.Register(ctx, id)
}

type stageBank struct {
	*lease.SQLBank
	s *stage
}

func (b stageBank) Renew(ctx context.Context, r lease.Replica) error { return b.s.Renew(ctx, r) }
func (b stageBank) Register(ctx context.Context, id string) (lease.Start, error) {
	return b.s.Register(ctx, id)
}

// stageDisk is a disk whose writes can be held up.
type stageDisk struct {
	journal.Disk
	s *stage
}

func (d stageDisk) Open(name string) (journal.File, error) {
	f, err := d.Disk.Open(name)
	return stageFile{f, d.s}, err
}

func (d stageDisk) Create(name string, size int64) (journal.File, error) {
	f, err := d.Disk.Create(name, size)
	if err != nil {
		return nil, err
	}
	return stageFile{f, d.s}, nil
}

type stageFile struct {
	journal.File
	s *stage
}

func (f stageFile) WriteAt(p []byte, at int64) (int, error) {
	if f.s.hang != nil {
		f.s.held <- struct{}{}
		<-f.s.hang
	}
	return f.File.WriteAt(p, at)
}

// Enabled, Handle, WithAttrs and WithGroup make the stage a log that tells what is said.
func (s *stage) Enabled(context.Context, slog.Level) bool { return true }
func (s *stage) Handle(_ context.Context, r slog.Record) error {
	select {
	case s.heard <- r.Message:
	default:
	}
	return nil
}
func (s *stage) WithAttrs([]slog.Attr) slog.Handler { return s }
func (s *stage) WithGroup(string) slog.Handler      { return s }

func (s *stage) hear(message string) {
	s.Helper()
	for deadline := time.After(20 * time.Second); ; {
		select {
		case said := <-s.heard:
			if strings.Contains(said, message) {
				return
			}
		case <-deadline:
			s.Fatalf("the log never says %q", message)
		}
	}
}

const (
	stageUnapplied = 6 << 20 // above what a disk that does not keep up has waiting
	stageFree      = 1 << 30
)

func newStage(t *testing.T) *stage {
	db := pgtest.New(t)
	s := &stage{T: t, disk: journaltest.New(), heard: make(chan string, 1000), held: make(chan struct{}, 10)}
	ids := app.IDs{Now: s.now, Random: rand.Reader}
	s.bank = lease.OpenBank(db, s.now, ids)
	ledger := billing.NewLedger(db, billing.Options{Now: s.now, IDs: ids, Log: slog.New(s)})
	if err := ledger.OpenAccount(t.Context(), db, "acc_1"); err != nil {
		t.Fatal(err)
	}
	s.disk.SetFree(2 * stageFree)
	var err error
	s.log, err = journal.Open(stageDisk{s.disk.Boot(), s}, journal.Options{
		Owner: "rep_1", SegmentBytes: 16 << 20, UnappliedBytesMax: stageUnapplied, FreeBytesMin: stageFree, Now: s.now, Log: slog.New(s),
	})
	if err != nil {
		t.Fatal(err)
	}
	books := stageBank{s.bank, s}
	till, err := lease.New(lease.Options{
		Bank: books, Registry: books, Journal: s.log, ReplicaID: "rep_1", Now: s.now, Log: slog.New(s),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.house = &house{journal: s.log, till: till, gate: overload.New(overload.Options{InFlightMax: 64, MemoryMax: 1 << 30})}
	t.Cleanup(func() { _ = s.log.Close() })
	return s
}

// begin makes the replica take calls.
func (s *stage) begin() {
	s.Helper()
	if err := s.house.till.Recover(s.Context()); err != nil {
		s.Fatal(err)
	}
	if err := s.house.unfit(); err != nil {
		s.Fatalf("a replica that just began is not ready: %v", err)
	}
}

// work does the till's duties until the test ends.
func (s *stage) work() {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = s.house.till.Run(ctx) })
	s.Cleanup(func() {
		s.away.Store(true) // else its end waits for what is not there
		stop()
		all.Wait()
	})
}

// append puts records of so many bytes in all into the journal.
func (s *stage) append(bytes int) {
	s.Helper()
	for data := make([]byte, 32<<10); bytes > 0; bytes -= len(data) {
		if _, err := s.log.Append('S', data); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *stage) commit() {
	s.Helper()
	if err := s.log.Commit(); err != nil {
		s.Fatal(err)
	}
}

// loseRun ends the replica's run as another process with its id does, and has the replica learn of it by a call.
func (s *stage) loseRun() {
	s.Helper()
	for len(s.heard) > 0 {
		<-s.heard
	}
	if _, err := s.bank.Register(s.Context(), "rep_1"); err != nil {
		s.Fatal(err)
	}
	if _, err := s.house.till.Hold(s.Context(), billing.HoldRequest{ID: "req_1", AccountID: "acc_1", Want: 1}); err == nil {
		s.Fatal("an account without credit gets some")
	}
}

// look lets the gate look so often at a process that holds so much. A look is every 50 ms.
func (s *stage) look(times int, held int64) {
	for range times {
		s.house.gate.Look(overload.Reading{Held: held})
	}
}
