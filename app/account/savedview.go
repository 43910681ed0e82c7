package account

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// ViewPage is a page whose filters can be saved as views.
type ViewPage string

// These pages have filters that people save.
const (
	UsageViews   ViewPage = "usage"
	RequestViews ViewPage = "requests"
)

// These are limits of saved views.
const (
	SavedViewsMax     = 20 // This limits the views of one user in one account, per page.
	viewNameRunesMax  = 60
	viewQueryBytesMax = 2000
)

// ViewOwner is the user and the account that views belong to.
type ViewOwner struct{ UserID, AccountID string }

// SavedView is a name for the filters of a page. The query is text here: the page that wrote it parses it when the view is opened.
type SavedView struct {
	Name    string    `db:"name"`
	Query   string    `db:"query"`
	SavedAt time.Time `db:"saved_at"`
}

// SavedViews returns the views of a page, by name.
func (s *Service) SavedViews(ctx context.Context, o ViewOwner, page ViewPage) ([]SavedView, error) {
	views, err := postgres.Select[SavedView](ctx, s.db, `
		select name, query, saved_at from saved_views where user_id = $1 and account_id = $2 and page = $3
		order by lower(name), name limit $4`, o.UserID, o.AccountID, string(page), SavedViewsMax)
	return views, postgres.StoreError("account: saved views: list", err)
}

// SaveView stores a query under a name, and replaces a view that has the name already.
func (s *Service) SaveView(ctx context.Context, o ViewOwner, page ViewPage, name, query string) error {
	name, err := checkViewName(name)
	switch {
	case err != nil:
		return err
	case len(query) > viewQueryBytesMax || !app.Storable(query):
		return app.Errorf(app.Invalid, "view_too_long", "These filters are too long to be saved.").At("query")
	}
	return postgres.StoreError("account: saved views: save", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if err := lockViewOwner(ctx, tx, o); err != nil {
			return err
		}
		n, err := postgres.Get[int](ctx, tx, `
			select count(*) from saved_views where user_id = $1 and account_id = $2 and page = $3 and name <> $4`,
			o.UserID, o.AccountID, string(page), name)
		if err != nil {
			return err
		}
		if n >= SavedViewsMax {
			return app.Errorf(app.Conflict, "too_many_views", "You have %d saved views of this page. Delete one first.", SavedViewsMax).At("name")
		}
		return postgres.Exec(ctx, tx, `
			insert into saved_views (user_id, account_id, page, name, query, saved_at) values ($1, $2, $3, $4, $5, $6)
			on conflict (user_id, account_id, page, name) do update set query = excluded.query, saved_at = excluded.saved_at`,
			o.UserID, o.AccountID, string(page), name, query, s.o.Now().UTC())
	}))
}

// RenameView gives a view another name, which must be free.
func (s *Service) RenameView(ctx context.Context, o ViewOwner, page ViewPage, from, to string) error {
	to, err := checkViewName(to)
	if err != nil || from == to {
		return err
	}
	return postgres.StoreError("account: saved views: rename", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if err := lockViewOwner(ctx, tx, o); err != nil {
			return err
		}
		taken, err := postgres.Get[bool](ctx, tx, `
			select exists (select from saved_views where user_id = $1 and account_id = $2 and page = $3 and name = $4)`,
			o.UserID, o.AccountID, string(page), to)
		if err != nil {
			return err
		}
		if taken {
			return app.Errorf(app.Conflict, "view_exists", "There is a view of this name already.").At("name")
		}
		found, err := postgres.Changed(tx.ExecContext(ctx, `
			update saved_views set name = $5 where user_id = $1 and account_id = $2 and page = $3 and name = $4`,
			o.UserID, o.AccountID, string(page), from, to))
		if err == nil && !found {
			err = errNoView()
		}
		return err
	}))
}

// DeleteView deletes a view.
func (s *Service) DeleteView(ctx context.Context, o ViewOwner, page ViewPage, name string) error {
	found, err := postgres.Changed(s.db.ExecContext(ctx, `
		delete from saved_views where user_id = $1 and account_id = $2 and page = $3 and name = $4`,
		o.UserID, o.AccountID, string(page), name))
	if err == nil && !found {
		err = errNoView()
	}
	return postgres.StoreError("account: saved views: delete", err)
}

func errNoView() error {
	return app.Errorf(app.NotFound, "view_not_found", "There is no such view; it may have been deleted in another window.")
}

// checkViewName returns a name as it is stored, without extra spaces.
func checkViewName(name string) (string, error) {
	name = strings.Join(strings.Fields(name), " ")
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case name == "":
		return "", app.Errorf(app.Invalid, "invalid_name", "Give the view a name.").At("name")
	case utf8.RuneCountInString(name) > viewNameRunesMax || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable):
		return "", app.Errorf(app.Invalid, "invalid_name", "A name has at most %d printable characters.", viewNameRunesMax).At("name")
	}
	return name, nil
}

// lockViewOwner keeps two windows of one person from counting at the same time.
func lockViewOwner(ctx context.Context, q postgres.Queryer, o ViewOwner) error {
	return postgres.Exec(ctx, q, `select from memberships where user_id = $1 and account_id = $2 for no key update`, o.UserID, o.AccountID)
}
