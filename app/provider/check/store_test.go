package check_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/llm"
	"umg/app/postgres/pgtest"
	"umg/app/provider/check"
	"umg/app/simulator/emulator"
)

// TestTestCallsAreKept tests providers with a store. A stream that stalls may cost something, too.
func TestTestCallsAreKept(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	store := check.NewStore(db)
	b := setup(t, 0)
	o := b.options(find(t, "openai"))
	o.Store, o.By = store, "usr_1"
	r := check.Run(t.Context(), o, nil)
	if !r.Passed || r.Unbooked != nil {
		t.Fatalf("%v\n%s", r.Unbooked, states(r))
	}
	today := time.Now().UTC()
	sums, err := store.Sum(t.Context(), today.AddDate(0, 0, -1), today.AddDate(0, 0, 1), "")
	if err != nil || len(sums) != 1 || sums[0] != (check.Sum{Provider: "p", Calls: 6, Cost: r.Cost}) {
		t.Errorf("%+v, %v, not %s", sums, err, r.Cost)
	}
	var rows []struct {
		Model, Style, By string
		Input            int64 `db:"input_tokens"`
		Output           int64 `db:"output_tokens"`
	}
	if err := db.SelectContext(t.Context(), &rows, `select model, style, by, input_tokens, output_tokens from provider_test_calls order by id`); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Model != "gpt-5-mini" || row.By != "usr_1" || row.Input <= 0 || row.Output <= 0 || row.Style != "chat" && row.Style != "responses" {
			t.Errorf("%+v", row)
		}
	}
	b.Add(emulator.Rule{Fault: emulator.Stall, Text: `"stream":true`})
	o.File.ID = "other"
	for i := range o.Models {
		o.Models[i].Routes = slices.Clone(o.Models[i].Routes)
		o.Models[i].Routes[0].Provider, o.Models[i].Routes[0].Cost, o.Models[i].Markup = "other", nil, 0
	}
	o.StepTimeMax = 500 * time.Millisecond
	r = check.Run(t.Context(), o, nil)
	sums, err = store.Sum(t.Context(), today.AddDate(0, 0, -1), today.AddDate(0, 0, 1), "other")
	if err != nil || r.Passed || len(sums) != 1 || sums[0] != (check.Sum{Provider: "other", Calls: 6, Unpriced: 6}) {
		t.Errorf("streams that stall: %+v, %v\n%s", sums, err, states(r))
	}
}

// TestTheSumOfTestCallsIsThatOfItsDays adds calls around the borders of days.
func TestTheSumOfTestCallsIsThatOfItsDays(t *testing.T) {
	t.Parallel()
	store := check.NewStore(pgtest.New(t))
	day := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	cost := func(n app.Amount) *app.Amount { return &n }
	for _, c := range []check.Call{
		{At: day.Add(-time.Second), Provider: "a", Cost: cost(1)}, {At: day, Provider: "a", Cost: cost(10)},
		{At: day.Add(24*time.Hour - time.Second), Provider: "a", Cost: cost(100)}, {At: day.Add(24 * time.Hour), Provider: "a", Cost: cost(1000)},
		{At: day, Provider: "b"}, {At: day, Provider: "b", Cost: cost(5)},
	} {
		c.Model, c.Style = "m", llm.Chat
		if err := store.Add(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.Sum(t.Context(), day, day, "")
	if want := []check.Sum{{Provider: "a", Calls: 2, Cost: 110}, {Provider: "b", Calls: 2, Unpriced: 1, Cost: 5}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := store.Sum(t.Context(), day.AddDate(0, 0, 5), day.AddDate(0, 0, 9), ""); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestACallThatCannotBeKeptIsTold tests a provider whose store is away.
func TestACallThatCannotBeKeptIsTold(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if _, err := db.ExecContext(t.Context(), `drop table provider_test_calls`); err != nil {
		t.Fatal(err)
	}
	b := setup(t, 0)
	o := b.options(find(t, "groq"))
	o.Store = check.NewStore(db)
	if r := check.Run(t.Context(), o, nil); r.Unbooked == nil || !strings.Contains(r.Unbooked.Error(), "test call") || r.Calls != 3 {
		t.Errorf("%v", r.Unbooked)
	}
}
