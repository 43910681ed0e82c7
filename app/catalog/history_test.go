package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/postgres/pgtest"
)

func TestHistoryTellsWhoAppliedWhatAndWhatIsDifferentSince(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	past := &Catalog{db: db}
	apply := func(d HistoryAction, f File) {
		t.Helper()
		if err := ApplyAs(t.Context(), db, f, d); err != nil {
			t.Fatal(err)
		}
	}
	first, second := parse(t, smallFile), parse(t, with(t, "name: One", "name: Eins"))
	apply(HistoryAction{By: "ada@example.com", Note: "the first\x00 one"}, first)
	apply(HistoryAction{By: "bob@example.com"}, first) // An apply without a change leaves no row.
	apply(HistoryAction{By: strings.Repeat("é", 3*authorRunesMax)}, second)
	if err := Apply(t.Context(), db, first); err != nil {
		t.Fatal(err)
	}
	got, err := past.History(t.Context(), 0, 10)
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	back, there, begin := got[0], got[1], got[2]
	if back.Number != 3 || back.By != "" || there.By != strings.Repeat("é", authorRunesMax) || begin.By != "ada@example.com" || begin.Note != "the first one" {
		t.Errorf("%+v", got)
	}
	if want := []string{"~ model acme/one name One → Eins"}; !slices.Equal(there.Changes, want) {
		t.Errorf("the second changed %q", there.Changes)
	}
	if len(begin.Changes) == 0 || begin.Whole || begin.At.IsZero() || !begin.Kept {
		t.Errorf("the first is %+v", begin)
	}
	for number, want := range map[int64][]string{1: nil, 2: {"~ model acme/one name Eins → One"}, 3: nil} {
		if lines, err := past.Since(t.Context(), number); err != nil || !slices.Equal(lines, want) {
			t.Errorf("since %d: %q, %v", number, lines, err)
		}
	}
	if page, err := past.History(t.Context(), 3, 1); err != nil || len(page) != 1 || page[0].Number != 2 {
		t.Errorf("the page before 3 is %+v, %v", page, err)
	}
	if one, err := past.Past(t.Context(), 2); err != nil || one.Number != 2 {
		t.Errorf("%+v, %v", one, err)
	}
	for _, unknown := range []int64{0, 4, -1} {
		_, err := past.Past(t.Context(), unknown)
		_, errFile := past.PastFile(t.Context(), unknown)
		if app.KindOf(err) != app.NotFound || app.KindOf(errFile) != app.NotFound {
			t.Errorf("%d: %v, %v", unknown, err, errFile)
		}
	}
}

// TestHistoryBeginsWithWhatWasInForce gives an older catalog its row with the next apply. The history reports a catalog that cannot
// be read.
func TestHistoryBeginsWithWhatWasInForce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	past := &Catalog{db: db}
	step := func(sql string, f File) []Version {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		if err := Apply(t.Context(), db, f); err != nil {
			t.Fatal(err)
		}
		all, err := past.History(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	step(`select`, parse(t, smallFile))
	all := step(`delete from catalog_history`, parse(t, with(t, "name: One", "name: Eins")))
	if len(all) != 2 || !all[1].At.IsZero() || !all[1].Kept || len(all[1].Changes) != 0 || all[0].Whole {
		t.Fatalf("%+v", all)
	}
	if lines, err := past.Since(t.Context(), 1); err != nil || len(lines) != 1 {
		t.Errorf("%q, %v", lines, err)
	}
	all = step(`update providers set entry = '{"id": []}'`, parse(t, smallFile))
	if len(all) != 3 || !all[0].Whole || all[0].Changes != nil {
		t.Errorf("after the repair: %+v", all[0])
	}
}

func TestHistoryKeepsABoundedNumberOfFiles(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	past := &Catalog{db: db}
	if err := Apply(t.Context(), db, parse(t, smallFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), fmt.Sprintf(`update catalog_settings set version = %d`, historyFilesMax)); err != nil {
		t.Fatal(err)
	}
	if err := Apply(t.Context(), db, parse(t, with(t, "name: One", "name: Eins"))); err != nil {
		t.Fatal(err)
	}
	all, err := past.History(t.Context(), 0, 10)
	if err != nil || len(all) != 3 || !all[0].Kept || !all[1].Kept || all[2].Kept {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := past.Since(t.Context(), 1); app.KindOf(err) != app.NotFound {
		t.Error(err)
	}
}
