package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// codeChanged is the error code of an edit of a catalog that is not in force any more.
const codeChanged = "catalog_changed"

// Edit makes a change to the catalog in force, and returns the version that is in force after it. The function gets the file as Export
// returns it, and must not change what the file refers to. Version is the one that the editor has seen: when another is in force, Edit
// returns an *app.Error of kind Conflict that says who changed the catalog and when. Version 0 takes any. A file with problems returns
// ErrProblems, and one with prices below cost ErrBelowCost, as ApplyAs does. A change to an equal file makes no version.
func Edit(ctx context.Context, db *sqlx.DB, d HistoryAction, version int64, change func(File) (File, error)) (int64, error) {
	inForce, err := replace(ctx, db, d, func(old stored, readable bool) (File, error) {
		if !readable {
			return File{}, errUnreadable
		}
		if version != 0 && version != old.version {
			return File{}, errOtherVersion
		}
		next, err := change(old.file.withoutMarkupPrices())
		if err != nil {
			return File{}, err
		}
		return next.ready(d)
	})
	if errors.Is(err, errOtherVersion) {
		return 0, errChanged(ctx, db, version)
	}
	return inForce, err
}

// errOtherVersion means that the catalog in force is not the one that an editor has seen.
var errOtherVersion = errors.New("catalog: another version is in force")

// errChanged is the error of an edit that began at a version. It names the last person who has changed the catalog since.
func errChanged(ctx context.Context, q postgres.Queryer, version int64) error {
	var last struct {
		By string    `db:"applied_by"`
		At time.Time `db:"applied_at"`
	}
	err := q.GetContext(ctx, &last, `
		select applied_by, applied_at from catalog_history where version > $1 and applied_at is not null
		order by applied_by = '', version desc limit 1`, version)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return historyError(err)
	}
	what := "Another operator changed the catalog since you opened this page"
	switch {
	case err == nil && last.By == "":
		what = "The gateway put announced prices in force since you opened this page, at " + momentText(last.At)
	case err == nil:
		what += ": " + last.By + ", at " + momentText(last.At)
	}
	return app.Errorf(app.Conflict, codeChanged, "%s. Open the page again to see the catalog in force.", what)
}

func momentText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// ExportVersion is Export with the number of the version, for Edit.
func ExportVersion(ctx context.Context, q postgres.Queryer) (File, int64, error) {
	s, err := load(ctx, q)
	if err != nil {
		return File{}, 0, fmt.Errorf("catalog: export: %w", err)
	}
	return s.file.withoutMarkupPrices(), s.version, nil
}
