package selection

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
	"umg/app/provider/modellist"
)

const (
	// picksMax bounds the selected models of a provider.
	picksMax = modellist.RowsMax
	// byRunesMax bounds the name of an operator.
	byRunesMax = 200
	// keptFor is how long a selection is kept that no operator changes.
	keptFor = 90 * 24 * time.Hour
)

// Selection is the models of one provider that operators have selected.
type Selection struct {
	// Listed are the models that the provider has listed, and ListedAt is when it did. Both are zero until its list was read.
	Listed   []modellist.Model
	ListedAt time.Time
	// ListProblem is why the list could not be read at the last attempt. It is empty when it could.
	ListProblem string
	// Markup is added to the cost of each model without a markup of its own, as an operator has written it. It may be invalid.
	Markup string
	// Picks are the selected models by their public ids.
	Picks map[string]Pick
}

// Pick is what an operator has written about one selected model. It may be invalid.
type Pick struct {
	// Markup replaces that of the selection; empty means none.
	Markup string `json:"markup,omitempty"`
	// Input and Output are dollars for a million tokens, for a model whose cost is not known.
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
}

// Store keeps selections in the database. It is safe for concurrent use.
type Store struct {
	db  *sqlx.DB
	now app.Clock
}

// New returns a store.
func New(db *sqlx.DB, now app.Clock) *Store { return &Store{db: db, now: now} }

// row is a selection in the database.
type row struct {
	Listed      []byte       `db:"listed"`
	ListedAt    sql.NullTime `db:"listed_at"`
	ListProblem string       `db:"list_problem"`
	Markup      string       `db:"markup"`
	Picks       []byte       `db:"picks"`
}

// listed is a model of a list in the database.
type listed struct {
	ID            string `json:"id"`
	ContextTokens int64  `json:"context,omitempty"`
}

// Read returns the selection of a provider. It is empty when there is none.
func (s *Store) Read(ctx context.Context, provider string) (Selection, error) {
	found, err := read(ctx, s.db, provider, "")
	if err != nil {
		return Selection{}, postgres.StoreError("selection: read", err)
	}
	return found, nil
}

func read(ctx context.Context, q postgres.Queryer, provider, lock string) (Selection, error) {
	var r row
	err := q.GetContext(ctx, &r, `
		select listed, listed_at, list_problem, markup, picks from provider_selections where provider = $1 `+lock, provider)
	if errors.Is(err, sql.ErrNoRows) {
		return Selection{Picks: map[string]Pick{}}, nil
	}
	if err != nil {
		return Selection{}, err
	}
	found := Selection{ListedAt: r.ListedAt.Time.UTC(), ListProblem: r.ListProblem, Markup: r.Markup, Picks: map[string]Pick{}}
	if !r.ListedAt.Valid {
		found.ListedAt = time.Time{}
	}
	var models []listed
	if err := errors.Join(json.Unmarshal(r.Listed, &models), json.Unmarshal(r.Picks, &found.Picks)); err != nil {
		return Selection{}, fmt.Errorf("selection of %s: %w", provider, err)
	}
	for _, m := range models {
		found.Listed = append(found.Listed, modellist.Model{ID: m.ID, ContextTokens: m.ContextTokens})
	}
	return found, nil
}

// Change changes the selection of a provider in one transaction. By is the operator. An error of the function is returned as it is, and
// nothing changes then.
func (s *Store) Change(ctx context.Context, provider, by string, change func(*Selection) error) error {
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		// Two operators who begin the same selection at once wait for each other.
		_, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock(hashtextextended('provider_selections:' || $1, 0))`, provider)
		if err != nil {
			return err
		}
		selection, err := read(ctx, tx, provider, "for update")
		if err != nil {
			return err
		}
		if err := change(&selection); err != nil {
			return err
		}
		if len(selection.Picks) > picksMax {
			return app.Errorf(app.Invalid, "too_many_models", "Select at most %d models.", picksMax).At("models")
		}
		return s.write(ctx, tx, provider, by, &selection)
	})
	return postgres.StoreError("selection: change", err)
}

func (s *Store) write(ctx context.Context, tx *sqlx.Tx, provider, by string, selection *Selection) error {
	models := make([]listed, len(selection.Listed))
	for i, m := range selection.Listed {
		models[i] = listed{ID: app.MakeStorable(m.ID, len(m.ID)), ContextTokens: m.ContextTokens}
	}
	list, errList := json.Marshal(models)
	picks, errPicks := json.Marshal(selection.Picks)
	if err := errors.Join(errList, errPicks); err != nil {
		return err
	}
	at := sql.NullTime{Time: selection.ListedAt.UTC(), Valid: !selection.ListedAt.IsZero()}
	now, who := s.now().UTC(), app.MakeStorable(app.Truncate(by, byRunesMax), 4*byRunesMax)
	if _, err := tx.ExecContext(ctx, `
		insert into provider_selections (provider, listed, listed_at, list_problem, markup, picks, changed_by, changed_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8)
		on conflict (provider) do update set listed = excluded.listed, listed_at = excluded.listed_at, list_problem = excluded.list_problem,
			markup = excluded.markup, picks = excluded.picks, changed_by = excluded.changed_by, changed_at = excluded.changed_at`,
		provider, string(list), at, selection.ListProblem, selection.Markup, string(picks), who, now); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `delete from provider_selections where changed_at < $1`, now.Add(-keptFor))
	return err
}

// Clear forgets what was selected of a provider. The list that the provider gave stays.
func (s *Store) Clear(ctx context.Context, provider string) error {
	_, err := s.db.ExecContext(ctx, `update provider_selections set picks = '{}' where provider = $1`, provider)
	return postgres.StoreError("selection: clear", err)
}
