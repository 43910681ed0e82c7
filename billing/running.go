package billing

import (
	"context"
	"sync"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

// Limits of a hold's life. It expires soon, so that the credit of a process that died is free again within a minute, and
// it is renewed for as long as its call runs, however long that is.
const (
	holdLeaseMax  = 45 * time.Second
	renewEvery    = 10 * time.Second // so a hold has at least two more tries when one renewal fails
	renewHoldsMax = 1000             // rows of one statement
	// After the store was away, the holds of all replicas are behind. This is how long nobody's are released.
	releasePause = 2 * renewEvery
)

// running are the holds this process took and has not settled yet.
type running struct {
	mu    sync.Mutex
	holds map[string]lease
}

// lease is why a hold is renewed: its caller still runs, or its settlement waits for the store.
type lease struct {
	taken  time.Time
	caller <-chan struct{} // closed when the caller has ended, nil for one that cannot
	queued bool
}

func (r *running) add(id string, l lease) {
	r.mu.Lock()
	r.holds[id] = l
	r.mu.Unlock()
}

func (r *running) remove(id string) {
	r.mu.Lock()
	delete(r.holds, id)
	r.mu.Unlock()
}

func (r *running) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.holds)
}

// due lists the holds to renew, which are those that were there at the time given. It forgets those whose caller ended
// without settling them, as after a panic: they are left to expire.
func (r *running) due(before time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for id, l := range r.holds {
		if !l.queued {
			select {
			case <-l.caller:
				delete(r.holds, id)
				continue
			default:
			}
		}
		if !l.taken.After(before) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Renew puts off the expiry of every hold that was taken here at least as long ago as said and is still needed.
// Holds that are being settled at this moment are passed over.
func (l *Ledger) Renew(ctx context.Context, age time.Duration) error {
	ids := l.running.due(l.o.Now().Add(-age))
	for len(ids) > 0 {
		n := min(len(ids), renewHoldsMax)
		if err := renewHolds(ctx, l.db, ids[:n]); err != nil {
			return wrap("renew holds", err)
		}
		ids = ids[n:]
	}
	return nil
}

func renewHolds(ctx context.Context, q postgres.Queryer, ids []string) error {
	_, err := q.ExecContext(ctx, `
		update holds set expires_at = now() + $2 * interval '1 second'
		where id in (select id from holds where id = any($1) and state = 'open' for update skip locked)`,
		pq.Array(ids), int64(holdLeaseMax/time.Second))
	return err
}

// keep renews and releases until ctx ends.
func (l *Ledger) keep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	k := keeper{ledger: l, renewed: l.o.Now()}
	for {
		if err := k.pass(ctx); err != nil && ctx.Err() == nil {
			l.o.Log.Warn("holds and expired credit wait for the store", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// keeper is what the passes over the holds know of each other.
type keeper struct {
	ledger   *Ledger
	renewed  time.Time
	kept     time.Time // when the partitions of usage records were seen to last
	troubled time.Time // when the store last failed, zero for never
}

// pass renews what is due and then releases what has expired, in this order, so that a process which was suspended
// does not release the holds of its own calls. Nothing is released soon after the store was away: other replicas must
// renew first.
func (k *keeper) pass(ctx context.Context) (err error) {
	now := k.ledger.o.Now()
	defer func() {
		if err != nil {
			k.troubled = now
		}
	}()
	if now.Sub(k.renewed) >= renewEvery {
		if err := k.ledger.Renew(ctx, renewEvery); err != nil {
			return err
		}
		k.renewed = now
	}
	if now.Sub(k.kept) >= upkeepEvery {
		if err := k.ledger.Upkeep(ctx); err != nil {
			return err
		}
		k.kept = now
	}
	return k.ledger.sweep(ctx, k.troubled.IsZero() || now.Sub(k.troubled) >= releasePause)
}
