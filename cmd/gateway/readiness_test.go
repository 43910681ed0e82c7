package main

import (
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app/admission"
	"umg/billing/journal"
	"umg/billing/lease"
)

// For each place that refuses because of the service itself, this names the case of
// TestALastingRefusalMakesTheReplicaUnready that shows its readiness. Without a case, the text after the dash says why the
// replica stays ready.
var readinessOf = map[string]string{
	"billing/journal.reason: admitting": "- it refuses nothing",
	"billing/journal.reason: dead":      "the journal is dead",
	"billing/journal.reason: congested": "the journal's disk does not keep up",
	"billing/journal.reason: stalled":   "the journal's disk does not answer",
	"billing/journal.reason: behind":    "too much is not applied",
	"billing/journal.reason: late":      "a record is not applied for too long",
	"billing/journal.reason: full":      "the journal's disk is nearly full",
	"billing/journal.reason: roomless":  "the journal has no room",

	"billing/journal.append: unavailable":              "the journal is dead",
	"billing/journal.Wait: unavailable":                "the journal is dead",
	"billing/journal.flush: unavailable":               "the journal is dead",
	"billing/journal.Claim: unavailable":               "- it renders the reasons above",
	"billing/journal.unavailable: service_unavailable": "- it renders the reasons above",

	"billing/lease.serving: errAway":                     "no lease is valid",
	"billing/lease.refusal: errAway":                     "the replica could not begin a new run",
	"billing/lease.extend: errAway":                      "another process has the replica's id",
	"billing/lease.put: errAway":                         "no lease is valid",
	"billing/lease.commit: errAway":                      "no lease is valid",
	"billing/lease.applyDirectly: errAway":               "the replica has not begun",
	"billing/lease.Hold: unavailable":                    "- it renders the reasons of the journal",
	"billing/lease.settleDirectly: unavailable":          "- one answer is kept back; what lasts is seen at the next call",
	"billing/lease.unavailable: errAway":                 "- it renders the reasons of the journal",
	"billing/lease.errAway: service_unavailable":         "- it renders the reasons above",
	"billing/lease.claim: errAway":                       "- for a moment: more than 20,000 calls run, and others end",
	"billing/lease.step: errTooManyTakes":                "- one account's calls took its credit from each other",
	"billing/lease.errTooManyTakes: service_unavailable": "- one account's calls took its credit from each other",
	"billing/lease: postgres.StoreError":                 "no lease is valid",
	"billing/lease.Apply: app.ErrStore":                  "a record is not applied for too long",
	"app/provider/check.Start: shutting_down":            "- tests of operators, and the process ends",
	"app/provider/check: postgres.StoreError":            "- what tests of operators cost; the test itself goes on",
	"app/provider/credentialstore: postgres.StoreError":  "- pages and commands of operators; the catalog keeps its values",
	"app/provider/spend: postgres.StoreError":            "- the last sums stay in force, see no lease is valid",
	"app/postgres.StoreError: app.ErrStore":              "no lease is valid",
	"billing: postgres.StoreError":                       "no lease is valid",
	"billing/usage: postgres.StoreError":                 "- reports only, see no lease is valid",

	"app/admission.reason: placesFull":  "all places are taken",
	"app/admission.reason: memory":      "memory is full",
	"app/admission.reason: late":        "- it lets a share of the paid calls in at any time",
	"app/admission.reason: accountFull": "- one account has its share of the places",
	"app/admission.reason: reasons":     "- it is the number of reasons",
	"app/admission.refuse: computed":    "- it renders the reasons above",

	"app/admission.reason: bodies":        "- for a moment: a body comes within two minutes, and is let go when its provider answers",
	"app/admission.reason: accountBodies": "- one account has its share of the bodies",

	"app/server.sameOrigin: computed": "- it says when to try again, and refuses nothing",

	"app/server.drain: shutting_down": "- the process ends, and /readyz has failed since the signal came",

	// When the store is unavailable, requests that need it fail. Calls of accounts with leased credit are accepted until no
	// lease is valid.
	"app/apikey.lastGood: app.ErrStore":           "- keys that were seen before are known; see no lease is valid",
	"app/account: postgres.StoreError":            "- accounts and people only, see no lease is valid",
	"app/traffic.List: app.ErrStore":              "- a page of operators",
	"app/apikey: postgres.StoreError":             "- keys in the console and the API for keys only, see no lease is valid",
	"app/asset: postgres.StoreError":              "- assets only, see no lease is valid",
	"app/audit: postgres.StoreError":              "- the history only, see no lease is valid",
	"app/catalog.pastCard: app.ErrStore":          "- the history of prices only",
	"app/catalog.historyError: app.ErrStore":      "- the history of prices only",
	"app/catalog: postgres.StoreError":            "- pages of operators only",
	"app/contentlog: postgres.StoreError":         "- kept content only",
	"app/idempotency: postgres.StoreError":        "- calls with an Idempotency-Key only, see no lease is valid",
	"app/mail: postgres.StoreError":               "- mails only",
	"app/notification: postgres.StoreError":       "- notifications of the console only",
	"app/operator: postgres.StoreError":           "- pages of operators only",
	"app/prompt: postgres.StoreError":             "- saved prompts only",
	"app/provider/health: postgres.StoreError":    "- pauses by operators only",
	"app/provider/selection: postgres.StoreError": "- pages of operators only",
	"app/refusal: postgres.StoreError":            "- refused requests in the console only",
	"app/setup: postgres.StoreError":              "- the set-up of an empty gateway only",
	"app/traffic.Hour: app.ErrStore":              "- a page of operators",
	"app/trial: postgres.StoreError":              "- trial credit only",
	"app/video.lost: app.ErrStore":                "- videos only, see no lease is valid",
	"app/video: postgres.StoreError":              "- videos only, see no lease is valid",
	"app/webhook: postgres.StoreError":            "- webhooks only, see no lease is valid",
	"app/workqueue: postgres.StoreError":          "- pages of operators only",
	"billing/stripe: postgres.StoreError":         "- payments only",

	"app/account.turn: busy":                          "- for a moment: passwords are hashed a few at a time",
	"app/asset.take: overloaded":                      "- for a moment: sources are looked at a few at a time",
	"app/console/page.StreamEvents: too_many_streams": "- one person's pages",
	"app/gateway.errMemory: service_unavailable":      "- for a moment: large translated calls end within their limit",
	"app/gateway.settle: service_unavailable":         "- one answer is kept back; what lasts is seen at the next call",
	"app/gateway.Quote: service_unavailable":          "- a gateway without a ledger, which only tests have",
	"app/idempotency.Prepare: service_unavailable":    "- one call took longer than its key is known",
	"app/video.Follow: service_unavailable":           "- for a moment: those who follow videos leave",

	// Providers are the same for every replica, and another replica would not reach them either.
	"app/asset.notFound: no_available_provider":               "- one model's providers",
	"app/provider.fault: no_available_provider":               "- one model's providers",
	"app/console/playground.call: no_available_provider":      "- an empty catalog: the console works, and operators fill it there",
	"app/console.sendSample: no_available_provider":           "- an empty catalog: the console works, and operators fill it there",
	"app/egress.Check: url_not_checked":                       "- one address",
	"app/gateway.ErrModelPaused: computed":                    "- one model, paused by an operator",
	"app/gateway.errNoProvider: computed":                     "- one model's providers",
	"app/provider/health.change: traffic_control_unavailable": "- a gateway without a store, which only tests have",
	"app/video.giveUp: unavailable":                           "- one model's providers",
	"app/video.noProvider: no_available_provider":             "- one model's providers",
	"app/video.paused: model_temporarily_unavailable":         "- one model, paused by an operator",
	"app/video.recopy: unavailable":                           "- one video",
	"billing/stripe.checkID: unavailable":                     "- the payment service",
	"billing/stripe.requestError: unavailable":                "- the payment service",
	"billing/stripe.open: unavailable":                        "- the payment service",
	"billing/stripe.opened: unavailable":                      "- the payment service",
	"billing/stripe.unavailable: payments_unavailable":        "- the payment service",
}

// A developer who adds a reason to refuse calls decides whether it lasts, and adds a case if it does. The test must not run
// beside tests that measure the heap.
func TestEveryReasonToRefuseCallsHasItsReadiness(t *testing.T) {
	shown := map[string]bool{}
	for _, s := range refusalCases {
		shown[s.name] = true
	}
	found := refusals(t)
	for _, site := range found {
		shownBy, listed := readinessOf[site]
		switch {
		case !listed:
			t.Errorf("%s refuses calls: say in readinessOf whether that makes the replica unready", site)
		case !strings.HasPrefix(shownBy, "- ") && !shown[shownBy]:
			t.Errorf("%s: there is no case %q", site, shownBy)
		}
	}
	for site := range readinessOf {
		if !slices.Contains(found, site) {
			t.Errorf("%s is listed and refuses nothing", site)
		}
	}
}

// refusalCase causes one lasting refusal. Its words are part of the /readyz response. Where it calls moment, the refusal has just
// begun and the replica must still be ready.
type refusalCase struct {
	name, words string
	cause       func(s *replicaFixture, moment func())
}

var refusalCases = []refusalCase{
	{"the journal is dead", "it is dead", func(s *replicaFixture, _ func()) {
		s.begin()
		s.disk.FailSync(mathrand.New(mathrand.NewPCG(1, 1)))
		s.append(1)
		if s.log.Commit() == nil {
			s.Fatal("the sync did not fail")
		}
	}},
	{"the journal's disk does not keep up", "does not keep up", func(s *replicaFixture, moment func()) {
		s.begin()
		s.append(5 << 20)
		moment()
		s.pass(6 * time.Second)
	}},
	{"the journal's disk does not answer", "does not answer", func(s *replicaFixture, moment func()) {
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
	{"too much is not applied", "too much is not applied", func(s *replicaFixture, _ func()) {
		s.begin()
		for range 4 {
			s.append(2 << 20)
			s.commit()
		}
	}},
	{"a record is not applied for too long", "too old", func(s *replicaFixture, moment func()) {
		s.begin()
		s.append(1)
		s.commit()
		moment()
		s.pass(11 * time.Minute)
	}},
	{"the journal's disk is nearly full", "nearly full", func(s *replicaFixture, _ func()) {
		s.begin()
		s.disk.SetFree(fixtureFree - 1)
		if err := s.log.Tidy(); err != nil {
			s.Fatal(err)
		}
	}},
	{"the journal has no room", "no room is prepared", func(s *replicaFixture, _ func()) {
		s.disk.SetFree(0)
		log, err := journal.Open(s.disk.Boot(), journal.Options{Owner: "rep_2", FreeBytesMin: -1, Now: s.now})
		if err != nil {
			s.Fatal(err)
		}
		s.server.billing.leases, err = lease.New(lease.Options{
			Bank: s.bank, Registry: s.bank, Journal: log, ReplicaID: "rep_2", Now: s.now, Log: slog.New(s),
		})
		if err != nil {
			s.Fatal(err)
		}
		if err := s.server.billing.leases.Recover(s.Context()); err != nil {
			s.Fatal(err)
		}
	}},
	{"the replica has not begun", "lease manager is not ready", func(*replicaFixture, func()) {}},
	{"no lease is valid", "no lease is valid", func(s *replicaFixture, moment func()) {
		s.begin()
		s.away.Store(true)
		s.pass(74 * time.Second)
		moment()
		s.pass(2 * time.Second)
		moment() // The replica refuses calls now.
		s.pass(5 * time.Second)
	}},
	{"the replica could not begin a new run", "could not begin a new run", func(s *replicaFixture, moment func()) {
		s.begin()
		s.work()
		s.full.Store(true)
		s.loseRun()
		s.hear("replica recovery failed")
		moment()
		s.pass(6 * time.Second)
		s.hear("replica recovery failed")
	}},
	{"another process has the replica's id", "another process uses its replica id", func(s *replicaFixture, moment func()) {
		s.begin()
		s.work()
		for range 3 {
			moment()
			s.loseRun()
			s.hear("lease manager ready")
		}
	}},
	{"all places are taken", "places have been taken", func(s *replicaFixture, moment func()) {
		s.begin()
		for range 64 {
			if _, err := s.server.services.admission.Enter(false); err != nil {
				s.Fatal(err)
			}
		}
		s.look(500, 0)
		moment()
		s.look(200, 0)
	}},
	{"memory is full", "memory has been full", func(s *replicaFixture, moment func()) {
		s.begin()
		s.look(500, 1<<30)
		moment()
		s.look(200, 1<<30)
	}},
}

// The test must not run beside tests that measure the heap.
func TestALastingRefusalMakesTheReplicaUnready(t *testing.T) {
	for _, c := range refusalCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			c.cause(s, func() {
				t.Helper()
				if err := s.server.notReadyReason(); err != nil {
					t.Errorf("a refusal that has just begun makes the replica unready: %v", err)
				}
			})
			if err := s.server.notReadyReason(); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("/readyz says %v, not %q", err, c.words)
			}
		})
	}
}

// A replica whose full capacity is in use stays ready while calls end and others begin. The test must not run beside tests
// that measure the heap.
func TestABusyReplicaIsReady(t *testing.T) {
	s := newFixture(t)
	s.begin()
	gate := s.server.services.admission
	var last admission.Place
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
	if err := s.server.notReadyReason(); err != nil {
		t.Error(err)
	}
}
