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
	"umg/app/provider"
)

// Block is the reason why an attempt may not be made now. It is empty when the attempt may be made.
type Block string

// These are the blocks.
const (
	Ejected      Block = "ejected" // Calls of the model failed. The ejection has not ended, or its probe is in progress.
	Paused       Block = "paused"  // An operator has paused the provider.
	LimitReached Block = "crowded" // The provider's own limits are used up.
	// SpendCapReached means that a spend cap of the provider, or one of each of its credentials, is reached.
	SpendCapReached Block = "capped"
	CoolingDown     Block = "resting" // Every credential of the provider is in cooldown.
	Slow            Block = "slow"    // The route is ejected because another route answers sooner. It is used when the others have failed.
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
	startedAt     time.Time // Times are durations since then, so that setting the clock changes nothing.
	pauses        atomic.Pointer[pauses]
	pausesChanged chan struct{} // A value means that the pauses may have changed.

	loading sync.Mutex

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
	return m
}

// since returns the time since the monitor was made.
func (m *Monitor) since() time.Duration { return max(0, m.o.Now().Sub(m.startedAt)) }

// Try is one attempt that may be made. It ends with exactly one End. End does nothing for an attempt that was blocked.
type Try struct {
	Credential int  // Credential is the index of the credential to use.
	Whole      bool // Whole is set by the caller for an answer in one piece.

	monitor  *Monitor
	route    *catalog.Route
	provider *providerState
	upstream *upstream
	began    time.Duration
	number   int64  // Number counts the attempts of the route in the order in which they begin.
	epoch    uint32 // Epoch is the epoch of the breaker when the attempt began.
	ejected  bool   // The route was ejected when the attempt began.
	probe    bool

	slowAfter     time.Duration // First content after this time means that the route is slow; zero means none.
	outpacedAfter time.Duration // OutpacedAfter is when the hedge that answered first had begun; zero means none.
}

// Begin starts an attempt on a route, unless it is blocked. The attempt counts against the provider's limits, is the probe of a route
// whose ejection has ended, and gets a credential that is not in cooldown. Force overrides an ejection and cooldowns, because one route
// of a model is always tried. It does not override a pause, the provider's own limits and spend caps.
func (m *Monitor) Begin(r *catalog.Route, force bool) (Try, Block) {
	if m.ProviderPaused(r.Provider.ID) {
		return Try{}, Paused
	}
	now := m.since()
	s := m.lock(r.Provider)
	defer s.mu.Unlock()
	u := s.upstream(r.Model, now)
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

// Blocked returns the block that Begin would return, without starting an attempt.
func (m *Monitor) Blocked(r *catalog.Route) Block {
	if m.ProviderPaused(r.Provider.ID) {
		return Paused
	}
	now := m.since()
	s := m.lock(r.Provider)
	defer s.mu.Unlock()
	_, block := s.check(r, s.upstream(r.Model, now), m.spentUp(r.Provider), now)
	return block
}

// Answered records the first content of an answer. It ends an ejection early, because the stream may take minutes to end. The call is
// optional.
func (t *Try) Answered() {
	if t.monitor == nil || !t.ejected {
		return
	}
	t.provider.mu.Lock()
	defer t.provider.mu.Unlock()
	now := t.monitor.since()
	if b := &t.upstream.breaker; b.epoch == t.epoch && b.ejected && !t.slow(now-t.began) {
		b.close(now)
		t.epoch = b.epoch // A later cut of the stream counts as a failure.
	}
}

// End records the result of the attempt. The fault is nil for a whole answer, and when the client left a healthy one. FirstByte is zero
// when there was no content.
func (t Try) End(f *provider.Fault, firstByte time.Duration) {
	if t.monitor == nil {
		return
	}
	now := t.monitor.since()
	ejected, refused := t.settle(f, firstByte, now)
	switch {
	case ejected == 0:
	case f == nil || f.Class == provider.ClassEnded:
		t.monitor.o.Log.Warn("route ejected", "reason", "slow", "provider", t.route.Provider.ID,
			"model", t.route.Model, "for", ejected)
	default:
		t.monitor.o.Log.Warn("route ejected", "reason", "failing", "provider", t.route.Provider.ID, "model", t.route.Model,
			"for", ejected, "last", string(f.Class), "status", f.Status, "meaning", string(f.Meaning))
	}
	if refused > 0 {
		t.logRefused(f, refused)
	}
	t.logUnavailable(f, now)
}

// settle records the outcome. It returns the lengths of a new ejection of the route and of a new cooldown of the credential.
func (t Try) settle(f *provider.Fault, firstByte, now time.Duration) (ejected, refused time.Duration) {
	s, u := t.provider, t.upstream
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	u.running--
	u.usedAt = now
	v, waited := t.outcome(f, firstByte, now)
	if waited > 0 {
		u.waits(t.Whole).add(waited, now)
	}
	u.breaker.window.count(now, v)
	if v.failed() {
		u.lastFault, u.lastStatus, u.lastFaultAt = f.Class, f.Status, now
	}
	refused = s.settleCredential(t, f, now)
	return u.breaker.end(t, v, now, t.route.Provider.Breaker, t.monitor.o.Random), refused
}

// lock returns the locked state of a provider, and adds it when it is new.
func (m *Monitor) lock(p *catalog.Provider) *providerState {
	m.mu.RLock()
	s := m.providers[p.ID]
	if s != nil {
		s.mu.Lock() // Locking before the map is free keeps drop from removing the state in between.
	}
	m.mu.RUnlock()
	if s == nil {
		s = m.add(p.ID)
	}
	s.update(p)
	return s
}

func (m *Monitor) add(id string) *providerState {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.providers[id]
	if s == nil {
		if len(m.providers) >= providersMax {
			m.drop(0)
		}
		s = &providerState{id: id, upstreams: map[string]*upstream{}}
		m.providers[id] = s
	}
	s.mu.Lock()
	return s
}

// MayRetry takes one retry from the provider's retry budget, which is ten and a tenth of the first attempts of the last ten seconds.
// Call it before the Begin of a retry.
func (m *Monitor) MayRetry(providerID string) bool {
	now := m.since()
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.providers[providerID]
	if s == nil {
		return true // There was no attempt yet.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retriesLeft(now) < 1 {
		return false
	}
	s.retries.add(now)
	return true
}
