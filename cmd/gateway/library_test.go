package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/library"
	"umg/app/postgres/pgtest"
)

// priceList is a newer price of one model.
const priceList = `[{"id":"anthropic","models":[{"id":"claude-opus-4-8","match":{"starts_with":"claude-opus-4-8"},
	"prices":{"input_mtok":6,"output_mtok":25}}]}]`

func TestLibraryUpdateAsksBeforeItChanges(t *testing.T) {
	t.Parallel()
	db, log := pgtest.New(t), slog.New(slog.DiscardHandler)
	choices := library.Embedded().Choices("anthropic", nil)
	f := catalog.File{Providers: []catalog.FileProvider{{ID: "ours", Preset: "anthropic", Credential: "${KEY}"}}}
	for _, c := range choices {
		if c.ID == "anthropic/claude-opus-4-8" {
			f.Models = append(f.Models, c.FileModel("ours", 1, 11_000))
		}
	}
	if err := catalog.Apply(t.Context(), db, f); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(file, []byte(priceList), 0o600); err != nil {
		t.Fatal(err)
	}
	c := libraryUpdate{databaseFlags: databaseFlags{DatabaseURL: pgtest.DSN(t, db), Data: t.TempDir()}, File: file, Day: "2026-12-05"}
	now := time.Date(2026, 12, 5, 12, 0, 0, 0, time.UTC)
	update := func() string {
		t.Helper()
		var out bytes.Buffer
		err := withDatabase(t.Context(), c.databaseFlags, log, func(s *database) error {
			return c.update(t.Context(), s, &out, []byte(priceList), now)
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	out := update()
	for _, want := range []string{
		"anthropic/claude-opus-4-8 at anthropic: input_tokens: $5 per 1M → $6 per 1M",
		"anthropic/claude-opus-4-8: cost at ours: input_tokens: $5 per 1M → $6 per 1M", "is announced for 2026-12-20",
		"Prices that will be below cost until then:", "Add --yes",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	inForce := func() catalog.FileModel {
		t.Helper()
		f, err := catalog.Export(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		return f.Models[0]
	}
	if l, err := library.Load(t.Context(), db); err != nil || l != library.Embedded() || inForce().Announced != nil {
		t.Errorf("something changed without --yes: %v", err)
	}
	c.Yes = true
	if out := update(); !strings.Contains(out, "The library has the data of 2026-12-05.") {
		t.Error(out)
	}
	m := inForce()
	if l, err := library.Load(t.Context(), db); err != nil || l.Date != "2026-12-05" || m.Announced == nil ||
		m.Routes[0].Cost.Rates["input_tokens"].String() != "6 per 1M" || m.Rates["input_tokens"].String() != "5.5 per 1M" {
		t.Errorf("%v, %+v", err, m)
	}
	// A second run of the same file finds nothing to do.
	if out := update(); !strings.Contains(out, "The library does not change.") || !strings.Contains(out, "No route has a cost") {
		t.Error(out)
	}
}

func TestLibraryShowListsTheModelsOfAPreset(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := showLibrary(&out, library.Embedded(), "vertex", []string{"Claude", "4-5"}); err != nil {
		t.Fatal(err)
	}
	all := out.String()
	if !strings.HasPrefix(all, "Data of 2026-07-02; models.dev") || !strings.Contains(all, "claude-sonnet-4-5@20250929") ||
		!strings.Contains(all, "$15 per 1M") || strings.Contains(all, "bedrock") || strings.Contains(all, "gemini") {
		t.Error(all)
	}
}
