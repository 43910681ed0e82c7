package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
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

// Of each place that refuses for the service's own sake, this says which scene of TestALastingRefusalMakesTheReplicaUnready
// shows its readiness. Where no scene is named, the text after the dash says why the replica stays ready.
var readinessOf = map[string]string{
	"billing/journal.reason: admitting": "- it refuses nothing",
	"billing/journal.reason: dead":      "the journal is dead",
	"billing/journal.reason: congested": "the journal's disk does not keep up",
	"billing/journal.reason: stalled":   "the journal's disk does not answer",
	"billing/journal.reason: behind":    "too much is not applied",
	"billing/journal.reason: late":      "a record is not applied for too long",
	"billing/journal.reason: full":      "the journal's disk is nearly full",
	"billing/journal.reason: roomless":  "the journal has no room",

	"billing/journal.Append: unavailable":              "the journal is dead",
	"billing/journal.Wait: unavailable":                "the journal is dead",
	"billing/journal.flush: unavailable":               "the journal is dead",
	"billing/journal.Claim: unavailable":               "- it renders the reasons above",
	"billing/journal.unavailable: service_unavailable": "- it renders the reasons above",

	"billing/lease.serving: errAway":               "no lease is valid",
	"billing/lease.refusal: errAway":               "the replica could not begin a new run",
	"billing/lease.Extend: errAway":                "another process has the replica's id",
	"billing/lease.put: errAway":                   "no lease is valid",
	"billing/lease.commit: errAway":                "no lease is valid",
	"billing/lease.applyDirectly: errAway":         "the replica has not begun",
	"billing/lease.Hold: unavailable":              "- it renders the reasons of the journal",
	"billing/lease.settleDirectly: unavailable":    "- one answer is kept back; what lasts is seen at the next call",
	"billing/lease.unavailable: errAway":           "- it renders the reasons of the journal",
	"billing/lease.errAway: service_unavailable":   "- it renders the reasons above",
	"billing/lease.claim: errAway":                 "- for a moment: more than 20,000 calls run, and others end",
	"billing/lease.step: errBusy":                  "- one account's calls took its credit from each other",
	"billing/lease.errBusy: service_unavailable":   "- one account's calls took its credit from each other",
	"billing/lease.storeError: billing.StoreError": "no lease is valid",
	"billing/lease.Apply: app.ErrStore":            "a record is not applied for too long",
	"billing.StoreError: app.ErrStore":             "no lease is valid",

	"app/overload.reason: full":     "all places are taken",
	"app/overload.reason: memory":   "memory is full",
	"app/overload.reason: late":     "- it lets a share of the paid calls in at any time",
	"app/overload.reason: crowd":    "- one account has its share of the places",
	"app/overload.reason: reasons":  "- it is the number of reasons",
	"app/overload.reason: open":     "- it is no reason",
	"app/overload.refuse: computed": "- it renders the reasons above",

	"app/server.drain: shutting_down": "- the process ends, and /readyz has failed since the signal came",

	// The store is away: what needs it is refused, but the calls of accounts whose credit is here are taken until no lease is valid.
	"app/account.lastGood: app.ErrStore":                "- keys that were seen before are known; see no lease is valid",
	"app/account.storeError: app.ErrStore":              "- accounts and people only, see no lease is valid",
	"app/arrival.read: app.ErrStore":                    "- a page of operators",
	"app/asset.wrap: app.ErrStore":                      "- assets only, see no lease is valid",
	"app/audit.wrap: app.ErrStore":                      "- the history only, see no lease is valid",
	"app/catalog.Cards: app.ErrStore":                   "- the history of prices only",
	"app/catalog.historyError: app.ErrStore":            "- the history of prices only",
	"app/content.wrap: app.ErrStore":                    "- kept content only",
	"app/idempotency.storeError: app.ErrStore":          "- calls with an Idempotency-Key only, see no lease is valid",
	"app/mail.wrap: app.ErrStore":                       "- mails only",
	"app/notice.wrap: app.ErrStore":                     "- notices of the console only",
	"app/operator.wrap: app.ErrStore":                   "- pages of operators only",
	"app/prompt.wrap: app.ErrStore":                     "- saved prompts only",
	"app/provider/health.storeError: store_unavailable": "- pauses by operators only",
	"app/pulse.Hour: app.ErrStore":                      "- a page of operators",
	"app/saved.wrap: app.ErrStore":                      "- saved filters only",
	"app/video.lost: app.ErrStore":                      "- videos only, see no lease is valid",
	"app/video.wrap: app.ErrStore":                      "- videos only, see no lease is valid",
	"app/webhook.wrap: app.ErrStore":                    "- webhooks only, see no lease is valid",
	"billing/stripe.wrap: billing.StoreError":           "- payments only",

	"api.carry: overloaded":                        "- for a moment: uploads that are under way end within their limit",
	"app/account.turn: busy":                       "- for a moment: passwords are hashed a few at a time",
	"app/asset.take: overloaded":                   "- for a moment: sources are looked at a few at a time",
	"app/console.live: too_many_streams":           "- one person's pages",
	"app/gateway.errMemory: service_unavailable":   "- for a moment: large translated calls end within their limit",
	"app/gateway.unrecorded: service_unavailable":  "- one answer is kept back; what lasts is seen at the next call",
	"app/gateway.Quote: service_unavailable":       "- a gateway without a ledger, which only tests have",
	"app/idempotency.Prepare: service_unavailable": "- one call took longer than its key is known",
	"app/video.Follow: service_unavailable":        "- for a moment: those who follow videos leave",

	// Providers are the same for every replica, and another replica would not reach them either.
	"app/asset.nobody: no_available_provider":                 "- one model's providers",
	"app/console.call: no_available_provider":                 "- an empty catalog: the console works, and operators fill it there",
	"app/console.sendSample: no_available_provider":           "- an empty catalog: the console works, and operators fill it there",
	"app/egress.Check: url_not_checked":                       "- one address",
	"app/gateway.Stopped: model_temporarily_unavailable":      "- one model, paused by an operator",
	"app/gateway.unavailable: no_available_provider":          "- one model's providers",
	"app/provider/health.change: traffic_control_unavailable": "- a gateway without a store, which only tests have",
	"app/video.giveUp: unavailable":                           "- one model's providers",
	"app/video.noProvider: no_available_provider":             "- one model's providers",
	"app/video.paused: model_temporarily_unavailable":         "- one model, paused by an operator",
	"app/video.recopy: unavailable":                           "- one video",
	"billing/stripe.answers: unavailable":                     "- the payment service",
	"billing/stripe.asked: unavailable":                       "- the payment service",
	"billing/stripe.open: unavailable":                        "- the payment service",
	"billing/stripe.opened: unavailable":                      "- the payment service",
	"billing/stripe.unavailable: payments_unavailable":        "- the payment service",
}

// Who adds a reason to refuse calls decides whether it lasts, and where it does, adds a scene. The test does not run beside
// tests that measure the heap.
func TestEveryReasonToRefuseCallsHasItsReadiness(t *testing.T) {
	shown := map[string]bool{}
	for _, s := range scenes {
		shown[s.name] = true
	}
	found := refusals(t)
	for _, site := range found {
		scene, listed := readinessOf[site]
		switch {
		case !listed:
			t.Errorf("%s refuses calls: say in readinessOf whether that makes the replica unready", site)
		case !strings.HasPrefix(scene, "- ") && !shown[scene]:
			t.Errorf("%s: there is no scene %q", site, scene)
		}
	}
	for site := range readinessOf {
		if !slices.Contains(found, site) {
			t.Errorf("%s is listed and refuses nothing", site)
		}
	}
}

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

// scene brings one lasting refusal about. Its words are in what /readyz says. Where moment is set, the refusal has just begun
// then and the replica is still ready.
type scene struct {
	name, words string
	play        func(s *stage, moment func())
}

var scenes = []scene{
	{"the journal is dead", "it is dead", func(s *stage, _ func()) {
		s.begin()
		s.disk.FailSync(mathrand.New(mathrand.NewPCG(1, 1)))
		s.append(1)
		if s.log.Commit() == nil {
			s.Fatal("the sync did not fail")
		}
	}},
	{"the journal's disk does not keep up", "does not keep up", func(s *stage, moment func()) {
		s.begin()
		s.append(5 << 20)
		moment()
		s.pass(6 * time.Second)
	}},
	{"the journal's disk does not answer", "does not answer", func(s *stage, moment func()) {
		s.begin()
		s.append(1)
		s.commit()
		s.hang = make(chan struct{})
		s.append(1)
		ended := make(chan error, 1)
		go func() { ended <- s.log.Commit() }()
		<-s.held
		moment()
		s.pass(6 * time.Second)
		s.Cleanup(func() {
			close(s.hang)
			if err := <-ended; err != nil {
				s.Error(err)
			}
		})
	}},
	{"too much is not applied", "too much is not applied", func(s *stage, _ func()) {
		s.begin()
		for range 4 {
			s.append(2 << 20)
			s.commit()
		}
	}},
	{"a record is not applied for too long", "too old", func(s *stage, moment func()) {
		s.begin()
		s.append(1)
		s.commit()
		moment()
		s.pass(11 * time.Minute)
	}},
	{"the journal's disk is nearly full", "nearly full", func(s *stage, _ func()) {
		s.begin()
		s.disk.SetFree(stageFree - 1)
		if err := s.log.Tidy(); err != nil {
			s.Fatal(err)
		}
	}},
	{"the journal has no room", "no room is prepared", func(s *stage, _ func()) {
		s.disk.SetFree(0)
		log, err := journal.Open(s.disk.Boot(), journal.Options{Owner: "rep_2", FreeBytesMin: -1, Now: s.now})
		if err != nil {
			s.Fatal(err)
		}
		s.house.till, err = lease.New(lease.Options{
			Bank: s.bank, Registry: s.bank, Journal: log, ReplicaID: "rep_2", Now: s.now, Log: slog.New(s),
		})
		if err != nil {
			s.Fatal(err)
		}
		if err := s.house.till.Recover(s.Context()); err != nil {
			s.Fatal(err)
		}
	}},
	{"the replica has not begun", "not open", func(*stage, func()) {}},
	{"no lease is valid", "no lease is valid", func(s *stage, moment func()) {
		s.begin()
		s.away.Store(true)
		s.pass(74 * time.Second)
		moment()
		s.pass(2 * time.Second)
		moment() // its calls are refused now
		s.pass(5 * time.Second)
	}},
	{"the replica could not begin a new run", "could not begin a new run", func(s *stage, moment func()) {
		s.begin()
		s.work()
		s.full.Store(true)
		s.loseRun()
		s.hear("could not begin anew")
		moment()
		s.pass(6 * time.Second)
		s.hear("could not begin anew")
	}},
	{"another process has the replica's id", "another process uses its replica id", func(s *stage, moment func()) {
		s.begin()
		s.work()
		for range 3 {
			moment()
			s.loseRun()
			s.hear("the till is open")
		}
	}},
	{"all places are taken", "places have been taken", func(s *stage, moment func()) {
		s.begin()
		for range 64 {
			if _, err := s.house.gate.Enter(false); err != nil {
				s.Fatal(err)
			}
		}
		s.look(500, 0)
		moment()
		s.look(200, 0)
	}},
	{"memory is full", "memory has been full", func(s *stage, moment func()) {
		s.begin()
		s.look(500, 1<<30)
		moment()
		s.look(200, 1<<30)
	}},
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

// It does not run beside tests that measure the heap.
func TestALastingRefusalMakesTheReplicaUnready(t *testing.T) {
	for _, c := range scenes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			c.play(s, func() {
				t.Helper()
				if err := s.house.unfit(); err != nil {
					t.Errorf("for a moment, and not ready: %v", err)
				}
			})
			if err := s.house.unfit(); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("/readyz says %v, not %q", err, c.words)
			}
		})
	}
}

// While calls end and others take their places, a replica is busy and not shut.
// It does not run beside tests that measure the heap.
func TestABusyReplicaIsReady(t *testing.T) {
	s := newStage(t)
	s.begin()
	gate := s.house.gate
	var last overload.Place
	for range 64 {
		last, _ = gate.Enter(false)
	}
	for range 1000 {
		last.Leave()
		var err error
		if last, err = gate.Enter(false); err != nil {
			t.Fatal(err)
		}
		s.look(1, 0)
	}
	if err := s.house.unfit(); err != nil {
		t.Error(err)
	}
}
