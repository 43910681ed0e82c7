package saved_test

import (
	"fmt"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres/pgtest"
	"umg/app/saved"
)

func TestViewsAreKeptForOnePersonInOneAccountUpToAMost(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	db.MustExec(`insert into accounts (id, name, created_at) values ('a', 'A', now()), ('b', 'B', now())`)
	db.MustExec(`insert into users (id, email, password_hash, created_at) values ('u', 'u@example.com', 'x', now())`)
	db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ('a', 'u', 'owner', now()), ('b', 'u', 'owner', now())`)
	s, me := saved.New(db, time.Now), saved.Owner{UserID: "u", AccountID: "a"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range saved.Max {
		must(s.Save(t.Context(), me, saved.Usage, fmt.Sprintf("view %02d", i), "by=key"))
	}
	if err := s.Save(t.Context(), me, saved.Usage, "one more", ""); app.KindOf(err) != app.Conflict {
		t.Errorf("more than the most: %v", err)
	}
	must(s.Save(t.Context(), me, saved.Usage, "  view   03 ", "by=model")) // replaces the first view
	must(s.Save(t.Context(), me, saved.Requests, "errors", "outcome=failed"))
	must(s.Save(t.Context(), saved.Owner{UserID: "u", AccountID: "b"}, saved.Usage, "elsewhere", ""))
	list, err := s.List(t.Context(), me, saved.Usage)
	if err != nil || len(list) != saved.Max || list[3].Query != "by=model" || list[4].Query != "by=key" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.Rename(t.Context(), me, saved.Usage, "view 03", "view 04"); app.KindOf(err) != app.Conflict {
		t.Errorf("two views of one name: %v", err)
	}
	must(s.Rename(t.Context(), me, saved.Usage, "view 03", "Aurora"))
	must(s.Delete(t.Context(), me, saved.Usage, "view 04"))
	for _, err := range []error{
		s.Delete(t.Context(), me, saved.Usage, "elsewhere"), s.Rename(t.Context(), me, saved.Usage, "elsewhere", "mine"),
	} {
		if app.KindOf(err) != app.NotFound {
			t.Errorf("a view of another account: %v", err)
		}
	}
	if list, err = s.List(t.Context(), me, saved.Usage); err != nil || len(list) != saved.Max-1 || list[0].Name != "Aurora" {
		t.Errorf("%+v, %v", list, err)
	}
}
