package traffic

import (
	"context"
	"time"
)

// Run writes the recorded calls until ctx ends. It drops calls that it cannot write: they would be old when the database is back.
func (l *RecentCalls) Run(ctx context.Context) error {
	tick := time.NewTicker(callsSweptEvery)
	defer tick.Stop()
	swept := l.now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-l.added:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(callsWrittenAfter):
			}
		}
		if err := l.flush(ctx, &swept); err != nil && ctx.Err() == nil {
			l.log.Warn("recording refused calls failed", "error", err)
		}
	}
}

// flush writes the pending calls, and at most once a minute deletes rows that are too old.
func (l *RecentCalls) flush(ctx context.Context, swept *time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, callsWriteTimeMax)
	defer cancel()
	if taken := l.takePending(); len(taken) > 0 {
		if err := l.write(ctx, taken); err != nil {
			return err
		}
	}
	if now := l.now(); now.Sub(*swept) >= callsSweptEvery {
		*swept = now
		return l.deleteOld(ctx)
	}
	return nil
}
