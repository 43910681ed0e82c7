package health

import (
	"cmp"
	"context"
	"slices"
	"time"

	"umg/app/provider"
)

// State is what a model of a provider is in for calls.
type State string

// The states.
const (
	StateClosed   State = "closed"    // calls go there
	StateHalfOpen State = "half_open" // its ejection is over, and one call at a time probes it
	StateEjected  State = "ejected"   // calls go elsewhere, unless there is nowhere else
	StatePaused   State = "paused"    // by an operator
)

// Report is how the providers do, as one replica has seen. It names no client and no secret.
type Report struct {
	Replica   string           `json:"replica"`
	At        time.Time        `json:"at"`
	Upstreams []Upstream       `json:"upstreams"` // by provider and model
	Providers []ProviderReport `json:"suppliers"` // by provider

	Unusable map[string]string `json:"unusable,omitempty"` // the providers that the replica cannot call, by id, and why
}

// Upstream is how one model of a provider does. Times that never were are zero.
type Upstream struct {
	Provider       string         `json:"provider"`
	Model          string         `json:"model"` // the provider's name for it
	State          State          `json:"state"`
	LastFault      provider.Class `json:"last_fault,omitempty"` // the class of the last fault that counts against the route
	LastStatus     int            `json:"last_status,omitempty"`
	LastFaultAt    time.Time      `json:"last_fault_at,omitzero"`
	EjectedUntil   time.Time      `json:"ejected_until,omitzero"`
	Slow           bool           `json:"slow,omitempty"` // the route is ejected because another route answers sooner, and has not failed
	Ejections      int64          `json:"ejections"`      // since the replica knows it
	CallsMinute    int64          `json:"calls_minute"`
	FailuresMinute int64          `json:"failures_minute"`
	FirstByteP50   time.Duration  `json:"first_byte_p50"` // streams, or else whole answers; zero: too few
	FirstByteP95   time.Duration  `json:"first_byte_p95"`
	InFlight       int            `json:"in_flight"`
	CoolingDown    []Cooldown     `json:"resting,omitempty"` // credentials that are not used for this model
}

// ProviderReport is how a provider does over all its models.
type ProviderReport struct {
	Provider          string     `json:"provider"`
	Paused            bool       `json:"paused"`
	InFlight          int        `json:"in_flight"`
	Concurrency       int64      `json:"concurrency"` // its own limit; zero: none is known
	AttemptsMinute    int64      `json:"attempts_minute"`
	RequestsPerMinute int64      `json:"requests_per_minute"` // its own limit; zero: none is known
	RetriesLeft       int64      `json:"retries_left"`
	CoolingDown       []Cooldown `json:"resting,omitempty"` // credentials that are not used at all
}

// Cooldown is a credential that is not used for a while.
type Cooldown struct {
	Credential int            `json:"credential"` // the number of the provider's credential, counted from 1 as in the catalog file
	Until      time.Time      `json:"until"`
	Why        provider.Class `json:"why"`
	Status     int            `json:"status"` // the provider's answer
}

// Report says how the providers do at this moment.
func (m *Monitor) Report() Report {
	now := m.since()
	r := Report{Replica: m.o.Replica, At: m.startedAt.Add(now)}
	if m.o.Unusable != nil {
		r.Unusable = m.o.Unusable()
	}
	paused := m.pauses.Load().providers
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, s := range m.providers {
		_, stopped := paused[s.id]
		s.mu.Lock()
		r.Providers = append(r.Providers, m.providerReport(s, stopped, now))
		for model, u := range s.upstreams {
			r.Upstreams = append(r.Upstreams, m.upstreamReport(s.id, model, u, stopped, now))
		}
		s.mu.Unlock()
	}
	slices.SortFunc(r.Providers, func(a, b ProviderReport) int { return cmp.Compare(a.Provider, b.Provider) })
	slices.SortFunc(r.Upstreams, func(a, b Upstream) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	return r
}

func (m *Monitor) providerReport(s *providerState, paused bool, now time.Duration) ProviderReport {
	limits := s.provider.Limits
	return ProviderReport{
		Provider: s.id, Paused: paused, InFlight: s.running, Concurrency: limits.Concurrency,
		AttemptsMinute: s.attempts.last(secondsPerMinute, now), RequestsPerMinute: limits.RequestsPerMinute,
		RetriesLeft: s.retriesLeft(now), CoolingDown: m.coolingDown(s.cooldowns, now),
	}
}

func (m *Monitor) upstreamReport(providerID, model string, u *upstream, paused bool, now time.Duration) Upstream {
	up := Upstream{
		Provider: providerID, Model: model, State: u.breaker.state(now), Ejections: u.breaker.ejections, InFlight: u.running,
		LastFault: u.lastFault, LastStatus: u.lastStatus, CoolingDown: m.coolingDown(u.cooldowns, now),
	}
	if u.lastFault != "" {
		up.LastFaultAt = m.startedAt.Add(u.lastFaultAt)
	}
	if up.State == StateEjected {
		up.EjectedUntil, up.Slow = m.startedAt.Add(u.breaker.until), u.breaker.slow
	}
	if paused {
		up.State = StatePaused
	}
	up.CallsMinute, up.FailuresMinute = u.breaker.window.minute(now)
	var known bool
	if up.FirstByteP50, known = u.firstBytes.percentile(50, now); known {
		up.FirstByteP95, _ = u.firstBytes.percentile(95, now)
	} else {
		up.FirstByteP50, _ = u.wholes.percentile(50, now)
		up.FirstByteP95, _ = u.wholes.percentile(95, now)
	}
	return up
}

func (m *Monitor) coolingDown(all []cooldown, now time.Duration) []Cooldown {
	var list []Cooldown
	for i, r := range all {
		if r.active(now) {
			list = append(list, Cooldown{Credential: i + 1, Until: m.startedAt.Add(r.until), Why: r.class, Status: r.status})
		}
	}
	return list
}

func (b *breaker) state(now time.Duration) State {
	switch {
	case !b.ejected:
		return StateClosed
	case now < b.until:
		return StateEjected
	}
	return StateHalfOpen
}

// Reports are those of all replicas that told of themselves in the last minute, this one's first and of this moment. When the store
// is away they are this one's alone, beside the error.
func (m *Monitor) Reports(ctx context.Context) ([]Report, error) {
	own := []Report{m.Report()}
	if m.o.DB == nil {
		return own, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeMax)
	defer cancel()
	others, err := readReports(ctx, m.o.DB, m.o.Replica)
	return append(own, others...), err
}
