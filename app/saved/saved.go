// Package saved stores filters of a page that a user has named, for themself, in one account. It treats the query of an address as
// text: the page that made it parses it when the view is opened.
package saved

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

// Page is one that views are saved of.
type Page string

// The pages with filters worth a name.
const (
	Usage    Page = "usage"
	Requests Page = "requests"
)

// Limits of saved views.
const (
	Max           = 20 // views of one user in one account, per page
	nameRunesMax  = 60
	queryBytesMax = 2000
)

// Owner is whose views they are.
type Owner struct{ UserID, AccountID string }

// View is a name for a query.
type View struct {
	Name    string    `db:"name"`
	Query   string    `db:"query"`
	SavedAt time.Time `db:"saved_at"`
}

// Service keeps the views.
type Service struct {
	db  *sqlx.DB
	now app.Clock
}

// New returns the service.
func New(db *sqlx.DB, now app.Clock) *Service { return &Service{db: db, now: now} }

// List are the views of a page, by name.
func (s *Service) List(ctx context.Context, o Owner, page Page) ([]View, error) {
	views, err := viewsOf(ctx, s.db, o, page, Max)
	return views, postgres.StoreError("saved views: list", err)
}

// Save keeps a query under a name. One that has the name already is replaced.
func (s *Service) Save(ctx context.Context, o Owner, page Page, name, query string) error {
	name, err := checkName(name)
	switch {
	case err != nil:
		return err
	case len(query) > queryBytesMax || !app.Storable(query):
		return app.Errorf(app.Invalid, "view_too_long", "These filters are too long to be saved.").At("query")
	}
	return postgres.StoreError("saved views: save", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if err := lockOwner(ctx, tx, o); err != nil {
			return err
		}
		n, err := others(ctx, tx, o, page, name)
		if err != nil {
			return err
		}
		if n >= Max {
			return app.Errorf(app.Conflict, "too_many_views", "You have %d saved views of this page. Delete one first.", Max).At("name")
		}
		return put(ctx, tx, o, page, View{Name: name, Query: query, SavedAt: s.now().UTC()})
	}))
}

// Rename gives a view another name, which must be free.
func (s *Service) Rename(ctx context.Context, o Owner, page Page, from, to string) error {
	to, err := checkName(to)
	if err != nil || from == to {
		return err
	}
	return postgres.StoreError("saved views: rename", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if err := lockOwner(ctx, tx, o); err != nil {
			return err
		}
		taken, err := has(ctx, tx, o, page, to)
		if err != nil {
			return err
		}
		if taken {
			return app.Errorf(app.Conflict, "view_exists", "There is a view of this name already.").At("name")
		}
		found, err := rename(ctx, tx, o, page, from, to)
		if err == nil && !found {
			err = errNoView()
		}
		return err
	}))
}

// Delete forgets a view.
func (s *Service) Delete(ctx context.Context, o Owner, page Page, name string) error {
	found, err := remove(ctx, s.db, o, page, name)
	if err == nil && !found {
		err = errNoView()
	}
	return postgres.StoreError("saved views: delete", err)
}

func errNoView() error {
	return app.Errorf(app.NotFound, "view_not_found", "There is no such view; it may have been deleted in another window.")
}

// checkName is a name as it is kept.
func checkName(name string) (string, error) {
	name = strings.Join(strings.Fields(name), " ")
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case name == "":
		return "", app.Errorf(app.Invalid, "invalid_name", "Give the view a name.").At("name")
	case utf8.RuneCountInString(name) > nameRunesMax || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable):
		return "", app.Errorf(app.Invalid, "invalid_name", "A name has at most %d printable characters.", nameRunesMax).At("name")
	}
	return name, nil
}
