package usage_test

import (
	"testing"
	"time"

	"umg/app"
	"umg/billing"
)

// TestActivityAndCreditAddUp compares what the console shows with what was settled.
func TestActivityAndCreditAddUp(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(10 * app.Dollar)
	for i, outcome := range []string{"succeeded", "failed", "client_left"} {
		hold := h.hold(account, app.Dollar)
		r := billing.UsageRecord{RequestID: hold.ID, KeyID: "key_1", Model: "m", Outcome: outcome, Streamed: i == 0}
		if err := h.ledger.SettleIn(h.ctx, h.db, hold, billing.Settlement{Cost: app.Amount(i) * app.Cent, Record: r}); err != nil {
			t.Fatal(err)
		}
	}
	hours, err := h.reports.Hours(h.ctx, account, time.Time{})
	if err != nil || len(hours) != 1 {
		t.Fatal(hours, err)
	}
	a := hours[0]
	if a.Spend != 3*app.Cent || a.Requests != 3 || a.Failed != 1 || !a.At.Equal(a.At.Truncate(time.Hour)) {
		t.Errorf("the hour is %+v", a)
	}
	keys, err := h.reports.KeyDays(h.ctx, account, time.Time{})
	if err != nil || len(keys) != 1 || keys[0].KeyID != "key_1" || keys[0].Spend != a.Spend || keys[0].Model != "m" ||
		!keys[0].Day.Equal(a.At.Truncate(24*time.Hour)) {
		t.Errorf("the days of keys are %+v, %v", keys, err)
	}
	end := time.Now().Add(24 * time.Hour)
	h.grant(billing.Grant{AccountID: account, Kind: billing.Trial, Amount: app.Dollar, ExpiresAt: &end})
	h.grant(billing.Grant{AccountID: account, Kind: billing.Promotional, Amount: app.Cent})
	c, err := h.ledger.Credit(h.ctx, account)
	if err != nil {
		t.Fatal(err)
	}
	if c.Trial+c.Purchased+c.Granted != c.Posted || c.Posted != 11*app.Dollar+app.Cent-a.Spend || c.Trial != app.Dollar ||
		c.Granted != app.Cent || c.TrialExpires == nil || c.Held != 0 {
		t.Errorf("credit is %+v", c)
	}
}

// TestFiguresLookAtWhatTheySay makes calls of each kind and expects each in its own figure, and none from another account.
func TestFiguresLookAtWhatTheySay(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account, other := h.account(app.Dollar), h.account(app.Dollar)
	day := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for i, outcome := range []string{"succeeded", "failed", "client_left", "canceled", "timed_out", "succeeded", "succeeded"} {
		h.use(account, day.Add(time.Duration(i)*time.Hour), 1, func(r *billing.UsageRecord) {
			r.Outcome, r.FirstByte, r.Duration, r.Streamed = outcome, time.Duration(i)*time.Millisecond, time.Second, i == 5
			if i == 6 {
				r.Style = "videos"
			}
		})
	}
	h.use(other, day, 1, func(r *billing.UsageRecord) { r.Outcome = "failed" })
	failed, err := h.reports.Failures(h.ctx, account, day, 10)
	if err != nil || len(failed) != 2 || failed[0].Outcome != "timed_out" || failed[1].Outcome != "failed" {
		t.Errorf("failures %+v, %v", failed, err)
	}
	if failed, err := h.reports.Failures(h.ctx, account, day.Add(2*time.Hour), 1); err != nil || len(failed) != 1 {
		t.Errorf("later failures %+v, %v", failed, err)
	}
	timings, err := h.reports.Timings(h.ctx, account, day, day.Add(24*time.Hour))
	if err != nil || len(timings) != 2 || !timings[0].Streamed || timings[0].FirstByte != 5*time.Millisecond || timings[1].Duration != time.Second {
		t.Errorf("timings %+v, %v", timings, err)
	}
	if timings, err := h.reports.Timings(h.ctx, account, day, day.Add(time.Hour)); err != nil || len(timings) != 1 {
		t.Errorf("timings of an hour %+v, %v", timings, err)
	}
}
