package usage_test

import (
	"fmt"
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
	"umg/billing/usage"
)

// TestReportsAreRightInAnyTimeZone puts one request into every quarter of an hour around the days on which clocks change, and
// compares the report's days with those that the time package computes.
func TestReportsAreRightInAnyTimeZone(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	from := time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(0, 0, 3)
	h.exec(`insert into usage_rollups (account_id, slot, key_id, model, style, reason, requests, streamed, meters, cost_nanos, overrun_nanos,
			first_byte_micros, duration_micros, failed)
		select $1, slot, 'key_1', 'm', 'chat', 'completed', 1, 0, '{}', extract(epoch from slot)::bigint % 1000, 0, 0, 0, 0 from generate_series($2::timestamptz, $3::timestamptz - interval '1 second', interval '15 minutes') slot`,
		account, from, to)
	for _, name := range []string{"UTC", "Asia/Kathmandu", "America/New_York", "Australia/Lord_Howe", "Pacific/Chatham"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for step, layout := range map[usage.Step]string{usage.Daily: "2006-01-02", usage.Hourly: "2006-01-02 15 -07"} {
			if name == "Australia/Lord_Howe" && step == usage.Hourly {
				continue // The clocks of this zone change by half an hour, which no step of an hour fits.
			}
			want, cost := map[string]int64{}, map[string]app.Amount{}
			for at := from; at.Before(to); at = at.Add(15 * time.Minute) {
				day := at.In(zone).Format(layout)
				want[day]++
				cost[day] += app.Amount(at.Unix() % 1000)
			}
			report, err := h.reports.Report(h.ctx, usage.Query{AccountID: account, From: from, To: to, Zone: zone, Step: step})
			if err != nil || len(report.Lines) != len(want) || report.Total.Requests != 3*96 {
				t.Fatalf("%s: %d lines for %d, %v", name, len(report.Lines), len(want), err)
			}
			for _, line := range report.Lines {
				if day := line.Start.In(zone).Format(layout); line.Requests != want[day] || line.Cost != cost[day] {
					t.Errorf("%s, %s: %d requests for %d, want %d for %d", name, day, line.Requests, line.Cost, want[day], cost[day])
				}
			}
		}
	}
}

func TestReportsGroupFilterAndAddUp(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account, other := h.account(app.Dollar), h.account(app.Dollar)
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for i := range 12 {
		h.use(account, day.Add(time.Duration(i)*time.Hour), app.Amount(i), func(r *billing.UsageRecord) {
			r.Model, r.KeyID = fmt.Sprint("m", i%2), fmt.Sprint("k", i%3)
			r.EndUser = fmt.Sprint("u", i%4)
			if i%6 == 5 {
				r.Style, r.Outcome, r.Reason, r.Streamed = "videos", "failed", "upstream_failed", true
			}
		})
	}
	h.use(other, day, 500, nil)
	ask := func(q usage.Query) usage.Report {
		t.Helper()
		q.AccountID, q.From, q.To = account, day, day.AddDate(0, 0, 1)
		report, err := h.reports.Report(h.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	whole := ask(usage.Query{})
	if u := whole.Total; u.Requests != 12 || u.Cost != 66 || u.Failed != 2 || u.Streamed != 2 || len(whole.Lines) != 1 || !whole.Lines[0].Start.IsZero() ||
		u.Usage != (meter.Counts{12, 24, 36, 48, 60, 72, 84, 96, 108}) {
		t.Errorf("in all %+v", whole)
	}
	for group, lines := range map[usage.Grouping]int{
		usage.ByModel: 2, usage.ByKey: 3, usage.ByStyle: 2, usage.ByReason: 2, usage.ByEndUser: 4,
	} {
		if report := ask(usage.Query{Group: group}); len(report.Lines) != lines || report.Total != whole.Total {
			t.Errorf("by %s: %+v", group, report)
		}
	}
	for name, c := range map[string]struct {
		q        usage.Query
		requests int64
	}{
		"model": {usage.Query{Model: "m1"}, 6}, "key": {usage.Query{KeyID: "k0"}, 4}, "style": {usage.Query{Style: "videos"}, 2},
		"reason": {usage.Query{Reason: "completed"}, 10}, "video": {usage.Query{Modality: "video"}, 2},
		"text": {usage.Query{Modality: "text"}, 10}, "end user": {usage.Query{EndUser: "u1"}, 3}, "nothing": {usage.Query{Model: "x"}, 0},
	} {
		if report := ask(c.q); report.Total.Requests != c.requests {
			t.Errorf("%s: %d requests, want %d", name, report.Total.Requests, c.requests)
		}
	}
	for name, q := range map[string]usage.Query{
		"a group": {Group: "x"}, "a step": {Step: "x"}, "a moment": {From: day.Add(time.Minute)},
	} {
		if _, err := h.reports.Report(h.ctx, q); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
	reconciled, err := h.ledger.Reconcile(h.ctx, account)
	if err != nil || !reconciled.Exact() || reconciled.Usage != 66 || reconciled.Posted != app.Dollar-66 {
		t.Errorf("reconciled %+v, %v", reconciled, err)
	}
	h.exec(`update usage_rollups set cost_nanos = cost_nanos + 1 where model = 'm1'`)
	if reconciled, err := h.ledger.Reconcile(h.ctx, account); err != nil || reconciled.Exact() {
		t.Errorf("broken sums reconcile: %+v, %v", reconciled, err)
	}
}

func TestRecordsAreFoundAndPaged(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	day := time.Date(2026, 11, 20, 23, 59, 59, 999_999_000, time.UTC)
	var ids []string
	for i := range 7 {
		at := day.Add(time.Duration(i/2) * time.Microsecond) // Some requests began in the same microsecond, some on the next day.
		ids = append(ids, h.use(account, at, app.Amount(i), func(r *billing.UsageRecord) { r.EndUser = fmt.Sprint("u", i) }))
	}
	var seen []string
	for after := ""; ; {
		page, err := h.reports.Records(h.ctx, usage.RecordQuery{AccountID: account, Limit: 2, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			seen = append(seen, r.RequestID)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(seen) != 7 || seen[0] != ids[6] {
		t.Fatalf("seen %v of %v", seen, ids)
	}
	for _, bad := range []string{"x", "1.", "-1.req_1", "9999999999999999999.req_1"} {
		_, err := h.reports.Records(h.ctx, usage.RecordQuery{AccountID: account, Limit: 2, After: bad})
		if e := app.AsError(err); e == nil || e.Code != "invalid_cursor" || e.Param != "after" {
			t.Errorf("the cursor %q: %v", bad, err)
		}
	}
	found, err := h.reports.Record(h.ctx, account, ids[3])
	if err != nil || found.EndUser != "u3" || found.Cost != 3 || found.TransactionID == "" {
		t.Errorf("record %+v, %v", found, err)
	}
	if _, err := h.reports.Record(h.ctx, h.account(0), ids[3]); app.KindOf(err) != app.NotFound {
		t.Errorf("another account's record: %v", err)
	}
	for name, c := range map[string]struct {
		q    usage.RecordQuery
		want int
	}{
		"transaction": {usage.RecordQuery{Transaction: found.TransactionID}, 1}, "search": {usage.RecordQuery{Search: ids[2]}, 1},
		"end user": {usage.RecordQuery{EndUser: "u5"}, 1}, "from": {usage.RecordQuery{From: day.Add(time.Microsecond)}, 5},
		"to": {usage.RecordQuery{To: day.Add(time.Microsecond)}, 2}, "model": {usage.RecordQuery{Model: "aurora-small"}, 7},
		"reason": {usage.RecordQuery{Reason: "x"}, 0}, "a wildcard": {usage.RecordQuery{Search: "%"}, 0},
	} {
		c.q.AccountID, c.q.Limit = account, 100
		if page, err := h.reports.Records(h.ctx, c.q); err != nil || len(page.Records) != c.want {
			t.Errorf("%s: %d records, %v; want %d", name, len(page.Records), err, c.want)
		}
	}
	for _, after := range []string{"x", "1", "-1.req", "99999999999999999999.req", "1."} {
		if _, err := h.reports.Records(h.ctx, usage.RecordQuery{AccountID: account, After: after}); app.KindOf(err) != app.Invalid {
			t.Errorf("after %q: %v", after, err)
		}
	}
	entries, err := h.ledger.EntryList(h.ctx, billing.EntryQuery{AccountID: account, Kinds: []string{"charge"}, Limit: 100})
	if err != nil || len(entries.Entries) != 6 || entries.More || entries.Entries[0].Requests != 1 {
		t.Errorf("entries %+v, %v", entries, err)
	}
}

func TestOldMonthsGoAndTheirSumsStay(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	now := time.Now().UTC()
	old := now.AddDate(0, -30, 0)
	past := h.use(account, old, 5, nil)
	h.exec(`alter table ledger_transactions disable trigger all`)
	h.exec(`update ledger_transactions set at = $2 where ref = $1`, past, old) // This moves the transactions into the past.
	h.exec(`alter table ledger_transactions enable trigger all`)
	h.exec(`update holds set created_at = $2 where id = $1`, past, old)
	h.exec(`update usage_records set settled_at = $2 where request_id = $1`, past, old)
	h.use(account, now, 7, nil)
	months := func() (n int) {
		t.Helper()
		if err := h.db.GetContext(h.ctx, &n, `select count(*) from pg_inherits where inhparent = 'usage_records'::regclass`); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := months()
	h.exec(`select make_usage_months($1::date, $1::date)`, old.Format(time.DateOnly)) // This moves rows out of the default partition.
	if months() != before+1 {
		t.Errorf("%d partitions, want %d", months(), before+1)
	}
	h.checkInvariants()
	for range 2 {
		if err := h.reports.MaintainPartitions(h.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if months() != before {
		t.Errorf("%d partitions are left, want %d", months(), before)
	}
	page, err := h.reports.Records(h.ctx, usage.RecordQuery{AccountID: account, Limit: 10})
	if err != nil || len(page.Records) != 1 || page.Records[0].Cost != 7 {
		t.Errorf("records %+v, %v", page, err)
	}
	report, err := h.reports.Report(h.ctx, usage.Query{
		AccountID: account, From: old.Truncate(24 * time.Hour), To: now.Truncate(24*time.Hour).AddDate(0, 0, 1),
	})
	if err != nil || report.Total.Cost != 12 {
		t.Errorf("report %+v, %v", report, err)
	}
	h.checkInvariants()
}
