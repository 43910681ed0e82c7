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
	"umg/app/admission"
	"umg/app/postgres/pgtest"
	"umg/billing"
	"umg/billing/journal"
	"umg/billing/journal/journaltest"
	"umg/billing/lease"
)

// clock is a wall clock that a test advances.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time        { return time.Unix(1_800_000_000, c.nanos.Load()) }
func (c *clock) pass(by time.Duration) { c.nanos.Add(int64(by)) }

// replicaFixture is a replica with its own disk, database and clock, whose operations a case can make fail.
type replicaFixture struct {
	*testing.T
	clock
	disk   *journaltest.Disk
	hang   chan struct{} // While it is open, writes block; nil blocks none.
	held   chan struct{} // It receives a value for each blocked write.
	away   atomic.Bool   // The database is unreachable.
	full   atomic.Bool   // The database refuses new epochs.
	bank   *lease.SQLStore
	log    *journal.Log
	server *gatewayServer
	heard  chan string // The log's messages arrive here.
}

var errAwayInTest = app.ErrStore(errors.New("the database is away"))

// Renew and Register are the database operations that keep this replica alive.
func (s *replicaFixture) Renew(ctx context.Context, r lease.Replica) error {
	if s.away.Load() {
		return errAwayInTest
	}
	return s.bank.Renew(ctx, r)
}

func (s *replicaFixture) Register(ctx context.Context, id string) (lease.Start, error) {
	if s.away.Load() || s.full.Load() {
		return lease.Start{}, errAwayInTest
	}
	return s.bank.Register(ctx, id)
}

type fixtureStore struct {
	*lease.SQLStore
	s *replicaFixture
}

func (b fixtureStore) Renew(ctx context.Context, r lease.Replica) error { return b.s.Renew(ctx, r) }
func (b fixtureStore) Register(ctx context.Context, id string) (lease.Start, error) {
	return b.s.Register(ctx, id)
}

// fixtureDisk is a disk whose writes can be blocked.
type fixtureDisk struct {
	journal.Disk
	s *replicaFixture
}

func (d fixtureDisk) Open(name string) (journal.File, error) {
	f, err := d.Disk.Open(name)
	return fixtureFile{f, d.s}, err
}

func (d fixtureDisk) Create(name string, size int64) (journal.File, error) {
	f, err := d.Disk.Create(name, size)
	if err != nil {
		return nil, err
	}
	return fixtureFile{f, d.s}, nil
}

type fixtureFile struct {
	journal.File
	s *replicaFixture
}

func (f fixtureFile) WriteAt(p []byte, at int64) (int, error) {
	if f.s.hang != nil {
		f.s.held <- struct{}{}
		<-f.s.hang
	}
	return f.File.WriteAt(p, at)
}

// Enabled, Handle, WithAttrs and WithGroup make the fixture a slog handler that passes on messages.
func (s *replicaFixture) Enabled(context.Context, slog.Level) bool { return true }
func (s *replicaFixture) Handle(_ context.Context, r slog.Record) error {
	select {
	case s.heard <- r.Message:
	default:
	}
	return nil
}
func (s *replicaFixture) WithAttrs([]slog.Attr) slog.Handler { return s }
func (s *replicaFixture) WithGroup(string) slog.Handler      { return s }

func (s *replicaFixture) hear(message string) {
	s.Helper()
	for deadline := time.After(20 * time.Second); ; {
		select {
		case got := <-s.heard:
			if strings.Contains(got, message) {
				return
			}
		case <-deadline:
			s.Fatalf("the log never says %q", message)
		}
	}
}

const (
	fixtureUnapplied = 6 << 20 // This exceeds what a slow disk may have waiting.
	fixtureFree      = 1 << 30
)

func newFixture(t *testing.T) *replicaFixture {
	db := pgtest.New(t)
	s := &replicaFixture{T: t, disk: journaltest.New(), heard: make(chan string, 1000), held: make(chan struct{}, 10)}
	ids := app.IDs{Now: s.now, Random: rand.Reader}
	s.bank = lease.OpenBank(db, s.now, ids)
	ledger := billing.NewLedger(db, billing.Options{Now: s.now, IDs: ids, Log: slog.New(s)})
	if err := ledger.OpenAccount(t.Context(), db, "acc_1"); err != nil {
		t.Fatal(err)
	}
	s.disk.SetFree(2 * fixtureFree)
	var err error
	s.log, err = journal.Open(fixtureDisk{s.disk.Boot(), s}, journal.Options{
		Owner: "rep_1", SegmentBytes: 16 << 20, UnappliedBytesMax: fixtureUnapplied, FreeBytesMin: fixtureFree, Now: s.now, Log: slog.New(s),
	})
	if err != nil {
		t.Fatal(err)
	}
	store := fixtureStore{s.bank, s}
	leases, err := lease.New(lease.Options{
		Bank: store, Registry: store, Journal: s.log, ReplicaID: "rep_1", Now: s.now, Log: slog.New(s),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.server = &gatewayServer{
		billing:  billingLayer{journal: s.log, leases: leases},
		services: serviceLayer{admission: admission.New(admission.Options{InFlightMax: 64, MemoryMax: 1 << 30})},
	}
	t.Cleanup(func() { _ = s.log.Close() })
	return s
}

// begin opens the replica for calls.
func (s *replicaFixture) begin() {
	s.Helper()
	if err := s.server.billing.leases.Recover(s.Context()); err != nil {
		s.Fatal(err)
	}
	if err := s.server.notReadyReason(); err != nil {
		s.Fatalf("a replica that just began is not ready: %v", err)
	}
}

// work runs the lease manager's worker until the test ends.
func (s *replicaFixture) work() {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = s.server.billing.leases.Run(ctx) })
	s.Cleanup(func() {
		s.away.Store(true) // The shutdown would otherwise wait for the missing database.
		stop()
		all.Wait()
	})
}

// append writes records of the given total size into the journal.
func (s *replicaFixture) append(bytes int) {
	s.Helper()
	for data := make([]byte, 32<<10); bytes > 0; bytes -= len(data) {
		if _, err := s.log.Append('S', data); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *replicaFixture) commit() {
	s.Helper()
	if err := s.log.Commit(); err != nil {
		s.Fatal(err)
	}
}

// loseRun ends the replica's epoch as another process with its id does. A call makes the replica notice.
func (s *replicaFixture) loseRun() {
	s.Helper()
	for len(s.heard) > 0 {
		<-s.heard
	}
	if _, err := s.bank.Register(s.Context(), "rep_1"); err != nil {
		s.Fatal(err)
	}
	if _, err := s.server.billing.leases.Hold(s.Context(), billing.HoldRequest{ID: "req_1", AccountID: "acc_1", Want: 1}); err == nil {
		s.Fatal("an account without credit gets some")
	}
}

// look runs a number of admission checks on a process with that much memory. Checks are 50 ms apart.
func (s *replicaFixture) look(times int, held int64) {
	for range times {
		s.server.services.admission.Look(admission.Sample{Held: held})
	}
}
