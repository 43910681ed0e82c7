package catalog

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"umg/app"
)

// rename is a change that names a provider.
func rename(place int, name string) func(File) (File, error) {
	return func(f File) (File, error) {
		f.Providers = append([]FileProvider{}, f.Providers...)
		f.Providers[place].Name = name
		return f, nil
	}
}

func TestAnEditIsInForceAndInTheHistory(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	_, seen, err := ExportVersion(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	next, err := Edit(t.Context(), b.db, HistoryAction{By: "ada", Note: "a new name"}, seen, rename(1, "Süd"))
	if err != nil || next != seen+1 {
		t.Fatalf("version %d after %d, %v", next, seen, err)
	}
	if p, _ := b.awaitVersion(t, b.c).Provider("south"); p.Name != "Süd" {
		t.Errorf("the provider is %+v", p)
	}
	past, err := b.c.Past(t.Context(), next)
	if err != nil || past.By != "ada" || past.Note != "a new name" || len(past.Changes) != 1 {
		t.Errorf("%+v, %v", past, err)
	}
	if again, err := Edit(t.Context(), b.db, HistoryAction{}, next, rename(1, "Süd")); err != nil || again != next {
		t.Errorf("a change to the same made version %d, %v", again, err)
	}
}

// TestTheSecondOfTwoEditorsIsTold edits one version twice, and after a file was applied.
func TestTheSecondOfTwoEditorsIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	_, seen, err := ExportVersion(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"ada@one", "bob@two"}
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { _, errs[i] = Edit(t.Context(), b.db, HistoryAction{By: name}, seen, rename(i, name)) })
	}
	all.Wait()
	first := 0
	if errs[0] != nil {
		first = 1
	}
	if errs[first] != nil {
		t.Fatal(errs)
	}
	e := app.AsError(errs[1-first])
	if e.Kind != app.Conflict || e.Code != codeChanged || !strings.Contains(e.Message, "since you opened this page: "+names[first]+", at 20") {
		t.Errorf("the second editor gets %+v", e)
	}
	now, version, err := ExportVersion(t.Context(), b.db)
	if err != nil || now.Providers[first].Name != names[first] || now.Providers[1-first].Name == names[1-first] {
		t.Errorf("in force: %+v, %v", now.Providers, err)
	}
	if err := ApplyAs(t.Context(), b.db, parse(t, smallFile), HistoryAction{By: "carol@cli"}); err != nil {
		t.Fatal(err)
	}
	_, err = Edit(t.Context(), b.db, HistoryAction{By: "ada@one"}, version, rename(0, "ada"))
	if e := app.AsError(err); e.Code != codeChanged || !strings.Contains(e.Message, "carol@cli") {
		t.Errorf("after an apply: %+v", e)
	}
	if _, err := Edit(t.Context(), b.db, HistoryAction{}, 0, rename(0, "any")); err != nil {
		t.Errorf("an edit of any version: %v", err)
	}
	_, err = Edit(t.Context(), b.db, HistoryAction{By: "ada@one"}, version, rename(0, "ada"))
	if e := app.AsError(err); !strings.Contains(e.Message, "carol@cli") {
		t.Errorf("a version without an author hides the last operator: %+v", e)
	}
}

func TestAnEditWithProblemsChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	_, seen, err := ExportVersion(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Edit(t.Context(), b.db, HistoryAction{}, seen, rename(1, ""))
	problem, ok := errors.AsType[FileError](err)
	if !errors.Is(err, ErrProblems) || !ok || problem.Path != "providers[1].name" {
		t.Errorf("%v", err)
	}
	dear := func(f File) (File, error) {
		f.Models = append([]FileModel{}, f.Models...)
		f.Models[0].Routes = append([]FileRoute{}, f.Models[0].Routes...)
		f.Models[0].Routes[0].Cost = &FileCost{Rates: Rates{"input_tokens": {Amount: app.Dollar, Per: 1_000_000}}}
		return f, nil
	}
	if _, err := Edit(t.Context(), b.db, HistoryAction{}, seen, dear); !errors.Is(err, ErrBelowCost) {
		t.Errorf("%v", err)
	}
	refusal := app.InvalidValue("id", "No.")
	if _, err := Edit(t.Context(), b.db, HistoryAction{}, seen, func(f File) (File, error) { return f, refusal }); !errors.Is(err, refusal) {
		t.Errorf("%v", err)
	}
	if _, now, err := ExportVersion(t.Context(), b.db); err != nil || now != seen {
		t.Errorf("version %d became %d, %v", seen, now, err)
	}
	if _, err := Edit(t.Context(), b.db, HistoryAction{BelowCost: true}, seen, dear); err != nil {
		t.Errorf("prices below cost that are allowed: %v", err)
	}
}
