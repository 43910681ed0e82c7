package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// channel is where a change of the pauses is announced.
const channel = "traffic"

// Limits of what is read at once.
const (
	pausesMax  = 10_000
	reportsMax = 256
)

func readPauses(ctx context.Context, db *sqlx.DB) ([]Pause, error) {
	var all []Pause
	err := db.SelectContext(ctx, &all, `
		select kind, id, reason, by_user, created_at as at from pauses order by kind, id limit $1`, pausesMax)
	return all, postgres.StoreError("health: read pauses", err)
}

// writePauseEvent pauses or resumes, and notes who did.
func writePauseEvent(ctx context.Context, db *sqlx.DB, d PauseEvent) error {
	err := postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		if err := writePause(ctx, tx, d); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			with noted as (insert into pause_events (action, kind, id, reason, by_user, at) values ($1, $2, $3, $4, $5, $6))
			select pg_notify($7, '')`, d.Action, d.Kind, d.ID, d.Reason, d.By, d.At, channel)
		return err
	})
	if _, known := errors.AsType[*app.Error](err); known {
		return err
	}
	return postgres.StoreError("health: write pause", err)
}

func writePause(ctx context.Context, tx *sqlx.Tx, d PauseEvent) error {
	if d.Action == ActionPaused {
		_, err := tx.ExecContext(ctx, `
			insert into pauses (kind, id, reason, by_user, created_at) values ($1, $2, $3, $4, $5)
			on conflict (kind, id) do update set reason = excluded.reason, by_user = excluded.by_user, created_at = excluded.created_at`,
			d.Kind, d.ID, d.Reason, d.By, d.At)
		return err
	}
	done, err := tx.ExecContext(ctx, `delete from pauses where kind = $1 and id = $2`, d.Kind, d.ID)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return app.Errorf(app.NotFound, "not_paused",
		"The %s %s is not paused. Another operator may have resumed it already.", d.Kind, d.ID).At("id")
}

func readPauseEvents(ctx context.Context, db *sqlx.DB, most int) ([]PauseEvent, error) {
	var events []PauseEvent
	err := db.SelectContext(ctx, &events, `
		select action, kind, id, reason, by_user, at from pause_events order by number desc limit $1`, most)
	return events, postgres.StoreError("health: read history", err)
}

// writeReport keeps a replica's report, and forgets those of replicas that are silent. The store's clock decides, as those of
// replicas differ.
func writeReport(ctx context.Context, db *sqlx.DB, r Report) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("health: report: %w", err)
	}
	_, err = db.ExecContext(ctx, `
		with pruned as (delete from provider_health_reports where at < now() - interval '1 minute' and replica <> $1)
		insert into provider_health_reports (replica, at, report) values ($1, now(), $2)
		on conflict (replica) do update set at = excluded.at, report = excluded.report`, r.Replica, string(text))
	return postgres.StoreError("health: write report", err)
}

func deleteReport(ctx context.Context, db *sqlx.DB, replica string) error {
	_, err := db.ExecContext(ctx, `delete from provider_health_reports where replica = $1`, replica)
	return postgres.StoreError("health: delete report", err)
}

// readReports are the latest reports of other replicas.
func readReports(ctx context.Context, db *sqlx.DB, replica string) ([]Report, error) {
	var texts [][]byte
	err := db.SelectContext(ctx, &texts, `
		select report from provider_health_reports where replica <> $1 and at >= now() - interval '1 minute' order by replica limit $2`,
		replica, reportsMax)
	if err != nil {
		return nil, postgres.StoreError("health: read reports", err)
	}
	reports := make([]Report, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal(text, &reports[i]); err != nil {
			return nil, fmt.Errorf("health: the report of another replica cannot be read: %w", err)
		}
	}
	return reports, nil
}
