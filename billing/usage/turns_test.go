package usage_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apptest"
	"umg/billing"
	"umg/billing/usage"
)

// awaitReading waits until so many reports wait for a lock in the database, and fails when there are more.
func awaitReading(t *testing.T, h *fixture, want int) {
	t.Helper()
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

// lockRecords keeps reports that read the records waiting until the transaction ends.
func lockRecords(t *testing.T, h *fixture) *sqlx.Tx {
	t.Helper()
	lock, err := h.db.BeginTxx(h.ctx, nil)
	apptest.Must(t, err)
	_, err = lock.ExecContext(h.ctx, `lock table usage_records`)
	apptest.Must(t, err)
	return lock
}

// TestReportsOfMuchTimeTakeTurns locks the records, so that reports which read them wait in the database, and counts those.
func TestReportsOfMuchTimeTakeTurns(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(0)
	lock := lockRecords(t, h)
	var all sync.WaitGroup
	read := func(ctx context.Context, days int) {
		to := time.Now().UTC().Truncate(time.Hour)
		_, err := h.reports.Report(ctx, usage.Query{AccountID: account, From: to.AddDate(0, 0, -days), To: to, Group: usage.ByEndUser})
		if err != nil {
			t.Error(err)
		}
	}
	for i := range 3 {
		all.Go(func() { read(h.ctx, 365-i) })
	}
	awaitReading(t, h, 1)
	all.Go(func() { read(h.ctx, 30) })
	awaitReading(t, h, 2) // A short report does not wait for its turn.
	apptest.Must(t, lock.Rollback())
	all.Wait()
}

// TestEqualReportsOfMuchTimeAreReadOnce has reports begin while the records are locked. The rests of three readings would take longer than
// the test waits.
func TestEqualReportsOfMuchTimeAreReadOnce(t *testing.T) {
	t.Parallel()
	h := setup(t)
	lock := lockRecords(t, h)
	to := time.Now().UTC().Truncate(time.Hour)
	q := usage.Query{AccountID: h.account(0), From: to.AddDate(-1, 0, 0), To: to, Group: usage.ByEndUser}
	var all sync.WaitGroup
	left, leave := context.WithCancel(h.ctx)
	for _, ctx := range []context.Context{left, h.ctx, h.ctx} {
		all.Go(func() {
			if _, err := h.reports.Report(ctx, q); (err == nil) != (ctx == h.ctx) {
				t.Error(err)
			}
		})
	}
	awaitReading(t, h, 1)
	time.Sleep(time.Second) // A reading of a second is followed by the longest rest.
	leave()
	apptest.Must(t, lock.Rollback())
	began := time.Now()
	all.Wait()
	if took := time.Since(began); took > 3500*time.Millisecond {
		t.Errorf("three equal reports took %s after the lock", took)
	}
}

// TestReportsOfDifferentKeysAreNotShared has a user who may see no key ask for a report while one who may see all waits for the same.
func TestReportsOfDifferentKeysAreNotShared(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	h.use(account, time.Now().UTC().Add(-48*time.Hour), app.Cent, func(u *billing.UsageRecord) { u.EndUser = "jane" })
	lock := lockRecords(t, h)
	to := time.Now().UTC().Truncate(time.Hour)
	var all sync.WaitGroup
	read := func(keys []string, want int) {
		all.Go(func() {
			report, err := h.reports.Report(h.ctx, usage.Query{
				AccountID: account, From: to.AddDate(-1, 0, 0), To: to, Group: usage.ByEndUser, Keys: keys,
			})
			if err != nil || len(report.Lines) != want {
				t.Errorf("for the keys %#v there are %d lines, want %d: %v", keys, len(report.Lines), want, err)
			}
		})
	}
	read(nil, 1)
	awaitReading(t, h, 1)
	read([]string{}, 0)
	time.Sleep(50 * time.Millisecond) // The second one asks while the first waits.
	apptest.Must(t, lock.Rollback())
	all.Wait()
}

// TestEqualReportsAreEncodedTogether has reports begin while the records are locked, most of them in one form.
func TestEqualReportsAreEncodedTogether(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	h.use(account, time.Now().UTC().Add(-48*time.Hour), app.Cent, func(u *billing.UsageRecord) { u.EndUser = "jane" })
	lock := lockRecords(t, h)
	to := time.Now().UTC().Truncate(time.Hour)
	var all sync.WaitGroup
	var common, other, short atomic.Int64
	read := func(ctx context.Context, days int, form, want string, encodings *atomic.Int64) {
		all.Go(func() {
			q := usage.Query{AccountID: account, From: to.AddDate(0, 0, -days), To: to, Group: usage.ByEndUser}
			got, err := h.reports.Encoded(ctx, q, form, func(r usage.Report) ([]byte, error) {
				encodings.Add(1)
				return []byte(form + r.Lines[0].Group), nil
			})
			if string(got) != want || (err == nil) != (want != "") {
				t.Errorf("a report is %q, want %q: %v", got, want, err)
			}
		})
	}
	left, leave := context.WithCancel(h.ctx)
	read(left, 365, "a ", "", &common)
	awaitReading(t, h, 1)
	const readers = 20
	for range readers {
		read(h.ctx, 365, "a ", "a jane", &common)
	}
	read(h.ctx, 365, "b ", "b jane", &other)
	for range 2 {
		read(h.ctx, 30, "a ", "a jane", &short)
	}
	awaitReading(t, h, 3) // Reports of little time share nothing.
	leave()
	apptest.Must(t, lock.Rollback())
	all.Wait()
	// A reader that the machine let wait may come after the first encoding.
	if n := common.Load(); n > readers/2 || other.Load() != 1 || short.Load() != 2 {
		t.Errorf("%d equal reports were encoded %d times, one of another form %d and two of little time %d", readers, n, other.Load(), short.Load())
	}
}
