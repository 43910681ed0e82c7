package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
)

// Repeated runs statements that workers repeat while no one calls. The database parses a statement once for each connection, and plans it
// once when its plan does not depend on the parameters, which is most of what such a statement costs. The texts are constants: each is kept
// until the pool is closed.
type Repeated struct {
	db *sqlx.DB

	mu       sync.Mutex // It is held while a statement is prepared for the first time.
	prepared map[string]*sqlx.Stmt
}

// Workers that repeat their statements at the same moments take turns, so that one connection of a pool is enough for them and the other
// processes of the database sleep. A worker waits at most turnWaitMax for a statement that takes long.
const turnWaitMax = 50 * time.Millisecond

var turns = make(chan struct{}, 1)

// Repeat returns a Repeated whose statements run on a pool.
func Repeat(db *sqlx.DB) *Repeated { return &Repeated{db: db, prepared: map[string]*sqlx.Stmt{}} }

// GetContext reads the one row of a statement. It returns sql.ErrNoRows when there is none.
func (r *Repeated) GetContext(ctx context.Context, dest any, query string, args ...any) (err error) {
	r.mu.Lock()
	if r.prepared[query] == nil {
		r.prepared[query], err = r.db.PreparexContext(ctx, query) //nolint:sqlclosecheck // The pool closes it.
	}
	statement := r.prepared[query]
	r.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-time.After(turnWaitMax):
	}
	return statement.GetContext(ctx, dest, args...)
}
