package usage_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"umg/app/apptest"
	"umg/billing/usage"
)

// TestReportsOfMuchTimeTakeTurns locks the records, so that reports which read them wait in the database, and counts those.
func TestReportsOfMuchTimeTakeTurns(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(0)
	lock, err := h.db.BeginTxx(h.ctx, nil)
	apptest.Must(t, err)
	_, err = lock.ExecContext(h.ctx, `lock table usage_records`)
	apptest.Must(t, err)
	var all sync.WaitGroup
	read := func(ctx context.Context, days int) {
		to := time.Now().UTC().Truncate(time.Hour)
		_, err := h.reports.Report(ctx, usage.Query{AccountID: account, From: to.AddDate(0, 0, -days), To: to, Group: usage.ByEndUser})
		if err != nil {
			t.Error(err)
		}
	}
	awaitReading := func(want int) {
		apptest.Eventually(t, 10*time.Second, "the reports to read", func() bool {
			var n int
			apptest.Must(t, h.db.GetContext(h.ctx, &n, `
				select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
			if n > want {
				t.Fatalf("%d reports read at once, want %d", n, want)
			}
			return n == want
		})
	}
	for range 3 {
		all.Go(func() { read(h.ctx, 365) })
	}
	awaitReading(1)
	all.Go(func() { read(h.ctx, 30) })
	awaitReading(2) // A short report does not wait for its turn.
	apptest.Must(t, lock.Rollback())
	all.Wait()
}
