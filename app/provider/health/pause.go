package health

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// These kinds of things can be paused.
const (
	KindModel    = "model"
	KindProvider = "provider"
)

// These are the actions of operators.
const (
	ActionPaused  = "paused"
	ActionResumed = "resumed"
)

// These limits apply to pauses.
const (
	pauseIDMax     = 200 // The limit is in characters.
	pauseReasonMax = 200 // The limit is in characters.
	changeMax      = 3 * time.Second
	pausesMax      = 10_000 // Load reads no more pauses.
)

// channel is the notification channel for changes of the pauses.
const channel = "traffic"

// Pause means that an operator has stopped new calls to a model or a provider.
type Pause struct {
	Kind   string    `db:"kind"` // Kind is KindModel or KindProvider.
	ID     string    `db:"id"`
	Reason string    `db:"reason"`  // Reason is for clients. It may be empty.
	By     string    `db:"by_user"` // By is the operator's e-mail address.
	At     time.Time `db:"at"`
}

// PauseEvent is an operator's action on the traffic.
type PauseEvent struct {
	Pause

	Action string `db:"action"` // Action is ActionPaused or ActionResumed.
}

// pauses are the current pauses. They never change, and Load replaces them as a whole.
type pauses struct {
	models, providers map[string]Pause
	all               []Pause
}

// ModelPaused returns the pause of a model. It reports false when there is none.
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

// Pause stops new calls to a model or a provider, on this replica at once and on all others within a second. Running calls continue. A
// second pause only changes the reason. Pause sets the time.
func (m *Monitor) Pause(ctx context.Context, p Pause) error {
	p.ID, p.Reason, p.At = strings.TrimSpace(p.ID), strings.TrimSpace(p.Reason), m.o.Now().UTC()
	if utf8.RuneCountInString(p.Reason) > pauseReasonMax {
		return app.Errorf(app.Invalid, "invalid_pause", "The reason may have at most %d characters.", pauseReasonMax).At("reason")
	}
	return m.change(ctx, PauseEvent{Pause: p, Action: ActionPaused})
}

// Resume ends the pause of a model or a provider. It returns an error when there is no pause.
func (m *Monitor) Resume(ctx context.Context, kind, id, by string) error {
	return m.change(ctx, PauseEvent{Pause: Pause{Kind: kind, ID: strings.TrimSpace(id), By: by, At: m.o.Now().UTC()}, Action: ActionResumed})
}

// write pauses or resumes, and records the action.
func (d *PauseEvent) write(ctx context.Context, tx *sqlx.Tx) error {
	query := `
		insert into pauses (kind, id, reason, by_user, created_at) values ($1, $2, $3, $4, $5)
		on conflict (kind, id) do update set reason = excluded.reason, by_user = excluded.by_user, created_at = excluded.created_at`
	values := []any{d.Kind, d.ID, d.Reason, d.By, d.At}
	if d.Action == ActionResumed {
		query, values = `delete from pauses where kind = $1 and id = $2`, values[:2]
	}
	done, err := tx.ExecContext(ctx, query, values...)
	if err != nil {
		return err
	}
	switch n, err := done.RowsAffected(); {
	case err != nil:
		return err
	case n == 0:
		return app.Errorf(app.NotFound, "not_paused",
			"The %s %s is not paused. Another operator may have resumed it already.", d.Kind, d.ID).At("id")
	}
	_, err = tx.ExecContext(ctx, `
		with noted as (insert into pause_events (action, kind, id, reason, by_user, at) values ($1, $2, $3, $4, $5, $6))
		select pg_notify($7, '')`, d.Action, d.Kind, d.ID, d.Reason, d.By, d.At, channel)
	return err
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
	err := postgres.InTx(ctx, m.o.DB, func(tx *sqlx.Tx) error { return d.write(ctx, tx) })
	if _, known := errors.AsType[*app.Error](err); err != nil && !known {
		err = postgres.StoreError("health: write pause", err)
	}
	if err != nil {
		return err
	}
	m.o.Log.Warn("traffic pause changed", "action", d.Action, "kind", d.Kind, "id", d.ID, "by", d.By, "reason", d.Reason)
	if err := m.Load(ctx); err != nil {
		m.o.Log.Warn("health: applying traffic pause failed, next load applies it", "error", err)
	}
	return nil
}

// Load reads the pauses, and keeps the last ones when the database is unavailable. Only one Load runs at a time, so that older pauses never
// replace newer ones.
func (m *Monitor) Load(ctx context.Context) error {
	m.loading.Lock()
	defer m.loading.Unlock()
	p := &pauses{models: map[string]Pause{}, providers: map[string]Pause{}}
	err := m.repeated.SelectContext(ctx, &p.all, `
		select kind, id, reason, by_user, created_at as at from pauses order by kind, id limit $1`, pausesMax)
	if err != nil {
		return postgres.StoreError("health: read pauses", err)
	}
	for _, one := range p.all {
		if one.Kind == KindModel {
			p.models[one.ID] = one
		} else {
			p.providers[one.ID] = one
		}
	}
	m.pauses.Store(p)
	return nil
}

// History lists the latest actions of operators, newest first.
func (m *Monitor) History(ctx context.Context, most int) ([]PauseEvent, error) {
	if m.o.DB == nil {
		return nil, nil
	}
	var events []PauseEvent
	err := m.o.DB.SelectContext(ctx, &events, `
		select action, kind, id, reason, by_user, at from pause_events order by number desc limit $1`, most)
	return events, postgres.StoreError("health: read history", err)
}
