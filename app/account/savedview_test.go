package account

import (
	"fmt"
	"testing"

	"umg/app"
)

func TestViewsAreKeptForOnePersonInOneAccountUpToAMost(t *testing.T) {
	t.Parallel()
	s := setup(t)
	db := s.db
	db.MustExec(`insert into accounts (id, name, created_at) values ('a', 'A', now()), ('b', 'B', now())`)
	db.MustExec(`insert into users (id, email, password_hash, created_at) values ('u', 'u@example.com', 'x', now())`)
	db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ('a', 'u', 'owner', now()), ('b', 'u', 'owner', now())`)
	me := ViewOwner{UserID: "u", AccountID: "a"}
	for i := range SavedViewsMax {
		must(t, s.SaveView(t.Context(), me, UsageViews, fmt.Sprintf("view %02d", i), "by=key"))
	}
	if err := s.SaveView(t.Context(), me, UsageViews, "one more", ""); app.KindOf(err) != app.Conflict {
		t.Errorf("more than the most: %v", err)
	}
	must(t, s.SaveView(t.Context(), me, UsageViews, "  view   03 ", "by=model")) // The view replaces the one of this name.
	must(t, s.SaveView(t.Context(), me, RequestViews, "errors", "outcome=failed"))
	must(t, s.SaveView(t.Context(), ViewOwner{UserID: "u", AccountID: "b"}, UsageViews, "elsewhere", ""))
	list, err := s.SavedViews(t.Context(), me, UsageViews)
	if err != nil || len(list) != SavedViewsMax || list[3].Query != "by=model" || list[4].Query != "by=key" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.RenameView(t.Context(), me, UsageViews, "view 03", "view 04"); app.KindOf(err) != app.Conflict {
		t.Errorf("two views of one name: %v", err)
	}
	must(t, s.RenameView(t.Context(), me, UsageViews, "view 03", "Aurora"))
	must(t, s.DeleteView(t.Context(), me, UsageViews, "view 04"))
	for _, err := range []error{
		s.DeleteView(t.Context(), me, UsageViews, "elsewhere"), s.RenameView(t.Context(), me, UsageViews, "elsewhere", "mine"),
	} {
		if app.KindOf(err) != app.NotFound {
			t.Errorf("a view of another account: %v", err)
		}
	}
	if list, err = s.SavedViews(t.Context(), me, UsageViews); err != nil || len(list) != SavedViewsMax-1 || list[0].Name != "Aurora" {
		t.Errorf("%+v, %v", list, err)
	}
}
