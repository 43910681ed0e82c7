package health

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"umg/app"
)

// What can be paused.
const (
	KindModel    = "model"
	KindProvider = "provider"
)

// These are the actions of operators.
const (
	ActionPaused  = "paused"
	ActionResumed = "resumed"
)

// Limits of what operators say.
const (
	pauseIDMax     = 200 // characters
	pauseReasonMax = 200 // characters
	changeMax      = 3 * time.Second
)

// Pause is an operator's word that a model or a provider takes no new calls.
type Pause struct {
	Kind   string    `db:"kind"` // model or provider
	ID     string    `db:"id"`
	Reason string    `db:"reason"`  // for clients; may be empty
	By     string    `db:"by_user"` // the operator's e-mail
	At     time.Time `db:"at"`
}

// PauseEvent is an operator's action on the traffic.
type PauseEvent struct {
	Pause

	Action string `db:"action"` // Action is ActionPaused or ActionResumed.
}

// pauses are those in force. They never change: newer ones replace them as a whole.
type pauses struct {
	models, providers map[string]Pause
	all               []Pause
}

func newPauses(all []Pause) *pauses {
	p := &pauses{models: map[string]Pause{}, providers: map[string]Pause{}, all: all}
	for _, one := range all {
		if one.Kind == KindModel {
			p.models[one.ID] = one
		} else {
			p.providers[one.ID] = one
		}
	}
	return p
}

// ModelPaused is the pause of a model, if there is one.
func (m *Monitor) ModelPaused(modelID string) (Pause, bool) {
	p, ok := m.pauses.Load().models[modelID]
	return p, ok
}

// ProviderPaused reports whether a provider takes no new calls.
func (m *Monitor) ProviderPaused(providerID string) bool {
	_, ok := m.pauses.Load().providers[providerID]
	return ok
}

// Pauses lists what is paused, by kind and id.
func (m *Monitor) Pauses() []Pause { return slices.Clone(m.pauses.Load().all) }

// Pause stops new calls to a model or a provider, on this replica at once and on all within a second; calls that run go on. A
// second pause of the same only changes its reason. The time is the monitor's.
func (m *Monitor) Pause(ctx context.Context, p Pause) error {
	p.ID, p.Reason, p.At = strings.TrimSpace(p.ID), strings.TrimSpace(p.Reason), m.o.Now().UTC()
	if utf8.RuneCountInString(p.Reason) > pauseReasonMax {
		return app.Errorf(app.Invalid, "invalid_pause", "The reason may have at most %d characters.", pauseReasonMax).At("reason")
	}
	return m.change(ctx, PauseEvent{Pause: p, Action: ActionPaused})
}

// Resume lets calls go to a model or a provider again. What is not paused is an error.
func (m *Monitor) Resume(ctx context.Context, kind, id, by string) error {
	return m.change(ctx, PauseEvent{Pause: Pause{Kind: kind, ID: strings.TrimSpace(id), By: by, At: m.o.Now().UTC()}, Action: ActionResumed})
}

// change records an action, and applies it in this replica at once.
func (m *Monitor) change(ctx context.Context, d PauseEvent) error {
	if d.Kind != KindModel && d.Kind != KindProvider {
		return app.Errorf(app.Invalid, "invalid_pause", "Only a model or a provider can be paused, not %q.", d.Kind).At("kind")
	}
	if n := utf8.RuneCountInString(d.ID); n < 1 || n > pauseIDMax {
		return app.Errorf(app.Invalid, "invalid_pause", "Name a %s of 1 to %d characters.", d.Kind, pauseIDMax).At("id")
	}
	if m.o.DB == nil {
		return app.Errorf(app.Unavailable, "traffic_control_unavailable", "This gateway has no store, so nothing can be paused.")
	}
	ctx, cancel := context.WithTimeout(ctx, changeMax)
	defer cancel()
	if err := writePauseEvent(ctx, m.o.DB, d); err != nil {
		return err
	}
	m.o.Log.Warn("traffic pause changed", "action", d.Action, "kind", d.Kind, "id", d.ID, "by", d.By, "reason", d.Reason)
	if err := m.Load(ctx); err != nil {
		m.o.Log.Warn("health: applying traffic pause failed, next load applies it", "error", err)
	}
	return nil
}

// Load takes over what is paused, and keeps what was known when the store is away. One after the other, so that an older look never
// replaces a newer one.
func (m *Monitor) Load(ctx context.Context) error {
	m.loading.Lock()
	defer m.loading.Unlock()
	all, err := readPauses(ctx, m.o.DB)
	if err != nil {
		return err
	}
	m.pauses.Store(newPauses(all))
	return nil
}

// History lists the latest actions of operators, newest first.
func (m *Monitor) History(ctx context.Context, most int) ([]PauseEvent, error) {
	if m.o.DB == nil {
		return nil, nil
	}
	return readPauseEvents(ctx, m.o.DB, most)
}
