package refusal

import (
	"context"
	"time"

	"umg/app"
	"umg/app/workqueue"
)

// These limits apply to writing and deleting refusals.
const (
	writeAfter    = 250 * time.Millisecond // Refusals of so much time are written together.
	lookEvery     = 10 * time.Second       // Samples that have become due are written this often.
	writeTimeMax  = 3 * time.Second
	ownersTimeMax = 2 * time.Second
	// writeRowsMax bounds the rows of one statement that writes.
	writeRowsMax = 1000
	sweepEvery   = 10 * time.Minute
	sweepTimeMax = time.Minute
	// sweepRowsMax bounds the rows of one statement that deletes.
	sweepRowsMax   = 5000
	sweepRoundsMax = 200
)

// Run writes refusals and deletes old ones until ctx ends. What waits then is written once more.
func (l *Log) Run(ctx context.Context) error {
	workqueue.Run(ctx, l.o.Log,
		workqueue.Task{Name: "write refusals", Every: lookEvery, Wakes: l.added, Work: func(ctx context.Context) (more bool, err error) {
			select {
			case <-ctx.Done():
				return false, nil // Run writes the rest.
			case <-time.After(writeAfter):
				return false, l.flush(ctx, false)
			}
		}},
		workqueue.Task{Name: "delete old refusals", Every: sweepEvery, Work: l.sweep})
	return l.flush(context.WithoutCancel(ctx), true)
}

// flush finds the accounts of the records that have none, and writes the rows that are due. All also takes samples before their time.
func (l *Log) flush(ctx context.Context, all bool) error {
	l.findOwners(ctx)
	due := l.takeDue(l.o.Now(), all)
	for i := range due {
		due[i].storable()
	}
	for len(due) > 0 {
		n := min(len(due), writeRowsMax)
		err := l.write(ctx, due[:n])
		if kind := app.KindOf(err); kind == app.Unavailable || kind == app.Canceled {
			l.putBack(due)
			l.wake()
			return err
		}
		if err != nil { // The database does not take these rows, now or later.
			l.drop(due)
			return err
		}
		due = due[n:]
	}
	return nil
}

// findOwners counts the records whose secret is that of a key. Requests with any other secret are not recorded.
func (l *Log) findOwners(ctx context.Context) {
	taken := l.takeUnknown()
	if len(taken) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ownersTimeMax)
	defer cancel()
	for _, r := range taken {
		accountID, keyID, found := l.o.Owner(ctx, r.Secret)
		if !found {
			continue
		}
		r.AccountID, r.KeyID, r.Secret = accountID, keyID, ""
		l.mu.Lock()
		l.count(r)
		l.mu.Unlock()
	}
}

// sweep deletes rows that are too old, in small batches.
func (l *Log) sweep(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeMax)
	defer cancel()
	before := l.o.Now().Add(-l.o.Kept)
	return workqueue.InBatches(sweepRoundsMax, sweepRowsMax, func() (int64, error) { return l.deleteOld(ctx, before, sweepRowsMax) })
}
