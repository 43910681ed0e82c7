package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
)

// How the eraser works.
const (
	eraseEvery       = 5 * time.Second
	eraseRoundMax    = time.Minute
	eraseAccountsMax = 20 // in one round
	eraseBatchMax    = 500
	eraseBatchesMax  = 20             // of one account in one round
	eraseAgain       = time.Hour      // after a round that found nothing, for what was still running
	eraseUntil       = 25 * time.Hour // after the account closed: nothing of it runs so long
	eraseRetry       = time.Minute
)

// Holding is a room that holds something of accounts. Erase removes or blanks at most so many things of one that is
// closed, and says whether there may be more. It may be called again at any time.
type Holding interface {
	Erase(ctx context.Context, accountID string, limit int) (more bool, err error)
}

// EraserOptions of an eraser. All must be set.
type EraserOptions struct {
	Now      app.Clock
	Log      *slog.Logger
	Holdings []Holding
}

// Eraser removes what is left of closed accounts, piece by piece.
type Eraser struct {
	db *sqlx.DB
	o  EraserOptions
}

// NewEraser returns an eraser. It panics when an option is missing.
func NewEraser(db *sqlx.DB, o EraserOptions) *Eraser {
	if db == nil || o.Now == nil || o.Log == nil {
		panic("account.NewEraser: an option is missing")
	}
	return &Eraser{db: db, o: o}
}

// Run erases until ctx ends, and returns ctx's error.
func (e *Eraser) Run(ctx context.Context) error {
	tick := time.NewTicker(eraseEvery)
	defer tick.Stop()
	for {
		if err := e.Round(ctx); err != nil && ctx.Err() == nil {
			e.o.Log.Warn("account: something of closed accounts could not be erased yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Round looks once at the closed accounts whose turn it is.
func (e *Eraser) Round(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, eraseRoundMax)
	defer cancel()
	now := e.o.Now().UTC()
	rows, err := closedAccounts(ctx, e.db, now, eraseAccountsMax)
	if err != nil {
		return fmt.Errorf("account: list closed accounts: %w", err)
	}
	var troubles []error
	for _, r := range rows {
		more, err := e.erase(ctx, r.ID)
		due := now.Add(eraseAgain)
		switch {
		case err != nil:
			due = now.Add(eraseRetry)
			troubles = append(troubles, fmt.Errorf("account %s: %w", r.ID, err))
		case more:
			due = now
		}
		next := &due
		if err == nil && !more && now.Sub(r.ClosedAt) > eraseUntil {
			next = nil
		}
		troubles = append(troubles, setErasure(ctx, e.db, r.ID, next, now))
	}
	return errors.Join(troubles...)
}

// erase goes through all rooms, also when one of them fails.
func (e *Eraser) erase(ctx context.Context, accountID string) (more bool, err error) {
	steps := []func() (bool, error){func() (bool, error) { return eraseLog(ctx, e.db, accountID, eraseBatchMax) }}
	for _, h := range e.o.Holdings {
		steps = append(steps, func() (bool, error) { return h.Erase(ctx, accountID, eraseBatchMax) })
	}
	for _, step := range steps {
		rest, stepErr := true, error(nil)
		for n := 0; rest && stepErr == nil && n < eraseBatchesMax; n++ {
			rest, stepErr = step()
		}
		more, err = more || rest && stepErr == nil, errors.Join(err, stepErr)
	}
	return more, err
}
