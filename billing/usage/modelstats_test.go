package usage_test

import (
	"log/slog"
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
	"umg/billing/usage"
)

// TestModelsAreJudgedByTheirOwnFailuresOnly settles calls with every reason and compares the statistics of the model.
func TestModelsAreJudgedByTheirOwnFailuresOnly(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	now := time.Now().UTC().Truncate(time.Minute)
	ends := map[billing.Reason]int{
		"completed": 3, "upstream_failed": 1, "stopped": 1,
		"client_left": 1, "filtered": 1, "filtered_unanswered": 1, "request_refused": 2, "credit_ran_out": 1, "client_left_unanswered": 1, "video_deleted": 1,
	}
	for reason, n := range ends {
		for range n {
			h.use(account, now, 1, func(r *billing.UsageRecord) {
				r.Model, r.Reason, r.Streamed = "m", string(reason), reason == "completed"
				r.Outcome, r.FirstByte, r.Duration = billing.RuleOf(reason).Outcome, 400*time.Millisecond, 900*time.Millisecond
				r.Usage = meter.Counts{meter.OutputTokens: 50}
			})
		}
	}
	h.use(account, now, 1, func(r *billing.UsageRecord) {
		r.Model, r.Reason, r.ErrorCode = "m", "video_failed", "moderation_blocked"
	})
	h.use(account, now, 1, func(r *billing.UsageRecord) {
		r.Model, r.Reason, r.Flags = "m", "upstream_failed", billing.FlagRequestedFault
	})
	h.exec(`update usage_records set settled_at = $1`, now.Add(-2*time.Minute))
	h.exec(`update model_stats_cursor set until = $1`, now.Add(-3*time.Hour)) // Three hours take three whole steps and a part of one.
	reports := usage.NewReports(h.db, usage.Options{Now: func() time.Time { return now.Add(20 * time.Second) }, Log: slog.New(slog.DiscardHandler)})
	for range 2 { // The second pass must not count the same calls again.
		if err := reports.UpdateModelStats(h.ctx); err != nil {
			t.Fatal(err)
		}
	}
	recent, err := reports.RecentModels(h.ctx)
	if err != nil {
		t.Fatal(err)
	}
	m := recent["m"]
	if m.Answered != 3 || m.Failed != 2 || !m.Until.Equal(now) {
		t.Errorf("%+v", m)
	}
	for name, pair := range map[string][2]int64{
		"first byte, p50": {int64(m.FirstByteP50), int64(400 * time.Millisecond)}, "p95": {int64(m.FirstByteP95), int64(400 * time.Millisecond)},
		"speed": {m.SpeedP50, 100_000}, "duration": {int64(m.DurationP50), int64(900 * time.Millisecond)},
	} {
		if off := max(pair[0]-pair[1], pair[1]-pair[0]); off > pair[1]/20 {
			t.Errorf("%s is %d, not about %d", name, pair[0], pair[1])
		}
	}
	days, err := reports.ModelDays(h.ctx, "m", now.AddDate(0, 0, -89))
	if err != nil || len(days) != 1 || days[0].Answered != 3 || days[0].Failed != 2 {
		t.Errorf("%+v, %v", days, err)
	}
	late := usage.NewReports(h.db, usage.Options{Now: func() time.Time { return now.Add(26 * time.Hour) }, Log: slog.New(slog.DiscardHandler)})
	if err := late.UpdateModelStats(h.ctx); err != nil {
		t.Fatal(err)
	}
	if recent, err = late.RecentModels(h.ctx); err != nil || len(recent) != 0 {
		t.Errorf("a day later there is %+v, %v", recent, err)
	}
}

// TestProvidersAreJudgedByTheirAttempts settles calls at two providers, one of them after the other had failed.
func TestProvidersAreJudgedByTheirAttempts(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	now := time.Now().UTC().Truncate(time.Hour).Add(10 * time.Minute)
	failedAt := func(provider string) billing.Attempt {
		return billing.Attempt{Provider: provider, Cause: "server_error", Status: 500, Took: time.Millisecond}
	}
	call := func(at time.Time, provider, reason string, tries ...billing.Attempt) {
		h.use(account, at, 1, func(r *billing.UsageRecord) {
			r.Model, r.Provider, r.Reason, r.Outcome = "m", provider, reason, billing.RuleOf(billing.Reason(reason)).Outcome
			r.Streamed, r.FirstByte, r.Duration, r.Attempts = true, 200*time.Millisecond, time.Second, max(1, len(tries))
			r.Trail.Attempts, r.KeyID = tries, "" // The playground makes calls without a key, which count too.
		})
		h.exec(`update usage_records set settled_at = $1 where settled_at > $1 and started_at = $1`, at)
	}
	early := now.Add(-3 * time.Hour)
	call(early, "one", "completed")
	call(early.Add(time.Second), "two", "completed", failedAt("one"), billing.Attempt{Provider: "two", First: time.Millisecond})
	call(now, "one", "upstream_failed", failedAt("two"), failedAt("one"))
	call(now.Add(time.Second), "two", "completed", billing.Attempt{Provider: "one", Cause: "client_left", Took: 1}, billing.Attempt{Provider: "two"})
	h.exec(`update model_stats_cursor set until = $1`, now.Add(-4*time.Hour))
	reports := usage.NewReports(h.db, usage.Options{Now: func() time.Time { return now.Add(5 * time.Minute) }, Log: slog.New(slog.DiscardHandler)})
	if err := reports.UpdateModelStats(h.ctx); err != nil {
		t.Fatal(err)
	}
	totals, err := reports.ProviderTotals(h.ctx, "m", now.Add(-24*time.Hour))
	if err != nil || len(totals) != 2 {
		t.Fatalf("%+v, %v", totals, err)
	}
	if one := totals[0]; one.Provider != "one" || one.Answered != 1 || one.Failed != 1 || one.Attempts != 1 || one.DurationP95 == 0 {
		t.Errorf("%+v", one)
	}
	if two := totals[1]; two.Provider != "two" || two.Answered != 2 || two.Failed != 0 || two.Attempts != 1 || two.FirstByteP50 == 0 {
		t.Errorf("%+v", two)
	}
	steps, err := reports.ProviderSteps(h.ctx, "m", now.Add(-24*time.Hour), time.Hour)
	if err != nil || len(steps) != 4 || !steps[0].Start.Equal(early.Truncate(time.Hour)) || !steps[3].Start.Equal(now.Truncate(time.Hour)) {
		t.Errorf("%+v, %v", steps, err)
	}
	recent, err := reports.RecentModels(h.ctx)
	if m := recent["m"]; err != nil || m.Answered != 3 || m.Failed != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	margins, err := reports.Margins(h.ctx, usage.MarginQuery{First: early.Truncate(24 * time.Hour), Last: now})
	if err != nil || margins.Total.Calls != 4 {
		t.Errorf("the margin counts %d calls, %v", margins.Total.Calls, err)
	}
}

func TestTheLastTextCallsArePricedAgain(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account, now := h.account(app.Dollar), time.Now().UTC()
	for i := range 3 {
		h.use(account, now.Add(time.Duration(i)*time.Second), app.Amount(100+i), func(r *billing.UsageRecord) {
			r.Usage = meter.Counts{meter.InputTokens: 1, meter.OutputTokens: int64(i)}
		})
	}
	h.use(account, now.Add(time.Minute), 5, func(r *billing.UsageRecord) { r.Style = "videos" })
	h.use(account, now.Add(time.Minute), 0, nil)
	h.use(h.account(app.Dollar), now.Add(time.Minute), 7, nil)
	last, err := h.reports.LastText(h.ctx, account, 2)
	if err != nil || len(last) != 2 || last[0].Cost != 102 || last[1].Cost != 101 {
		t.Fatalf("%+v, %v", last, err)
	}
}
