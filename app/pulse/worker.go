package pulse

import (
	"context"
	"errors"
	"time"
)

// Run writes down what was counted until ctx ends, and a last time then. While the store is away the counts of an hour wait.
func (l *Log) Run(ctx context.Context) error {
	tick := time.NewTicker(writtenEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		l.look()
		if err := l.flush(ctx); err != nil && ctx.Err() == nil {
			l.o.Log.Warn("call counts: database unavailable, retrying", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeMax)
	defer cancel()
	return l.flush(last)
}

// flush writes down what was counted since the last time, and drops what is too old for anybody.
func (l *Log) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeMax)
	defer cancel()
	var failures error
	for _, m := range l.pending() {
		if err := l.write(ctx, &m); err != nil {
			failures = errors.Join(failures, err)
			l.again(m.number)
		}
	}
	if failures != nil {
		return failures
	}
	return l.forget(ctx)
}
