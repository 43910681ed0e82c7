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
		"completed": 3, "client_left": 1, "upstream_failed": 1, "stopped": 1,
		"request_refused": 2, "credit_ran_out": 1, "client_left_unanswered": 1, "video_deleted": 1,
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
	h.exec(`update usage_records set settled_at = $1`, now.Add(-2*time.Minute))
	h.exec(`update model_stats_cursor set until = $1`, now.Add(-3*time.Hour)) // Three hours take three whole steps and a part of one.
	reports := usage.NewReports(h.db, usage.Options{Now: func() time.Time { return now.Add(20 * time.Second) }, Log: slog.New(slog.DiscardHandler)})
	for range 2 { // The second pass must not count the same calls again.
		if err := reports.UpdateModelStats(h.ctx); err != nil {
			t.Fatal(err)
		}
	}
	hours, err := reports.ModelHours(h.ctx)
	if err != nil {
		t.Fatal(err)
	}
	m := hours["m"]
	if m.Answered != 4 || m.Failed != 2 || !m.Until.Equal(now) {
		t.Errorf("%+v", m)
	}
	for name, pair := range map[string][2]int64{
		"first byte, p50": {int64(m.FirstByteP50), int64(400 * time.Millisecond)}, "p95": {int64(m.FirstByteP95), int64(400 * time.Millisecond)},
		"speed": {m.SpeedP50, 100_000},
	} {
		if off := max(pair[0]-pair[1], pair[1]-pair[0]); off > pair[1]/20 {
			t.Errorf("%s is %d, not about %d", name, pair[0], pair[1])
		}
	}
	days, err := reports.ModelDays(h.ctx, "m", now.AddDate(0, 0, -89))
	if err != nil || len(days) != 1 || days[0].Answered != 4 || days[0].Failed != 2 {
		t.Errorf("%+v, %v", days, err)
	}
	late := usage.NewReports(h.db, usage.Options{Now: func() time.Time { return now.Add(2 * time.Hour) }, Log: slog.New(slog.DiscardHandler)})
	if err := late.UpdateModelStats(h.ctx); err != nil {
		t.Fatal(err)
	}
	if hours, err = late.ModelHours(h.ctx); err != nil || len(hours) != 0 {
		t.Errorf("two hours later there is %+v, %v", hours, err)
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
