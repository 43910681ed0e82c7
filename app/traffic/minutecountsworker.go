package traffic

import (
	"context"
	"errors"
	"time"
)

// Run writes the counts until ctx ends, and once more then. While the database is unavailable, the counts of one hour wait.
func (l *MinuteCounts) Run(ctx context.Context) error {
	tick := time.NewTicker(countsWrittenEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		l.recordInFlight()
		if err := l.flush(ctx); err != nil && ctx.Err() == nil {
			l.o.Log.Warn("call counts: database unavailable, retrying", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), countsWriteTimeMax)
	defer cancel()
	return l.flush(last)
}

// flush writes the minutes that changed since the last write.
func (l *MinuteCounts) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, countsWriteTimeMax)
	defer cancel()
	var failures error
	for _, m := range l.takeUnwritten() {
		if err := l.write(ctx, &m); err != nil {
			failures = errors.Join(failures, err)
			l.markUnwritten(m.number)
		}
	}
	return failures
}
