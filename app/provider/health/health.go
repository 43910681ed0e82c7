// Package health tracks the health of providers as this replica observes it: ejected models, credentials in cooldown, the use of a
// provider's own limits, times to first byte, and pauses of operators. Callers ask Monitor.Begin before each attempt, and report its
// result to Try.End.
package health

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/catalog"
	"umg/app/postgres"
)

// Options configure a Monitor. Now and Random are required.
type Options struct {
	Now    app.Clock
	Random func(n int) int // Random returns a number from 0 to n-1.

	DB      *sqlx.DB     // DB has the pauses and the reports of all replicas. It is nil for a single replica.
	Log     *slog.Logger // Log records ejections and refused credentials; it may be nil.
	Replica string       // Replica is the name of this replica in reports. It is required with DB.

	// Unusable returns the providers that this replica cannot call, by id, with the reasons; it may be nil.
	Unusable func() map[string]string
	// Capped reports whether a spend cap is reached: that of a credential by its id, or that of the provider for an empty id. It may be nil.
	Capped func(p *catalog.Provider, credentialID string) bool
}

// Monitor tracks the attempts of one replica. It is safe for concurrent use.
type Monitor struct {
	o             Options
	startedAt     time.Time          // Times are durations since then, so that setting the clock changes nothing.
	repeated      *postgres.Repeated // It is nil without a database.
	pauses        atomic.Pointer[pauses]
	pausesChanged chan struct{} // A value means that the pauses may have changed.

	loading sync.Mutex
	written Report // Written is the report that the worker wrote last. No one else uses it.

	mu        sync.RWMutex
	providers map[string]*providerState // The keys are ids of providers.
}

// New makes a Monitor. It panics when a required option is missing.
func New(o Options) *Monitor {
	app.RequireOptions("health.New", map[string]bool{
		"Options.Now": o.Now != nil, "Options.Random": o.Random != nil,
	})
	if o.DB != nil && o.Replica == "" {
		panic("health.New: Options.Replica is required with Options.DB")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Monitor{o: o, startedAt: o.Now(), pausesChanged: make(chan struct{}, 1), providers: map[string]*providerState{}}
	m.pauses.Store(&pauses{})
	if o.DB != nil {
		m.repeated = postgres.Repeat(o.DB)
	}
	return m
}

// since returns the time since the monitor was made.
func (m *Monitor) since() time.Duration { return max(0, m.o.Now().Sub(m.startedAt)) }

// Begin starts an attempt on a route, unless it is blocked. The attempt counts against the provider's limits, is the probe of a route
// whose ejection has ended, and gets a credential that is not in cooldown. Force overrides an ejection and cooldowns, because one route
// of a model is always tried. It does not override a pause, the provider's own limits and spend caps.
func (m *Monitor) Begin(r *catalog.Route, force bool) (Try, Block) {
	if m.ProviderPaused(r.Provider.ID) {
		return Try{}, Paused
	}
	now := m.since()
	s, u := m.lock(r, now)
	defer s.mu.Unlock()
	spent := m.spentUp(r.Provider)
	credential, block := s.check(r, u, spent, now)
	if block != "" && (!force || block == LimitReached || block == SpendCapReached) {
		return Try{}, block
	}
	if block == Ejected || block == Slow { // The check has not picked a credential.
		credential, _ = s.pick(u, spent, now)
	}
	s.running++
	s.attempts.add(now)
	u.running++
	u.usedAt = now
	return Try{
		Credential: credential, monitor: m, route: r, provider: s, upstream: u, began: now, epoch: u.breaker.epoch, number: u.breaker.number(),
		ejected: u.breaker.ejected, probe: u.breaker.begin(now, r.Timeouts.FirstByte),
	}, ""
}
