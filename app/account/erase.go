package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"umg/app/postgres"
	"umg/app/workqueue"
)

// These are the pace and the limits of erasing closed accounts.
const (
	eraseEvery       = 20 * time.Second
	eraseRoundMax    = time.Minute
	eraseAccountsMax = 20 // One round erases from at most this many accounts.
	eraseBatchMax    = 500
	eraseBatchesMax  = 20             // This limits the batches of one table and account in one round.
	eraseAgain       = time.Hour      // A round that found nothing is repeated after this time, for work that was still running.
	eraseUntil       = 25 * time.Hour // Work of an account may run for this long after it closed.
	eraseRetry       = time.Minute
)

// eraseRound looks once at the closed accounts whose turn it is. Replicas may do so at the same time: what one has erased
// the others do not find.
func (s *Service) eraseRound(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, eraseRoundMax)
	defer cancel()
	now := s.o.Now().UTC()
	var rows []closedRow
	err := s.repeated.SelectContext(ctx, &rows, `
		select id, closed_at from accounts where erase_due_at <= $1 and closed_at is not null order by erase_due_at, id limit $2`,
		now, eraseAccountsMax)
	if err != nil {
		return fmt.Errorf("account: list closed accounts: %w", err)
	}
	var troubles []error
	for _, r := range rows {
		more, err := s.erase(ctx, r.ID, now)
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
		// An account without a next round has nothing left to erase.
		troubles = append(troubles, postgres.Exec(ctx, s.db, `
			update accounts set erase_due_at = $2, erased_at = case when $2::timestamptz is null then $3::timestamptz end
			where id = $1`, r.ID, next, now))
	}
	return errors.Join(troubles...)
}

// erase goes through all leftovers, also when one of them fails, and says whether there may be more.
func (s *Service) erase(ctx context.Context, accountID string, now time.Time) (more bool, err error) {
	for _, l := range leftovers {
		rest, batchErr := workqueue.InBatches(eraseBatchesMax, eraseBatchMax, func() (int64, error) {
			return postgres.ChangedRows(s.db.ExecContext(ctx, l.statement, accountID, eraseBatchMax, now))
		})
		if batchErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", l.what, batchErr))
			continue
		}
		more = more || rest
	}
	return more, err
}
