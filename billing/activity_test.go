package billing_test

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
	a, err := h.ledger.Activity(h.ctx, account, 30)
	if err != nil {
		t.Fatal(err)
	}
	if a.Spend != 3*app.Cent || a.Requests != 3 || a.Streamed != 1 || a.Failed != 1 || len(a.ByDay) != 30 || a.ByDay[29] != a.Spend {
		t.Errorf("activity is %+v", a)
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
