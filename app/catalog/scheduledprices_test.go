package catalog

import (
	"strings"
	"testing"
	"time"

	"umg/app/postgres/pgtest"
)

func TestAnnouncedPricesComeIntoForceOnTheirDay(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	tomorrow := time.Now().UTC().AddDate(0, 0, 1).Truncate(24 * time.Hour)
	announced := func(from time.Time) string {
		return strings.Replace(smallFile, "    released: 2026-05-01\n", "    released: 2026-05-01\n    announced: {from: "+from.Format(time.DateOnly)+
			", rates: {input_tokens: 0.20 per 1M, output_tokens: 0.60 per 1M}}\n", 1)
	}
	file := func() File {
		t.Helper()
		f, err := Export(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(Apply(t.Context(), db, parse(t, announced(tomorrow))))
	if f := file(); f.Models[0].Rates["input_tokens"].String() != "0.15 per 1M" || f.Models[0].Announced == nil ||
		f.Models[0].Announced.Rates["input_tokens"].String() != "0.2 per 1M" {
		t.Fatalf("announced prices count before their day, or are lost: %+v", f.Models[0])
	}
	must(applyDuePrices(t.Context(), db))
	if f := file(); f.Models[0].Announced == nil {
		t.Error("announced prices came into force too early")
	}
	_, err := db.ExecContext(t.Context(), `
		update models set entry = jsonb_set(entry, '{announced,from}', '"2026-01-01"') where id = 'acme/one'`)
	must(err)
	for range 2 { // Both replicas do it.
		must(applyDuePrices(t.Context(), db))
	}
	var versions int
	must(db.GetContext(t.Context(), &versions, `select count(*) from rate_cards where model_id = 'acme/one'`))
	if f := file(); f.Models[0].Rates["input_tokens"].String() != "0.2 per 1M" || f.Models[0].Announced != nil || versions != 2 {
		t.Errorf("after their day: %d versions, %+v", versions, f.Models[0])
	}
	must(Apply(t.Context(), db, parse(t, announced(tomorrow.AddDate(-1, 0, 0))))) // The old file is applied again.
	if f := file(); f.Models[0].Rates["input_tokens"].String() != "0.2 per 1M" {
		t.Errorf("an old file brought old prices back: %+v", f.Models[0])
	}
	change, err := parse(t, strings.Replace(announced(tomorrow), "output_tokens: 0.60 per 1M}}", "requests: 0.01 per 1}}", 1)).Models[0].Announced.change()
	must(err)
	m := Model{Prices: file().Models[0].Rates, Announced: change}
	var told []string
	for _, d := range m.Differences() {
		told = append(told, d.String())
	}
	if got := strings.Join(told, "; "); got != "Output tokens: $0.6 per 1M → not charged; Requests: not charged → $0.01 per 1" {
		t.Error(got)
	}
	if all := Check(parse(t, strings.Replace(announced(tomorrow), "input_tokens: 0.20 per 1M, ", "", 1))); len(all) == 0 {
		t.Error("an announced card may leave out a price that is needed")
	}
}
