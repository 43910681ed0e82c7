package health

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"umg/app/postgres"
	"umg/app/provider"
)

// reportsMax bounds how many reports of other replicas are read.
const reportsMax = 256

// State is the state of the circuit breaker of a model of a provider, or paused.
type State string

// These are the states.
const (
	StateClosed   State = "closed"    // Calls go to the model.
	StateHalfOpen State = "half_open" // The ejection is over, and one call at a time probes the model.
	StateEjected  State = "ejected"   // Calls go to other routes, if there are any.
	StatePaused   State = "paused"    // An operator has paused the model or the provider.
)

// Report is the health of the providers, as one replica has observed it. It has no client and no secret.
type Report struct {
	Replica   string           `json:"replica"`
	At        time.Time        `json:"at"`
	Upstreams []Upstream       `json:"upstreams"` // Upstreams are sorted by provider and model.
	Providers []ProviderReport `json:"suppliers"` // Providers are sorted by id.

	Unusable map[string]string `json:"unusable,omitempty"` // Unusable are the providers that the replica cannot call, by id, with the reasons.
}

// Upstream is the health of one model of a provider. A time is zero when there was no such event.
type Upstream struct {
	Provider       string         `json:"provider"`
	Model          string         `json:"model"` // Model is the provider's name of the model.
	State          State          `json:"state"`
	LastFault      provider.Class `json:"last_fault,omitempty"` // LastFault is the class of the last fault that counts against the route.
	LastStatus     int            `json:"last_status,omitempty"`
	LastFaultAt    time.Time      `json:"last_fault_at,omitzero"`
	EjectedUntil   time.Time      `json:"ejected_until,omitzero"`
	Slow           bool           `json:"slow,omitempty"` // The route is ejected because another route answers sooner.
	Ejections      int64          `json:"ejections"`      // Ejections counts since the replica knows the model.
	CallsMinute    int64          `json:"calls_minute"`
	FailuresMinute int64          `json:"failures_minute"`
	FirstByteP50   time.Duration  `json:"first_byte_p50"` // FirstByteP50 is of streams, or else of whole answers; zero means too few answers.
	FirstByteP95   time.Duration  `json:"first_byte_p95"`
	InFlight       int            `json:"in_flight"`
	CoolingDown    []Cooldown     `json:"resting,omitempty"` // CoolingDown are credentials that are not used for this model.
}

// ProviderReport is the health of a provider over all its models.
type ProviderReport struct {
	Provider          string     `json:"provider"`
	Paused            bool       `json:"paused"`
	InFlight          int        `json:"in_flight"`
	Concurrency       int64      `json:"concurrency"` // Concurrency is the provider's own limit; zero means none.
	AttemptsMinute    int64      `json:"attempts_minute"`
	RequestsPerMinute int64      `json:"requests_per_minute"` // RequestsPerMinute is the provider's own limit; zero means none.
	RetriesLeft       int64      `json:"retries_left"`
	CoolingDown       []Cooldown `json:"resting,omitempty"` // CoolingDown are credentials that are not used for any model.
}

// Cooldown is a credential that is not used for a while.
type Cooldown struct {
	Credential int            `json:"credential"` // Credential is a number from 1, as in the catalog file.
	Until      time.Time      `json:"until"`
	Why        provider.Class `json:"why"`
	Status     int            `json:"status"` // Status is the HTTP status of the provider's answer.
}

// Report returns the current health of the providers.
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

// Reports returns the reports of all replicas of the last minute, with the current one of this replica first. When the database is
// unavailable it returns only that one, and the error.
func (m *Monitor) Reports(ctx context.Context) ([]Report, error) {
	own := []Report{m.Report()}
	if m.o.DB == nil {
		return own, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeMax)
	defer cancel()
	var texts [][]byte
	err := m.o.DB.SelectContext(ctx, &texts, `
		select report from provider_health_reports where replica <> $1 and at >= now() - interval '1 minute' order by replica limit $2`,
		m.o.Replica, reportsMax)
	if err != nil {
		return own, postgres.StoreError("health: read reports", err)
	}
	all := slices.Grow(own, len(texts))[:1+len(texts)]
	for i, text := range texts {
		if err := json.Unmarshal(text, &all[1+i]); err != nil {
			return own, fmt.Errorf("health: the report of another replica cannot be read: %w", err)
		}
	}
	return all, nil
}
