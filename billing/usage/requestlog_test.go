package usage_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
	"umg/billing/usage"
)

// mixed records eight calls of the last minutes that differ in every field that a log can be filtered by.
func (h *fixture) mixed(account string) (ids []string) {
	h.Helper()
	for i := range 8 {
		ids = append(ids, h.use(account, time.Now().Add(time.Duration(i-9)*time.Minute), app.Amount(i*100), func(r *billing.UsageRecord) {
			r.Provider, r.UpstreamModel, r.KeyID = fmt.Sprint("p", i%2), fmt.Sprint("m", i%4), fmt.Sprint("k", i)
			r.Streamed, r.Duration, r.FirstByte, r.FinishReason = i%2 == 1, time.Duration(i)*time.Second, time.Duration(i)*100*time.Millisecond, "stop"
			switch i {
			case 0:
				r.KeyID = ""
			case 5:
				r.Outcome, r.Reason, r.ErrorCode, r.FinishReason = "failed", "upstream_failed", "rate_limit_exceeded", ""
			}
		}))
	}
	return ids
}

func TestRecordsAreFoundByEverythingTheyHold(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	ids := h.mixed(account)
	yes, no := true, false
	low, high := app.Amount(200), app.Amount(400)
	for name, c := range map[string]struct {
		q    usage.RecordQuery
		want []int
	}{
		"provider": {usage.RecordQuery{Provider: "p1"}, []int{7, 5, 3, 1}}, "model used": {usage.RecordQuery{Used: "m3"}, []int{7, 3}},
		"streamed": {usage.RecordQuery{Streamed: &yes}, []int{7, 5, 3, 1}}, "whole": {usage.RecordQuery{Streamed: &no}, []int{6, 4, 2, 0}},
		"playground": {usage.RecordQuery{Played: &yes}, []int{0}}, "API": {usage.RecordQuery{Played: &no}, []int{7, 6, 5, 4, 3, 2, 1}},
		"error": {usage.RecordQuery{ErrorCode: "rate_limit_exceeded"}, []int{5}}, "failed": {usage.RecordQuery{Outcome: usage.NotSucceeded}, []int{5}},
		"finish": {usage.RecordQuery{Finish: "stop", Keys: []string{"k4", "k5", "k6"}}, []int{6, 4}}, "no key": {usage.RecordQuery{Keys: []string{}}, nil},
		"cost": {usage.RecordQuery{CostFrom: &low, CostTo: &high}, []int{4, 3, 2}}, "slow": {usage.RecordQuery{Slower: 5 * time.Second}, []int{7, 6}},
	} {
		c.q.AccountID, c.q.Limit = account, 10_000
		page, err := h.reports.Records(h.ctx, c.q)
		var got []int
		for _, r := range page.Records {
			got = append(got, slices.Index(ids, r.RequestID))
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
		c.q.To = time.Now()
		c.q.From = c.q.To.Add(-time.Hour)
		bars, err := h.reports.Histogram(h.ctx, c.q, time.Minute)
		var counted int64
		for _, b := range bars.Bars {
			counted += b.Requests
		}
		if err != nil || counted != int64(len(c.want)) || len(bars.Bars) != 60 {
			t.Errorf("%s: a histogram of %d, %v", name, counted, err)
		}
	}
}

func TestNeighboursAreThoseOfTheSameList(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	ids := h.mixed(account)
	yes := true
	for name, c := range map[string]struct {
		q            usage.RecordQuery
		newer, older string
	}{
		"all": {usage.RecordQuery{}, ids[4], ids[2]}, "streamed": {usage.RecordQuery{Streamed: &yes}, ids[5], ids[1]},
		"none other": {usage.RecordQuery{KeyID: "k3"}, "", ""},
	} {
		c.q.AccountID = account
		record, err := h.reports.Record(h.ctx, account, ids[3])
		if err != nil {
			t.Fatal(err)
		}
		if newer, older, err := h.reports.Neighbours(h.ctx, c.q, record); err != nil || newer != c.newer || older != c.older {
			t.Errorf("%s: %s, %s, %v", name, newer, older, err)
		}
	}
}

func TestATailGoesOnWhereItWasWithoutGapOrDouble(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account, other := h.account(app.Dollar), h.account(app.Dollar)
	h.use(account, time.Now(), 1, nil)
	h.exec(`update usage_records set settled_at = settled_at - interval '1 minute'`)
	place := h.reports.TailStart()
	var want, got []string
	for i := range 230 {
		want = append(want, h.use(account, time.Now().Add(-time.Duration(i%7)*time.Minute), 1, nil)) // The slow calls began earlier.
		if i%50 == 0 {
			h.use(other, time.Now(), 1, nil)
		}
	}
	later := usage.NewReports(h.db, usage.Options{Now: func() time.Time { return time.Now().Add(2 * time.Second) }, Log: slog.Default()})
	for range 5 {
		records, next, err := later.Tail(h.ctx, usage.RecordQuery{AccountID: account}, place)
		if err != nil || len(records) > 100 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		for _, r := range records {
			got = append(got, r.RequestID)
		}
		place = next
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d of %d, each once: %v", len(got), len(want), len(slices.Compact(got)) == len(want))
	}
	if _, _, err := h.reports.Tail(h.ctx, usage.RecordQuery{AccountID: account}, "x"); app.KindOf(err) != app.Invalid {
		t.Errorf("a place that is none: %v", err)
	}
}

func TestHistogramsOfSumsAndOfRecordsAgree(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	h.mixed(account)
	to := time.Now().Truncate(15 * time.Minute).Add(15 * time.Minute)
	q := usage.RecordQuery{AccountID: account, From: to.Add(-6 * time.Hour), To: to}
	sums, err := h.reports.Histogram(h.ctx, q, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	q.Outcome = usage.NotSucceeded
	failed, err := h.reports.Histogram(h.ctx, q, time.Hour)
	var requests, bad, counted int64
	for i, b := range sums.Bars {
		requests, bad, counted = requests+b.Requests, bad+b.Failed, counted+failed.Bars[i].Requests
	}
	if err != nil || requests != 8 || bad != 1 || counted != 1 || !sums.Since.Equal(q.From) {
		t.Errorf("%d requests, %d failed, %d counted, %v", requests, bad, counted, err)
	}
	if _, err := h.reports.Histogram(h.ctx, q, time.Second); err == nil {
		t.Error("a picture of too many steps is drawn")
	}
}

func TestReportsByTheMinuteAndLatencies(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	h.mixed(account)
	to := time.Now().Truncate(15 * time.Minute).Add(15 * time.Minute)
	q := usage.Query{AccountID: account, From: to.Add(-time.Hour), To: to, Step: usage.Minutely, Group: usage.ByModality, Limited: true}
	report, err := h.reports.Report(h.ctx, q)
	if err != nil || len(report.Lines) != 8 || report.Total.Limited != 1 || report.Total.Requests != 8 || report.Lines[0].Group != "text" {
		t.Errorf("%d lines, %+v, %v", len(report.Lines), report.Total, err)
	}
	q.Keys = []string{"k3"}
	if report, err := h.reports.Report(h.ctx, q); err != nil || report.Total.Requests != 1 {
		t.Errorf("of one key %+v, %v", report.Total, err)
	}
	q.Keys, q.Step, q.Group = nil, usage.NoStep, usage.ByKey
	took, err := h.reports.Latencies(h.ctx, q)
	i := slices.IndexFunc(took.Lines, func(l usage.LatencyLine) bool { return l.All && l.Start.IsZero() })
	if err != nil || i < 0 {
		t.Fatalf("%+v, %v", took, err)
	}
	// The failed call is not counted: 0, 1, 2, 3, 4, 6 and 7 seconds.
	if l := took.Lines[i]; l.Calls != 7 || l.P50 != 3*time.Second || l.P95 != 7*time.Second || l.FirstP50 != 300*time.Millisecond {
		t.Errorf("in all %+v", l)
	}
}
