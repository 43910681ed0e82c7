// Package health knows how the providers do at this moment, as far as this replica has seen: which of them are ejected because
// their calls fail, which credentials rest, how much of a provider's own limits is used, how soon first bytes come, and what an
// operator has paused. It decides whether an attempt may be made, and never makes one itself. It knows no request and no client.
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

// Block is why an attempt may not be made now. The empty one says that it may.
type Block string

// The blocks.
const (
	Ejected      Block = "ejected" // its calls failed, and the ejection has not ended, or its probe is on its way
	Paused       Block = "paused"  // by an operator
	LimitReached Block = "crowded" // the provider's own limits are used up
	CoolingDown  Block = "resting" // every credential was refused or told to wait
	Slow         Block = "slow"    // The route is ejected because another route answers sooner. It is used when the others have failed.
)

// Options of a Monitor. The clock and chance are required.
type Options struct {
	Now    app.Clock
	Random func(n int) int // a number from 0 to n-1

	DB      *sqlx.DB     // where pauses and reports are shared with other replicas; nil: nowhere
	Log     *slog.Logger // Log records ejections and refused credentials; it may be nil.
	Replica string       // names this replica in reports; required with a DB

	// Unusable are the providers that this replica cannot call, by id, and why, for reports; nil: none.
	Unusable func() map[string]string
}

// Monitor watches the attempts of one replica. It is safe for many goroutines.
type Monitor struct {
	o             Options
	startedAt     time.Time // all times are kept as what has passed since then, so that a clock that is set changes nothing
	pauses        atomic.Pointer[pauses]
	pausesChanged chan struct{} // pauses may have changed

	loading sync.Mutex

	mu        sync.RWMutex
	providers map[string]*providerState // by the provider's id
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

// since is the time on the monitor's own clock.
func (m *Monitor) since() time.Duration { return max(0, m.o.Now().Sub(m.startedAt)) }

// Try is one attempt that may be made. It ends with exactly one End; that of a Try which was blocked does nothing.
type Try struct {
	Credential int  // index of the credential to use, in catalog.Provider.Credentials
	Whole      bool // the answer counts when all of it is there, not when its first content is; set by the caller

	monitor  *Monitor
	route    *catalog.Route
	provider *providerState
	upstream *upstream
	began    time.Duration
	number   int64  // the attempt's place in the order in which the attempts of the route begin
	epoch    uint32 // the epoch of the breaker when the attempt began
	ejected  bool   // the route was ejected and tried all the same
	probe    bool

	slowAfter     time.Duration // content that comes later shows that the route is slow; zero for none
	outpacedAfter time.Duration // when another route was asked that has answered first; zero for none
}

// Begin asks for an attempt on a route. It counts against the provider's limits, takes the probe of a route whose ejection has
// ended, and picks a credential that does not rest. With force a route is tried although it is ejected or all its credentials
// rest, as of a model's routes one is always tried; a pause and the provider's own limits hold all the same.
func (m *Monitor) Begin(r *catalog.Route, force bool) (Try, Block) {
	if m.ProviderPaused(r.Provider.ID) {
		return Try{}, Paused
	}
	now := m.since()
	s := m.lock(r.Provider)
	defer s.mu.Unlock()
	u := s.upstream(r.Model, now)
	credential, block := s.check(r, u, now)
	if block != "" && (!force || block == LimitReached) {
		return Try{}, block
	}
	if block == Ejected || block == Slow { // the credential was not looked at
		credential, _ = s.pick(u, now)
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

// Blocked is what Begin would say, without taking anything.
func (m *Monitor) Blocked(r *catalog.Route) Block {
	if m.ProviderPaused(r.Provider.ID) {
		return Paused
	}
	now := m.since()
	s := m.lock(r.Provider)
	defer s.mu.Unlock()
	_, block := s.check(r, s.upstream(r.Model, now), now)
	return block
}

// Answered says that content has begun to come. It ends an ejection early, since a stream that began to flow may go on for
// minutes while others wait to be let through. It may be left out.
func (t *Try) Answered() {
	if t.monitor == nil || !t.ejected {
		return
	}
	t.provider.mu.Lock()
	defer t.provider.mu.Unlock()
	now := t.monitor.since()
	if b := &t.upstream.breaker; b.epoch == t.epoch && b.ejected && !t.slow(now-t.began) {
		b.close(now)
		t.epoch = b.epoch // a cut that follows is a failure like others
	}
}

// End says how the attempt went: nil for an answer that is whole, or whose client left when all was well. FirstByte is zero when
// nothing came.
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
			"for", ejected, "last", string(f.Class), "status", f.Status)
	}
	if refused > 0 {
		t.monitor.o.Log.Error("provider credential refused, cooling down", "provider", t.route.Provider.ID,
			"model", t.route.Model, "credential", t.Credential+1, "status", f.Status, "for", refused)
	}
}

// settle books the outcome, and returns for how long the route is ejected and the credential rests if that is news.
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

// lock finds or adds what is known of a provider, and locks it.
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

// MayRetry takes one retry from the provider's retry budget: a tenth of its first attempts of the last ten seconds, and ten at
// all times. It is asked before the Begin of a retry.
func (m *Monitor) MayRetry(providerID string) bool {
	now := m.since()
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.providers[providerID]
	if s == nil {
		return true // nothing was tried yet, so a retry breaks no bound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retriesLeft(now) < 1 {
		return false
	}
	s.retries.add(now)
	return true
}
