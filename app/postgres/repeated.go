package postgres

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
)

// Repeated runs statements that workers repeat while no one calls. The database parses a statement once for each connection, and plans it
// once when its plan does not depend on the parameters, which is most of what such a statement costs. The texts are constants: each is kept
// until the pool is closed. Each statement takes a turn.
type Repeated struct {
	db *sqlx.DB

	mu       sync.Mutex // It is held while a statement is prepared for the first time.
	prepared map[string]*sqlx.Stmt
}

// turnMax is how long a turn may last, and how long a worker waits for its own. What takes longer runs beside the work of others.
const turnMax = 250 * time.Millisecond

var turns = make(chan struct{}, 1)

// TakeTurn waits until no other worker of this process has the turn, at most turnMax. Workers that look at the database at the same
// moments take turns, so that one connection of a pool is enough for them and the other processes of the database sleep: the first
// statement of a process that has slept costs as much as dozens of later ones. The caller ends its turn, and runs no Repeated until then.
func TakeTurn(ctx context.Context) (end func()) {
	wait := time.NewTimer(turnMax)
	defer wait.Stop()
	select {
	case turns <- struct{}{}:
		pass := sync.OnceFunc(func() { <-turns })
		overdue := time.AfterFunc(turnMax, pass)
		return func() { overdue.Stop(); pass() }
	case <-wait.C:
	case <-ctx.Done():
	}
	return func() {}
}

// Repeat returns a Repeated whose statements run on a pool.
func Repeat(db *sqlx.DB) *Repeated { return &Repeated{db: db, prepared: map[string]*sqlx.Stmt{}} }

// GetContext reads the one row of a statement. It returns sql.ErrNoRows when there is none.
func (r *Repeated) GetContext(ctx context.Context, dest any, query string, args ...any) error {
	return r.run(ctx, query, func(s *sqlx.Stmt) error { return s.GetContext(ctx, dest, args...) })
}

// SelectContext reads all rows of a statement.
func (r *Repeated) SelectContext(ctx context.Context, dest any, query string, args ...any) error {
	return r.run(ctx, query, func(s *sqlx.Stmt) error { return s.SelectContext(ctx, dest, args...) })
}

// ExecContext runs a statement that returns no rows.
func (r *Repeated) ExecContext(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	err = r.run(ctx, query, func(s *sqlx.Stmt) (err error) {
		result, err = s.ExecContext(ctx, args...)
		return err
	})
	return result, err
}

// run prepares a statement if that has not happened yet, and runs it in its turn.
func (r *Repeated) run(ctx context.Context, query string, do func(*sqlx.Stmt) error) (err error) {
	r.mu.Lock()
	if r.prepared[query] == nil {
		r.prepared[query], err = r.db.PreparexContext(ctx, query) //nolint:sqlclosecheck // The pool closes it.
	}
	statement := r.prepared[query]
	r.mu.Unlock()
	if err != nil {
		return err
	}
	defer TakeTurn(ctx)()
	return do(statement)
}
