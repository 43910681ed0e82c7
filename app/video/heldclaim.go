package video

import (
	"context"
	"sync"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// heldClaim is the claim on a job whose step takes long.
type heldClaim struct {
	s      *Service
	row    *jobRow
	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // the context of the step; its cause says whether the claim was lost
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// holdClaim renews the claim on a job until the lease ends. It ends the context of the step when another worker has the job,
// or when the step takes longer than a copy may.
func (s *Service) holdClaim(ctx context.Context, r *jobRow) (context.Context, *heldClaim) {
	l := &heldClaim{s: s, row: r, done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	copying, cancel := context.WithTimeout(l.ctx, s.waits().CopyMax)
	// goroutine: the lease owns it and waits for it; it ends when the context of the lease ends.
	go func() {
		defer close(l.done)
		defer cancel()
		for app.Sleep(l.ctx, renewEvery) == nil {
			_ = l.renew(l.ctx) // The next renewal may succeed if the database is unavailable now.
		}
	}()
	return copying, l
}

// renew makes the claim last for another while. It fails when the claim is lost, or may be.
func (l *heldClaim) renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := l.s.now().Add(claimMax)
	ours, err := renewClaim(ctx, l.s.db, l.row.ID, *l.row.ClaimedUntil, until)
	if err != nil {
		return err
	}
	if !ours {
		l.cancel(errLost)
		return errLost
	}
	l.row.ClaimedUntil = &until
	return nil
}

// renewClaim extends a claim. It reports false when another worker has the job.
func renewClaim(ctx context.Context, q postgres.Queryer, id string, was, until time.Time) (bool, error) {
	done, err := q.ExecContext(ctx, `update video_jobs set claimed_until = $3 where id = $1 and claimed_until = $2`, id, was, until)
	if err != nil {
		return false, postgres.StoreError("video: renew a claim", err)
	}
	n, err := done.RowsAffected()
	return n == 1, err
}

// end stops renewing.
func (l *heldClaim) end() {
	l.cancel(nil)
	<-l.done
}
