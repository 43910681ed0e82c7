package console_test

import (
	"crypto/rand"
	"encoding/csv"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/app/provider/check"
	"umg/billing"
)

// TestOperatorsSeeRevenueCostAndMargin compares the page and its file with records of calls, of which one has no known cost and one cost
// more than it brought in.
func TestOperatorsSeeRevenueCostAndMargin(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	operator := k.operator("ann@example.com")
	const path = "/console/operator/margin"
	shows(t, operator.see(path), http.StatusOK, "No calls in this range", `<option value="meridian">`, `<option value="meridian/atlas-small">`)
	shows(t, operator.see(path+"?provider=meridian"), http.StatusOK, "No call matches", "Remove the filters")

	k.signedIn("payer@example.com")
	account := k.accountOf("payer@example.com")
	ids := app.IDs{Now: time.Now, Random: rand.Reader}
	ledger := billing.NewLedger(k.db, billing.Options{Now: time.Now, IDs: ids, Log: slog.New(slog.DiscardHandler)})
	if err := ledger.Grant(t.Context(), k.db, billing.Grant{AccountID: account, Kind: billing.Purchased, Amount: 10 * app.Dollar, Source: "test"}); err != nil {
		t.Fatal(err)
	}
	call := func(provider, model string, paid app.Amount, cost *app.Amount) {
		t.Helper()
		hold, err := ledger.HoldFor(t.Context(), k.db, billing.HoldRequest{ID: ids.New("req"), AccountID: account, Want: paid}, time.Hour)
		if err == nil {
			r := billing.UsageRecord{
				RequestID: hold.ID, Provider: provider, Model: model, Style: "chat", Outcome: "succeeded", Reason: string(billing.ReasonCompleted),
				StartedAt: time.Now(), Costs: billing.Costs{UpstreamCost: cost}, Usage: meter.Counts{meter.InputTokens: 1, meter.Requests: 1},
			}
			if cost != nil {
				r.CostCardID = "cost@1"
			}
			err = ledger.SettleIn(t.Context(), k.db, hold, billing.Settlement{Cost: paid, Record: r})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	dollars := func(n app.Amount) *app.Amount { n *= app.Dollar; return &n }
	call("meridian", "meridian/atlas", 4*app.Dollar, dollars(1))
	call("boreal", "meridian/atlas", app.Dollar, dollars(2))
	call("boreal", "aurora/mini", 5*app.Cent, nil)

	shows(t, operator.see(path), http.StatusOK, "The cost of 1 call is unknown", "Their revenue of $0.05", "$5.05", "$3.00", "$2.00", "40% of $5.00",
		"75%", "\u2212100%", "margin \u2212$1.00", "Unknown", path+".csv")
	only := operator.see(path + "?days=30&provider=boreal&model=aurora%2Fmini")
	shows(t, only, http.StatusOK, "The cost is unknown", "no call has a known cost", path+".csv?days=30&amp;model=aurora%2Fmini&amp;provider=boreal")
	if strings.Contains(only.body, "$5.05") {
		t.Error("the filter does not narrow the page")
	}
	shows(t, operator.see(path+"?days=8&provider="+strings.Repeat("x", 5000)), http.StatusOK, "No call matches")

	file := operator.see(path + ".csv")
	rows, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
	today := time.Now().UTC().Format(time.DateOnly)
	want := [][]string{
		{"day", "provider", "model", "calls", "revenue", "cost", "margin", "calls_with_unknown_cost", "revenue_with_unknown_cost"},
		{today, "meridian", "meridian/atlas", "1", "4", "1", "3", "0", "0"},
		{today, "boreal", "meridian/atlas", "1", "1", "2", "-1", "0", "0"},
		{today, "boreal", "aurora/mini", "1", "0.05", "", "", "1", "0.05"},
	}
	if err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("the file is %q, %v", file.body, err)
	}
	for _, page := range []string{path, path + ".csv"} {
		shows(t, k.signedIn("nosy"+page[len(path):]+"@example.com").see(page), http.StatusNotFound)
	}
}

// TestOperatorsSeeWhatTestsOfProvidersCost looks at the margin page before and after test calls.
func TestOperatorsSeeWhatTestsOfProvidersCost(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	operator := k.operator("ann@example.com")
	const path = "/console/operator/margin"
	cost := 7 * app.Dollar
	if tests := operator.see(path); strings.Contains(tests.body, "Test calls") {
		t.Error("there are test calls before any was made")
	}
	tests := check.NewStore(k.db)
	for _, c := range []check.Call{
		{Provider: "boreal", Cost: &cost}, {Provider: "boreal"}, {Provider: "meridian"},
	} {
		c.At, c.Model, c.Style = time.Now(), "up", "chat"
		if err := tests.Add(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	shows(t, operator.see(path), http.StatusOK, "Test calls", "$7.00", "The cost of 1 call is unknown", "No calls in this range")
	if other := operator.see(path + "?provider=meridian"); strings.Contains(other.body, "$7.00") || !strings.Contains(other.body, "Test calls") {
		t.Error("the filter does not narrow the test calls")
	}
	if model := operator.see(path + "?model=aurora%2Fmini"); strings.Contains(model.body, "Test calls") {
		t.Error("test calls are shown for a model")
	}
}
