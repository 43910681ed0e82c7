package asset

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"umg/app/catalog"
	"umg/app/postgres"
	"umg/app/provider"
	"umg/app/workqueue"
)

const (
	stepsMax = 16 // This limits parallel steps.
	claimMax = time.Minute
	// idlePerSleep is how many times as long as Waits.Idle the worker waits when nothing is due, for what other replicas leave to it.
	idlePerSleep = 10
	stepMax      = 40 * time.Second // The rest of the claim is for recording the result.

	recordPauseMin = 100 * time.Millisecond // Each further pause before a result is written again is twice as long.

	followLeast = 2 * time.Second
	followMost  = time.Minute
	followOld   = time.Hour      // An old asset is looked at this often.
	oldAge      = 24 * time.Hour // An asset that is not ready at this age is looked at rarely.
	removeLeast = 5 * time.Second
	removeMost  = time.Hour
	othersMax   = time.Hour // After giveUpAge, replicas that can call the provider have this long.
	giveUpAge   = 7 * 24 * time.Hour
)

// Run works on what is due until ctx ends: it follows assets that are not ready, removes deleted ones upstream, and
// cleans up after creates that were cut.
func (s *Service) Run(ctx context.Context) error {
	defer s.alarm.Stop()
	workqueue.Run(ctx, s.o.Log, workqueue.Task{
		Name: "work on assets", Every: idlePerSleep * s.o.Waits.Idle, Wakes: s.wakes, Work: func(ctx context.Context) (more bool, err error) {
			n, err := s.work(ctx)
			return n > 0, err
		},
	})
	return nil
}

// work takes what is due, as much as may run at once, and waits for it. It says how much that was. When nothing is due, the worker wakes
// at the time at which something will be, and soon when others work on what is due.
func (s *Service) work(ctx context.Context) (int, error) {
	now := s.now()
	var next *time.Time // This reads one entry of an index: planning a claim costs the database several times as much.
	err := s.repeated.GetContext(ctx, &next, `select min(due_at) from assets where due_at is not null`)
	if err != nil || next == nil {
		return 0, postgres.StoreError("asset: look for what is due", err)
	}
	if next.After(now) {
		s.alarm.Reset(next.Sub(now))
		return 0, nil
	}
	away := slices.AppendSeq([]string{}, maps.Keys(s.o.Snapshot().Unusable()))
	rows, err := claimDue(ctx, s.db, now, now.Add(claimMax), stepsMax, away, now.Add(-giveUpAge-othersMax))
	if err != nil {
		return 0, postgres.StoreError("asset: look for what is due", err)
	}
	if len(rows) == 0 {
		s.alarm.Reset(s.o.Waits.Idle)
	}
	workqueue.Each(rows, func(row *assetRow) { s.safely(ctx, row) })
	return len(rows), nil
}

// safely takes one step. One that breaks must not stop the others; its claim ends by itself.
func (s *Service) safely(ctx context.Context, row *assetRow) {
	ctx, cancel := context.WithTimeoutCause(ctx, stepMax, provider.ErrTotal)
	defer cancel()
	defer func() {
		if broken := recover(); broken != nil {
			s.o.Log.Error("panic in asset step", "asset_id", row.ID, "panic", broken, "stack", string(debug.Stack()))
		}
	}()
	if err := s.step(ctx, row); err != nil && ctx.Err() == nil && !isStore(err) {
		s.o.Log.Error("asset step failed", "asset_id", row.ID, "error", err)
	}
}

// step does for a row what is due.
func (s *Service) step(ctx context.Context, row *assetRow) error {
	keeper, known := s.keeper(row)
	switch {
	case row.PendingAt != nil:
		return s.removeLost(ctx, row, keeper, known)
	case row.DeletedAt != nil:
		return s.removeUpstream(ctx, row, keeper, known)
	}
	return s.follow(ctx, row)
}

// follow asks how an asset is that is not ready.
func (s *Service) follow(ctx context.Context, row *assetRow) error {
	err := s.refresh(ctx, row)
	if err != nil && ctx.Err() == nil {
		s.o.Log.Warn("reading asset state failed", "asset_id", row.ID, "provider", row.Provider, "error", err)
	}
	if err == nil && row.State.final() {
		return s.leave(ctx, row, nil, 0)
	}
	wait := s.backOff(followLeast, followMost, row.Tries)
	if s.now().Sub(row.CreatedAt) > oldAge {
		wait = followOld
	}
	return s.later(ctx, row, wait)
}

// removeLost cleans up after a create that was cut: what the provider has of it is removed, and then the row.
func (s *Service) removeLost(ctx context.Context, row *assetRow, keeper *catalog.Provider, known bool) error {
	if !known {
		return s.retry(ctx, row, *row.PendingAt, "its provider is not in the catalog")
	}
	item, found, f := s.o.Upstreams.Find(ctx, keeper, row.Group, row.ID)
	if f == nil && found {
		f = s.o.Upstreams.Delete(ctx, keeper, item.ID)
	}
	if f != nil {
		return s.retry(ctx, row, *row.PendingAt, f.Error())
	}
	return s.forget(ctx, row)
}

// removeUpstream has the provider forget a deleted asset, and then forgets the row.
func (s *Service) removeUpstream(ctx context.Context, row *assetRow, keeper *catalog.Provider, known bool) error {
	if !known {
		return s.retry(ctx, row, *row.DeletedAt, "its provider is not in the catalog")
	}
	if f := s.o.Upstreams.Delete(ctx, keeper, row.UpstreamID); f != nil {
		return s.retry(ctx, row, *row.DeletedAt, f.Error())
	}
	return s.forget(ctx, row)
}

// retry puts a removal off, or gives it up after a week with a line for the operator, who can remove it by hand.
func (s *Service) retry(ctx context.Context, row *assetRow, since time.Time, why string) error {
	if s.now().Sub(since) > giveUpAge {
		s.o.Log.Error("asset removal abandoned", "asset_id", row.ID, "provider", row.Provider,
			"upstream_id", row.UpstreamID, "reason", why)
		return s.forget(ctx, row)
	}
	s.o.Log.Warn("asset removal failed, retrying", "asset_id", row.ID, "provider", row.Provider, "tries", row.Tries+1, "reason", why)
	return s.later(ctx, row, s.backOff(removeLeast, removeMost, row.Tries))
}

func (s *Service) forget(ctx context.Context, row *assetRow) error {
	return record(ctx, "asset: forget an asset", func(ctx context.Context) error { return remove(ctx, s.db, row) })
}

func (s *Service) later(ctx context.Context, row *assetRow, wait time.Duration) error {
	due, tries := s.now().Add(wait), row.Tries+1
	if errors.Is(context.Cause(ctx), context.Canceled) { // The server stops, so the attempt does not count.
		due, tries = s.now(), row.Tries
	}
	return s.leave(ctx, row, &due, tries)
}

func (s *Service) leave(ctx context.Context, row *assetRow, due *time.Time, tries int) error {
	return record(ctx, "asset: put an asset off", func(ctx context.Context) error { return leave(ctx, s.db, row, due, tries) })
}

// record writes the result of a step, and repeats the statement while the claim lasts and Postgres does not take it: without
// the result, no worker would look at the asset until the claim ends. It does not repeat when the server stops.
func record(ctx context.Context, step string, write func(context.Context) error) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimMax-stepMax)
	defer cancel()
	for pause := recordPauseMin; ; pause *= 2 {
		err := postgres.StoreError(step, write(within))
		if !isStore(err) || errors.Is(context.Cause(ctx), context.Canceled) {
			return err
		}
		select {
		case <-within.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// backOff is the wait after so many tries, spread so that not all come at once.
func (s *Service) backOff(least, most time.Duration, tries int) time.Duration {
	wait := workqueue.Backoff(least, most, tries+1)
	return wait - time.Duration(s.o.Jitter(int64(wait)/4+1))
}
