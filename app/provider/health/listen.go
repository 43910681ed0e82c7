package health

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	"umg/app/postgres"
)

const (
	reportEvery = 5 * time.Second // A changed report is written after this time.
	// rewriteEvery is how often a report that has not changed is written, and the pauses are read in case a notification was lost. A report
	// counts for a minute.
	rewriteEvery = 20 * time.Second
	storeMax     = 2 * time.Second // This is the time limit of one statement.
)

// Run reads changed pauses, writes the report of this replica and drops the state of removed providers, until ctx ends. It returns when
// all its goroutines have ended.
func (m *Monitor) Run(ctx context.Context, listener *postgres.Listener) error {
	var ticking sync.WaitGroup
	// goroutine: Run owns it and waits for it; it ends when ctx ends.
	ticking.Go(func() { m.runTicker(ctx) })
	listener.Wake(ctx, channel, m.pausesChanged)
	ticking.Wait()
	return ctx.Err()
}

func (m *Monitor) runTicker(ctx context.Context) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	away := false
	for due := true; ; {
		err := m.tick(ctx, due)
		if ctx.Err() != nil {
			m.removeReport(ctx)
			return
		}
		if err != nil && !away {
			m.o.Log.Warn("health: database unavailable, keeping last pauses", "error", err)
		}
		away = err != nil
		select {
		case <-ctx.Done():
		case <-m.pausesChanged:
			due = false
		case <-tick.C:
			due = true
		}
	}
}

// tick loads the pauses when they may have changed, and writes the report when that is due.
func (m *Monitor) tick(ctx context.Context, due bool) error {
	ctx, cancel := context.WithTimeout(ctx, storeMax)
	defer cancel()
	m.dropIdle()
	report := m.Report()
	isOld := report.At.Sub(m.written.At) > rewriteEvery-reportEvery/2 // The pace of ticks is not exact.
	if !due || isOld {
		if err := m.Load(ctx); err != nil || !due {
			return err
		}
	}
	before := m.written
	before.At = report.At // The time alone is no change.
	if !isOld && reflect.DeepEqual(report, before) {
		return nil
	}
	text, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("health: report: %w", err)
	}
	// The clock of the database decides which reports are old, because those of replicas differ.
	_, err = m.repeated.ExecContext(ctx, `
		with pruned as (delete from provider_health_reports where at < now() - interval '1 minute' and replica <> $1)
		insert into provider_health_reports (replica, at, report) values ($1, now(), $2)
		on conflict (replica) do update set at = excluded.at, report = excluded.report`, m.o.Replica, string(text))
	if err == nil {
		m.written = report
	}
	return postgres.StoreError("health: write report", err)
}

// removeReport deletes the report, so that a replica that has ended does not count as running.
func (m *Monitor) removeReport(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeMax)
	defer cancel()
	if _, err := m.o.DB.ExecContext(ctx, `delete from provider_health_reports where replica = $1`, m.o.Replica); err != nil {
		m.o.Log.Warn("health: removing replica report failed", "error", err)
	}
}
