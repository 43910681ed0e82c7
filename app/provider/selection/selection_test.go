package selection_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres/pgtest"
	"umg/app/provider/modellist"
	"umg/app/provider/selection"
)

func TestSelectionsAreKeptUntilTheyArePublished(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	s := selection.New(pgtest.New(t), func() time.Time { return now })
	empty, err := s.Read(t.Context(), "north")
	if err != nil || len(empty.Picks) != 0 || !empty.ListedAt.IsZero() {
		t.Fatalf("before the first change: %+v, %v", empty, err)
	}
	want := selection.Selection{
		Listed: []modellist.Model{{ID: "a", ContextTokens: 8000}, {ID: "b"}}, ListedAt: now, ListProblem: "slow", Markup: "10%",
		Picks: map[string]selection.Pick{"owner/a": {Markup: "20%"}, "owner/b": {Input: "1", Output: "2"}},
	}
	if err := s.Change(t.Context(), "north", "ann@example.com", func(v *selection.Selection) error { *v = want; return nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(t.Context(), "north"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("stored %+v, %v", got, err)
	}
	fails := errors.New("fails")
	if err := s.Change(t.Context(), "north", "ann@example.com", func(v *selection.Selection) error { v.Markup = "99%"; return fails }); !errors.Is(err, fails) {
		t.Errorf("the error is %v", err)
	}
	if got, _ := s.Read(t.Context(), "north"); got.Markup != "10%" {
		t.Error("a change that failed was stored")
	}
	if err := s.Clear(t.Context(), "north"); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Read(t.Context(), "north"); len(got.Picks) != 0 || len(got.Listed) != 2 {
		t.Errorf("after publishing: %+v", got)
	}
	now = now.AddDate(0, 4, 0)
	if err := s.Change(t.Context(), "south", "ann@example.com", func(*selection.Selection) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Read(t.Context(), "north"); len(got.Listed) != 0 {
		t.Error("an old selection is kept")
	}
}

func TestSelectionsAreBounded(t *testing.T) {
	t.Parallel()
	s := selection.New(pgtest.New(t), time.Now)
	err := s.Change(t.Context(), "north", "ann@example.com", func(v *selection.Selection) error {
		for i := range modellist.RowsMax + 1 {
			v.Picks[fmt.Sprint(i)] = selection.Pick{}
		}
		return nil
	})
	if app.KindOf(err) != app.Invalid || app.AsError(err).Param != "models" {
		t.Errorf("the error is %v", err)
	}
}
