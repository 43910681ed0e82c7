package health

import (
	"context"
	"time"

	"umg/app/postgres"
)

// How often the worker looks and tells. Pauses are heard of at once; the look is for a lost notification.
const (
	reportEvery = 5 * time.Second
	storeMax    = 2 * time.Second // for one statement
)

// Run keeps the pauses fresh until ctx ends, tells other replicas how the providers do, and forgets those of former catalogs. It
// returns when nothing of it runs any more.
func (m *Monitor) Run(ctx context.Context, dsn string) error {
	done := make(chan struct{})
	// goroutine: Run owns it and waits for it; it ends when ctx ends.
	go func() {
		defer close(done)
		m.runTicker(ctx)
	}()
	err := postgres.Listen(ctx, dsn, []string{channel}, func(string, string) {
		select {
		case m.pausesChanged <- struct{}{}:
		default: // a look is due anyway
		}
	})
	<-done
	return err
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

// tick takes over what is paused and, when it is due, reports.
func (m *Monitor) tick(ctx context.Context, due bool) error {
	ctx, cancel := context.WithTimeout(ctx, storeMax)
	defer cancel()
	if err := m.Load(ctx); err != nil || !due {
		return err
	}
	m.dropIdle()
	return writeReport(ctx, m.o.DB, m.Report())
}

// removeReport removes the report, so that a replica that has ended does not count as running.
func (m *Monitor) removeReport(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeMax)
	defer cancel()
	if err := deleteReport(ctx, m.o.DB, m.o.Replica); err != nil {
		m.o.Log.Warn("health: removing replica report failed", "error", err)
	}
}
