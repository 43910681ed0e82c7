package check

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/llm"
	"umg/app/postgres"
)

// Call is a test call that was answered. The operator pays for it.
type Call struct {
	At              time.Time
	Provider, Model string
	Style           llm.Style
	// By is the operator for whom the call was made.
	By     string
	Tokens Tokens
	// Cost is nil when it is not known.
	Cost *app.Amount
}

// Store keeps test calls in the database.
type Store struct{ db *sqlx.DB }

// NewStore makes a Store.
func NewStore(db *sqlx.DB) *Store { return &Store{db: db} }

// Add keeps a call.
func (s *Store) Add(ctx context.Context, c Call) error {
	_, err := s.db.ExecContext(ctx, `
		insert into provider_test_calls (at, provider, model, style, by, input_tokens, output_tokens, cost_nanos)
		values ($1, $2, $3, $4, $5, $6, $7, $8)`,
		c.At, c.Provider, c.Model, string(c.Style), c.By, c.Tokens.Input, c.Tokens.Output, c.Cost)
	if err != nil {
		return postgres.StoreError("check: add a test call", err)
	}
	return nil
}

// Sum is what the test calls of a provider cost.
type Sum struct {
	Provider string `db:"provider"`
	Calls    int64  `db:"calls"`
	// Unpriced is how many of the calls have no known cost.
	Unpriced int64      `db:"unpriced"`
	Cost     app.Amount `db:"cost"`
}

// Sum returns what the test calls from the first to the last day of UTC, both included, cost by provider. An empty provider matches all.
func (s *Store) Sum(ctx context.Context, first, last time.Time, provider string) ([]Sum, error) {
	sums := []Sum{}
	err := s.db.SelectContext(ctx, &sums, `
		select provider, count(*) as calls, count(*) filter (where cost_nanos is null) as unpriced,
			coalesce(sum(cost_nanos), 0)::bigint as cost
		from provider_test_calls
		where at >= $1::date at time zone 'UTC' and at < ($2::date + 1) at time zone 'UTC' and ($3 = '' or provider = $3)
		group by provider order by provider`,
		first.UTC().Format(time.DateOnly), last.UTC().Format(time.DateOnly), provider)
	if err != nil {
		return nil, postgres.StoreError("check: sum of test calls", err)
	}
	return sums, nil
}
