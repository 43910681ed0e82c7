package health_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/health"
)

// TestMain proves that no worker leaves a goroutine behind. The test cluster and the pools on it live as long as the test binary.
func TestMain(m *testing.M) {
	apptest.VerifyNoLeaks(m)
}

// clock is the time of a test, which moves only when told.
type clock struct{ passed atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(c.passed.Load()))
}
func (c *clock) advance(d time.Duration) { c.passed.Add(int64(d)) }

func never(int) int { return 0 }

func monitor() (*health.Monitor, *clock) {
	c := &clock{}
	return health.New(health.Options{Now: c.now, Random: never}), c
}

const ejection = 30 * time.Second

// upstream is a route of a provider with so many credentials.
func upstream(credentials ...string) *catalog.Route {
	p := &catalog.Provider{
		ID: "meridian", Breaker: catalog.Breaker{Failures: 5, FailurePercent: 50, CallsMin: 20, Ejection: ejection, EjectionMax: 10 * ejection},
	}
	for _, c := range append(credentials, "last") {
		p.Credentials = append(p.Credentials, catalog.NewSecret(c))
	}
	return &catalog.Route{ID: "r", Provider: p, Model: "up", Timeouts: catalog.Timeouts{FirstByte: 10 * time.Second}}
}

func fault(c provider.Class, status int) *provider.Fault {
	f := provider.NewFault(c, errors.New("broken"))
	f.Status = status
	return f
}

func broken() *provider.Fault { return fault(provider.ClassServer, 500) }

// call makes one attempt, which must be let through.
func call(t testing.TB, m *health.Monitor, r *catalog.Route, f *provider.Fault) {
	t.Helper()
	try, block := m.Begin(r, false)
	if block != "" {
		t.Fatalf("the attempt is not let through: %s", block)
	}
	try.End(f, time.Millisecond)
}

// eject makes a route fail until it is ejected.
func eject(t testing.TB, m *health.Monitor, r *catalog.Route) {
	t.Helper()
	for range r.Provider.Breaker.Failures {
		call(t, m, r, broken())
	}
	if got := m.Blocked(r); got != health.Ejected {
		t.Fatalf("after %d failures the block is %q", r.Provider.Breaker.Failures, got)
	}
}

func wantBlock(t testing.TB, m *health.Monitor, r *catalog.Route, want health.Block) {
	t.Helper()
	if got := m.Blocked(r); got != want {
		t.Fatalf("Blocked = %q, want %q", got, want)
	}
	try, got := m.Begin(r, false)
	if got != want {
		t.Fatalf("Begin = %q, want %q", got, want)
	}
	try.End(provider.NewFault(provider.ClassClient, app.Errorf(app.Canceled, "left", "left")), 0) // The outcome says nothing about the route.
}
