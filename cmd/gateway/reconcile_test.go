package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/catalog"
	"umg/app/meter"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

// reconcileFixture is a database with records of calls, and a folder for exports.
type reconcileFixture struct {
	*testing.T

	db      *sqlx.DB
	dsn     string
	ledger  *billing.Ledger
	ids     app.IDs
	account string
	folder  string
}

func newReconcileFixture(t *testing.T) *reconcileFixture {
	t.Helper()
	db, ids := pgtest.New(t), app.IDs{Now: time.Now, Random: rand.Reader}
	f := &reconcileFixture{
		T: t, db: db, dsn: pgtest.DSN(t, db), ids: ids, account: ids.New("acc"), folder: t.TempDir(),
		ledger: billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: slog.New(slog.DiscardHandler)}),
	}
	file, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.ApplyAs(t.Context(), db, file, catalog.HistoryAction{By: "test"}); err != nil {
		t.Fatal(err)
	}
	if err := f.ledger.OpenAccount(t.Context(), db, f.account); err != nil {
		t.Fatal(err)
	}
	if err := f.ledger.Grant(t.Context(), db, billing.Grant{AccountID: f.account, Kind: billing.Purchased, Amount: app.Dollar, Source: "test"}); err != nil {
		t.Fatal(err)
	}
	return f
}

// call records a call that a provider answered.
func (f *reconcileFixture) call(at time.Time, provider, model string, cost app.Amount, counts meter.Counts) {
	f.Helper()
	hold, err := f.ledger.HoldFor(f.Context(), f.db, billing.HoldRequest{ID: f.ids.New("req"), AccountID: f.account, Want: 1000}, time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	err = f.ledger.SettleIn(f.Context(), f.db, hold, billing.Settlement{Cost: 1000, Record: billing.UsageRecord{
		RequestID: hold.ID, Model: "meridian/atlas", Provider: provider, UpstreamModel: model, Style: "chat", Outcome: "succeeded",
		Reason: "completed", StartedAt: at, Usage: counts, Costs: billing.Costs{UpstreamCost: &cost, CostCardID: "cost@1"},
	}})
	if err != nil {
		f.Fatal(err)
	}
}

// file writes an export.
func (f *reconcileFixture) file(name, content string) string {
	f.Helper()
	path := filepath.Join(f.folder, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.Fatal(err)
	}
	return path
}

// compare runs the comparison as the command does and returns its output and exit status.
func (f *reconcileFixture) compare(c ledgerReconcile) (output string, status int, err error) {
	f.Helper()
	c.DatabaseURL = f.dsn
	var out bytes.Buffer
	if err = c.compare(context.WithoutCancel(f.Context()), &out, slog.New(slog.DiscardHandler)); err != nil {
		status = exitStatus(err)
	}
	return out.String(), status, err
}

// TestReconcileComparesExportsWithRecords compares exports of three kinds with the records of real calls in a real database.
func TestReconcileComparesExportsWithRecords(t *testing.T) {
	t.Parallel()
	f := newReconcileFixture(t)
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -2)
	f.call(day, "openai", "gpt-5-2025-08-07", 1_000_000, meter.Counts{meter.InputTokens: 60, meter.CacheReadTokens: 40, meter.OutputTokens: 5, meter.ReasoningTokens: 2, meter.Requests: 1})
	f.call(day.Add(23*time.Hour), "openai", "gpt-5-2025-08-07", 500_000, meter.Counts{meter.InputTokens: 10, meter.OutputTokens: 3, meter.Requests: 1})
	f.call(day.Add(25*time.Hour), "openai", "o9", 7, meter.Counts{meter.InputTokens: 1, meter.Requests: 1})
	f.call(day, "anthropic", "gpt-5-2025-08-07", 3, meter.Counts{meter.InputTokens: 1, meter.Requests: 1})

	usage := func(output int) string {
		return fmt.Sprintf(`{"data":[{"start_time":%d,"end_time":%d,"results":[{"object":"organization.usage.completions.result",
			"model":"gpt-5-2025-08-07","input_tokens":110,"input_cached_tokens":40,"output_tokens":%d,"num_model_requests":2}]}]}`,
			day.Unix(), day.Add(24*time.Hour).Unix(), output)
	}
	out, status, err := f.compare(ledgerReconcile{Provider: "openai", File: f.file("usage.json", usage(10))})
	if status != 0 || err != nil || !strings.HasSuffix(out, "1 of 1 days and models agree\n") {
		t.Errorf("status %d, %v:\n%s", status, err, out)
	}
	next := day.AddDate(0, 0, 1).Format(time.DateOnly)
	out, status, err = f.compare(ledgerReconcile{Provider: "openai", File: f.file("usage.json", usage(12)), To: next})
	want := day.Format(time.DateOnly) + "  other count    gpt-5-2025-08-07  output tokens 10 here, 12 there (-2)\n" +
		next + "  missing there  o9                calls 1 here; input tokens 1 here\n" +
		"\n" + day.Format(time.DateOnly) + " to " + next + "  here  there  difference\n" +
		"calls                     3     2      +1\n" +
		"input tokens              111   110    +1\n" +
		"cached input tokens       40    40     +0\n" +
		"output tokens             10    12     -2\n" +
		"0 of 2 days and models agree; differences: 1 missing there, 1 other count\n"
	if status != 1 || err == nil || out != want {
		t.Errorf("status %d, %v:\n%s\nwant\n%s", status, err, out, want)
	}
	out, status, err = f.compare(ledgerReconcile{Provider: "openai", JSON: true, File: f.file("costs.json", fmt.Sprintf(
		`{"data":[{"start_time":%d,"end_time":%d,"results":[{"object":"organization.costs.result","line_item":"gpt-5-2025-08-07, input",
			"amount":{"value":"0.0016","currency":"usd"}}]}]}`, day.Unix(), day.Add(24*time.Hour).Unix()))})
	if status != 1 || err == nil || !strings.Contains(out, `"class": "other price"`) || !strings.Contains(out, `"here": 0.0015`) ||
		!strings.Contains(out, `"there": 0.0016`) || !strings.Contains(out, `"other count": 0`) {
		t.Errorf("status %d, %v:\n%s", status, err, out)
	}
	out, status, err = f.compare(ledgerReconcile{Provider: "openai", File: f.file("activity.csv",
		"date,model,usage,requests,prompt_tokens,completion_tokens\n"+day.Format(time.DateOnly)+",gpt-5,0.0015,2,110,10\n")})
	if status != 0 || err != nil {
		t.Errorf("status %d, %v:\n%s", status, err, out)
	}
}

// TestReconcileSaysWhyItCannotCompare checks that nothing that stops the comparison looks like a difference.
func TestReconcileSaysWhyItCannotCompare(t *testing.T) {
	t.Parallel()
	f := newReconcileFixture(t)
	const header = "date,model,usage,requests,prompt_tokens,completion_tokens\n"
	right := f.file("right.csv", header+"2026-11-01,a/b,0.1,1,1,1\n")
	for want, c := range map[string]ledgerReconcile{
		"no such file":        {Provider: "openai", File: filepath.Join(f.folder, "none")},
		"line 2, field usage": {Provider: "openai", File: f.file("broken.csv", header+"2026-11-01,a/b,ten,1,1,1\n")},
		"covers no day":       {Provider: "openai", File: f.file("empty.csv", header)},
		"--from: ":            {Provider: "openai", File: right, From: "yesterday"},
		"is after the last":   {Provider: "openai", File: right, From: "2026-11-02"},
		`the catalog has no provider "opnai"; it has meridian, `: {Provider: "opnai", File: right},
	} {
		if out, status, err := f.compare(c); status != unreadableStatus || err == nil || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("status %d, %v, want %q:\n%s", status, err, want, out)
		}
	}
	out, status, err := f.compare(ledgerReconcile{Provider: "meridian", File: right})
	if status != 1 || err == nil || !strings.Contains(out, "missing here") {
		t.Errorf("status %d, %v:\n%s", status, err, out)
	}
	if exitStatus(errors.New("other")) != 1 {
		t.Error("another error does not end with status 1")
	}
}
