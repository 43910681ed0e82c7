package billing_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"umg/app/meter"
	"umg/app/postgres"
	"umg/app/postgres/local"
	"umg/app/postgres/pgtest"
	"umg/billing/usage"
	"umg/migrations"
)

// TestOldRecordsMoveIntoMonths migrates a ledger from before leases existed to the newest schema.
func TestOldRecordsMoveIntoMonths(t *testing.T) {
	t.Parallel()
	pg, err := local.Start(t.Context(), local.Options{Dir: shortDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(context.Background()) })
	db, err := postgres.Open(t.Context(), pg.DSN(), postgres.Options{Connections: 2, StatementMax: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	provider, err := goose.NewProvider(goose.DialectPostgres, db.DB, migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	h := open(t, db)
	h.exec(`insert into credit_accounts (id, kind, posted_nanos) values ('acc_1', 'customer', 0)`)
	h.exec(`select grant_credit('grt_1', 'acc_1', 'trial', 50, 100, null, 'src', 'internal:promotions', 'txn_1', now(), '{}')`)
	for id, age := range map[string]string{"req_1": "0", "req_2": "70 days"} {
		h.exec(`select take_hold($1, 'acc_1', 10, 10, 60)`, id)
		h.exec(`select settle_hold($1, 'acc_1', 12, 'txn_' || $1, now(), jsonb_build_object('key_id', 'k', 'model', 'm', 'provider', '',
			'upstream_model', '', 'style', 'chat', 'rate_card_id', '', 'end_user', '', 'finish_reason', '', 'error_code', '',
			'outcome', 'succeeded', 'streamed', false, 'estimated', false, 'attempts', 1, 'input_tokens', 1, 'cache_read_tokens', 0,
			'cache_write_tokens', 0, 'output_tokens', 2, 'reasoning_tokens', 0, 'images', 0, 'milliseconds', 0, 'characters', 0,
			'requests', 1, 'started_at', now() - $2::interval, 'first_byte_micros', 0, 'duration_micros', 0))`, id, age)
	}
	if _, err := postgres.Migrate(t.Context(), db, postgres.MigrateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.balance("acc_1", 80, 0)
	page, err := h.reports.Records(t.Context(), usage.RecordQuery{AccountID: "acc_1", Limit: 10})
	if err != nil || len(page.Records) != 2 || page.Records[0].TransactionID != "txn_req_1" || page.Records[1].Cost != 10 {
		t.Errorf("records %+v, %v", page, err)
	}
	var elsewhere, exact int
	if err := db.QueryRowxContext(t.Context(), `select (select count(*) from usage_records_default),
		(select count(*) from credit_accounts where return_immediately)`).Scan(&elsewhere, &exact); err != nil || elsewhere != 0 || exact != 1 {
		t.Errorf("%d records lie in no month, %d accounts are exact, %v", elsewhere, exact, err)
	}
	h.books()
}

// beforeMeters is the last migration of the time when records had a column for each meter.
const beforeMeters = 40

// TestCountsMoveIntoOneArray migrates records and sums that have a column for each meter: of the present month, of an earlier one that
// was attached, and of days that no partition has.
func TestCountsMoveIntoOneArray(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	db.MustExec(`drop schema public cascade`)
	db.MustExec(`create schema public`)
	provider, err := goose.NewProvider(goose.DialectPostgres, db.DB, migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), beforeMeters); err != nil {
		t.Fatal(err)
	}
	h := open(t, db)
	h.exec(`insert into credit_accounts (id, kind, posted_nanos) values ('acc_1', 'customer', 0)`)
	h.exec(`select grant_credit('grt_1', 'acc_1', 'trial', 10, 1000, null, 'src', 'internal:promotions', 'txn_1', now(), '{}')`)
	h.exec(`select make_usage_months('2026-01-01', '2026-03-01')`)
	today := time.Now().UTC().Truncate(time.Microsecond)
	starts := map[string]time.Time{
		"req_now": today, "req_month": time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), "req_default": time.Date(2031, 7, 1, 0, 0, 0, 0, time.UTC),
	}
	counts := map[string][]int64{
		"req_now": {1, 2, 3, 4, 5, 6, 7, 8, 9}, "req_month": {10, 0, 0, 20, 0, 0, 0, 0, 1}, "req_default": {0, 0, 0, 0, 0, 0, 8000, 0, 0},
	}
	for id, start := range starts {
		h.exec(`select hold_job($1, 'acc_1', '', 10, now() + interval '1 hour')`, id)
		h.exec(`select settle_hold($1, 'acc_1', 12, 'txn_' || $1, now(), jsonb_build_object('day', ($2::timestamptz at time zone 'utc')::date,
			'key_id', 'k', 'model', 'm', 'provider', '', 'upstream_model', '', 'style', 'chat', 'rate_card_id', '', 'end_user', '',
			'finish_reason', '', 'error_code', '', 'outcome', 'succeeded', 'reason', 'completed', 'streamed', false, 'estimated', false,
			'attempts', 1, 'input_tokens', $3::bigint, 'cache_read_tokens', $4::bigint, 'cache_write_tokens', $5::bigint,
			'output_tokens', $6::bigint, 'reasoning_tokens', $7::bigint, 'images', $8::bigint, 'milliseconds', $9::bigint,
			'characters', $10::bigint, 'requests', $11::bigint, 'started_at', $2::timestamptz, 'first_byte_micros', 0, 'duration_micros', 0))`,
			id, start, counts[id][0], counts[id][1], counts[id][2], counts[id][3], counts[id][4], counts[id][5], counts[id][6], counts[id][7],
			counts[id][8])
	}
	if _, err := postgres.Migrate(t.Context(), db, postgres.MigrateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.books()
	page, err := h.reports.Records(t.Context(), usage.RecordQuery{AccountID: "acc_1", Limit: 10})
	if err != nil || len(page.Records) != len(counts) {
		t.Fatalf("records %+v, %v", page, err)
	}
	for _, r := range page.Records {
		var want meter.Counts
		copy(want[:], counts[r.RequestID])
		if r.Usage != want || r.Cost != 10 || r.Overrun != 2 || !r.StartedAt.Equal(starts[r.RequestID]) || r.UpstreamCost != nil || r.Flags != "" {
			t.Errorf("%s is %+v, want the counts %v", r.RequestID, r, want)
		}
	}
	report, err := h.reports.Report(t.Context(), usage.Query{AccountID: "acc_1", From: time.Unix(0, 0), To: starts["req_default"].AddDate(1, 0, 0)})
	if err != nil || report.Total.Usage != (meter.Counts{11, 2, 3, 24, 5, 6, 8007, 8, 10}) || report.Total.Requests != 3 {
		t.Errorf("the sums are %+v, %v", report.Total, err)
	}
	partitionsWork(t, h)
}

// partitionsWork checks that the parent and all partitions have the same columns and refuse the same counts, and that new months can be
// made, also for days whose records are in the default partition.
func partitionsWork(t *testing.T, h *fixture) {
	t.Helper()
	var columns []string
	err := h.db.Select(&columns, `
		select distinct (select string_agg(attname || ' ' || atttypid::regtype || ' ' || attnotnull, ',' order by attname) from pg_attribute a
			where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
		from pg_class c where c.oid = 'usage_records'::regclass
			or c.oid in (select inhrelid from pg_inherits where inhparent = 'usage_records'::regclass)`)
	if err != nil || len(columns) != 1 {
		t.Fatalf("partitions differ: %v, %v", columns, err)
	}
	h.exec(`select make_usage_months('2031-07-01', '2031-07-31')`)
	var months []string
	err = h.db.Select(&months, `select tableoid::regclass::text from usage_records order by 1`)
	if err != nil || !slices.Contains(months, "usage_records_203107") || slices.Contains(months, "usage_records_default") {
		t.Errorf("records are in %v, %v", months, err)
	}
	for _, meters := range []string{"{-1}", "{1,NULL}", "{{1},{2}}", "[2:2]={1}"} {
		for id := range map[string]bool{"req_now": true, "req_month": true, "req_default": true} {
			if _, err := h.db.ExecContext(t.Context(), `update usage_records set meters = $1 where request_id = $2`, meters, id); err == nil {
				t.Errorf("%s may have the counts %s", id, meters)
			}
		}
	}
	h.books()
}
