package contentlog

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
	"umg/app/workqueue"
)

// These constants bound how content is written and deleted.
const (
	writeEvery       = 200 * time.Millisecond
	writeCallsMax    = 50 // One statement writes at most this many calls.
	writeTimeMax     = 3 * time.Second
	sweepEvery       = time.Minute
	sweepTimeMax     = 30 * time.Second
	sweepAccountsMax = 100 // One round covers at most this many accounts.
	sweepRowsMax     = 200 // One statement deletes at most this many rows.
	sweepBatchesMax  = 50  // One round deletes at most this many batches of an account.
)

// Run writes what was taken down, and deletes what is over, until ctx ends. What waits then is written once more.
func (s *Service) Run(ctx context.Context) error {
	workqueue.Run(ctx, s.o.Log,
		workqueue.Task{Name: "write content", Every: sweepEvery, Wakes: s.queued, Work: func(ctx context.Context) (more bool, err error) {
			select { // Calls that end within a moment are written together.
			case <-ctx.Done():
				return false, nil // Run writes the rest.
			case <-time.After(writeEvery):
				s.flush(ctx)
				return false, nil
			}
		}},
		workqueue.Task{Name: "delete expired content", Every: sweepEvery, Work: workqueue.Repeat(s.sweep)})
	s.flush(context.WithoutCancel(ctx))
	return nil
}

// flush writes the queued records. Records that the database refuses are lost: no caller depends on them, and they use memory.
func (s *Service) flush(ctx context.Context) {
	for {
		rows := make([]row, 0, min(len(s.queue), writeCallsMax))
		for len(rows) < cap(rows) {
			t := <-s.queue
			rows = append(rows, t.row())
		}
		if len(rows) == 0 {
			return
		}
		if err := s.write(ctx, rows); err != nil {
			s.dropped.Add(int64(len(rows)))
			s.o.Log.Warn("content worker: storing content failed, content lost", "calls", len(rows), "error", err)
		}
	}
}

// write keeps calls whose accounts still want it.
func (s *Service) write(ctx context.Context, rows []row) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeMax)
	defer cancel()
	return postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		accounts := make([]string, len(rows))
		for i := range rows {
			accounts[i] = rows[i].call.AccountID
		}
		wanted, err := lockWanted(ctx, tx, accounts)
		if err != nil {
			return err
		}
		var keep []row
		for _, r := range rows {
			w, still := wanted[r.call.AccountID]
			switch {
			// The account changed its settings or deleted its content after the call began.
			case !still || w.ClearedAt != nil && !r.call.At.After(*w.ClearedAt):
			case w.KeptBytes > s.most+s.most/4: // Deletion cannot keep up with this account.
				s.dropped.Add(1)
			default:
				keep = append(keep, r)
			}
		}
		if len(keep) == 0 {
			return nil
		}
		s.kept.Add(int64(len(keep)))
		return insert(ctx, tx, keep)
	})
}

// sweep deletes what is over, in small batches, so that no statement holds its locks for long. What is left waits for the next round.
func (s *Service) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeMax)
	defer cancel()
	defer postgres.TakeTurn(ctx)()
	if err := s.sweepRuns(ctx); err != nil {
		return err
	}
	accounts, err := postgres.Select[string](ctx, s.db, `
		select s.account_id from content_log_settings s
		where s.kept_bytes + `+runBytes+` > $2 or exists (select from content_logs c where c.account_id = s.account_id and c.at <= `+since+`)
		order by s.account_id limit $3`, s.now(), s.most, sweepAccountsMax)
	if err != nil {
		return err
	}
	for _, id := range accounts {
		if err := s.sweepAccount(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// sweepAccount deletes what is over of one account.
func (s *Service) sweepAccount(ctx context.Context, accountID string) error {
	for range sweepBatchesMax {
		var n int
		err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) (err error) {
			// The lock keeps the settings of the account, which may be closed, as they are.
			if err = postgres.Exec(ctx, tx, `select from content_log_settings where account_id = $1 for no key update`, accountID); err == nil {
				n, err = sweepOne(ctx, tx, accountID, s.now(), s.most, sweepRowsMax)
			}
			return err
		})
		if err != nil || n == 0 {
			return err
		}
	}
	return nil
}
