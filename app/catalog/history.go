package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

const (
	// historyFilesMax is how many of the newest versions keep their file.
	historyFilesMax = 200
	// authorRunesMax bounds the author and the note.
	authorRunesMax = 200
)

// HistoryAction is the author of a change of the catalog, and the reason.
type HistoryAction struct {
	// By is a person and their machine. It is empty for the gateway itself.
	By   string
	Note string
	// BelowCost allows prices below the cost of a route.
	BelowCost bool
}

// Version is one catalog that was put in force.
type Version struct {
	Number int64
	// At is zero for the catalog that was in force before the history began.
	At   time.Time
	By   string
	Note string
	// Changes are the lines of Diff.
	Changes []string
	// Whole means that the replaced catalog could not be read, so that Changes is empty.
	Whole bool
	// Kept means that the file of the version is still stored.
	Kept bool
}

// History returns at most limit versions older than before, newest first. Zero starts with the newest.
func (c *Catalog) History(ctx context.Context, before int64, limit int) ([]Version, error) {
	var rows []versionRow
	err := c.db.SelectContext(ctx, &rows, `
		select version, applied_at, applied_by, note, changes, file is not null as kept
		from catalog_history where $1 = 0 or version < $1 order by version desc limit $2`, before, limit)
	if err != nil {
		return nil, historyError(err)
	}
	versions := make([]Version, len(rows))
	for i, r := range rows {
		if versions[i], err = r.version(); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// Past is one version of the history.
func (c *Catalog) Past(ctx context.Context, number int64) (Version, error) {
	var r versionRow
	err := c.db.GetContext(ctx, &r, `
		select version, applied_at, applied_by, note, changes, file is not null as kept from catalog_history where version = $1`, number)
	if errors.Is(err, sql.ErrNoRows) {
		return Version{}, noVersion(number)
	}
	if err != nil {
		return Version{}, historyError(err)
	}
	return r.version()
}

// PastFile returns the file of a version.
func (c *Catalog) PastFile(ctx context.Context, number int64) ([]byte, error) {
	var file string
	err := c.db.GetContext(ctx, &file, `select file from catalog_history where version = $1 and file is not null`, number)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noVersion(number)
	}
	if err != nil {
		return nil, historyError(err)
	}
	return []byte(file), nil
}

// Since compares a version with the catalog in force, in the lines of Diff.
func (c *Catalog) Since(ctx context.Context, number int64) ([]string, error) {
	file, err := c.PastFile(ctx, number)
	if err != nil {
		return nil, err
	}
	then, err := ParseFile(file)
	if err != nil {
		return nil, app.Errorf(app.Conflict, "version_unreadable", "The file of version %d is not understood any more.", number).Because(err)
	}
	now, err := Export(ctx, c.db)
	if err != nil {
		return nil, err
	}
	return Diff(then, now)
}

// historyError distinguishes a database that cannot be reached from one that refuses the query.
func historyError(err error) error {
	if postgres.Unavailable(err) {
		return app.ErrStore(err)
	}
	return fmt.Errorf("catalog: history: %w", err)
}

func noVersion(number int64) error {
	return app.Errorf(app.NotFound, "version_not_found", "There is no version %d of the catalog, or its file is not kept any more.", number)
}

type versionRow struct {
	Version int64        `db:"version"`
	At      sql.NullTime `db:"applied_at"`
	By      string       `db:"applied_by"`
	Note    string       `db:"note"`
	Changes []byte       `db:"changes"`
	Kept    bool         `db:"kept"`
}

func (r versionRow) version() (Version, error) {
	v := Version{Number: r.Version, At: r.At.Time, By: r.By, Note: r.Note, Whole: r.Changes == nil, Kept: r.Kept}
	if r.Changes == nil {
		return v, nil
	}
	if err := json.Unmarshal(r.Changes, &v.Changes); err != nil {
		return v, fmt.Errorf("catalog: the changes of version %d: %w", r.Version, err)
	}
	return v, nil
}

// writeHistory writes the version that was just made into the history. The first time, it writes the catalog before it also, so that the
// two can be compared.
func writeHistory(ctx context.Context, tx *sqlx.Tx, d HistoryAction, next File, old stored, readable bool) error {
	var changes any
	if readable {
		if old.version > 0 {
			if err := writeFirstVersion(ctx, tx, old); err != nil {
				return err
			}
		}
		lines, err := Diff(old.file, next)
		if err != nil {
			return err
		}
		changes = asJSON{append([]string{}, lines...)}
	}
	file, err := next.withoutMarkupPrices().Bytes()
	if err != nil {
		return err
	}
	err = exec(ctx, tx, "remember", `
		insert into catalog_history (version, applied_at, applied_by, note, changes, file)
		select version, now(), $1, $2, $3::jsonb, $4 from catalog_settings`, shortened(d.By), shortened(d.Note), changes, string(file))
	if err != nil {
		return err
	}
	return exec(ctx, tx, "forget old files", `
		update catalog_history set file = null
		where file is not null and version <= (select version from catalog_settings) - $1`, historyFilesMax)
}

func writeFirstVersion(ctx context.Context, q postgres.Queryer, old stored) error {
	var known bool
	if err := q.GetContext(ctx, &known, `select exists (select from catalog_history where version = $1)`, old.version); err != nil {
		return fmt.Errorf("catalog: look for the beginning: %w", err)
	}
	if known {
		// Printing a large catalog takes longer than this query.
		return nil
	}
	file, err := old.file.withoutMarkupPrices().Bytes()
	if err != nil {
		return err
	}
	return exec(ctx, q, "remember the beginning", `
		insert into catalog_history (version, applied_by, note, changes, file) values ($1, '', '', '[]', $2) on conflict do nothing`,
		old.version, string(file))
}

// shortened cuts a note at its maximum length and removes characters that the database cannot store.
func shortened(text string) string {
	var out []rune
	for _, r := range text {
		if r != 0 && len(out) < authorRunesMax {
			out = append(out, r)
		}
	}
	return string(out)
}
