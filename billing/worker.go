package billing

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// Limits of the worker.
const (
	settlementsMax    = 4096 // facts that wait for the store
	undoneMax         = 1024 // holds of unknown outcome that wait for the store
	sweepEvery        = 5 * time.Second
	sweepHoldsMax     = 500 // rows of one transaction
	sweepGrantsMax    = 100 // transactions of one pass
	sweepBatchesMax   = 20  // of one pass, so that a backlog leaves room for settlements
	settleBackoffMin  = 50 * time.Millisecond
	settleBackoffMax  = 2 * time.Second
	settleOnStopMax   = 5 * time.Second // how long a stopping gateway tries to settle what is queued
	settleOnStopPause = 100 * time.Millisecond
)

// Stats are the ledger's counters since the start, for metrics. All but Queued and Running only grow, and all but
// these and Retried should stay at zero.
type Stats struct {
	Queued       int64 // settlements that wait for the store now
	Running      int64 // holds taken here that are not settled yet
	Retried      int64 // settlements that needed another try
	Lost         int64 // settlements given up; each is in the log with all its facts
	HoldsExpired int64 // holds that nobody settled in time
	SettledLate  int64 // settlements of such holds
	Overruns     int64 // calls that cost more than their hold
	GrantsLapsed int64 // expired grants taken back, in whole or in part
}

type counters struct {
	retried, lost, expired, late, overruns, lapsed atomic.Int64
}

// Stats reads the counters.
func (l *Ledger) Stats() Stats {
	c := &l.counters
	return Stats{
		Queued: int64(len(l.later)), Running: int64(l.running.count()), Retried: c.retried.Load(), Lost: c.lost.Load(),
		HoldsExpired: c.expired.Load(), SettledLate: c.late.Load(), Overruns: c.overruns.Load(), GrantsLapsed: c.lapsed.Load(),
	}
}

// settling is a settlement that failed and waits for another try.
type settling struct {
	hold       Hold
	settlement Settlement
}

// SettleLater keeps the facts of a settlement that failed until the worker can settle them. It never blocks. Facts
// beyond the queue's bound are logged whole and given up: their hold expires and the account pays nothing.
func (l *Ledger) SettleLater(h Hold, s Settlement) {
	l.running.add(h.ID, lease{taken: l.o.Now().Add(-renewEvery), queued: true})
	select {
	case l.later <- settling{h, s}:
	default:
		l.lose(settling{h, s}, errors.New("billing: the queue of settlements is full"))
	}
}

// undo remembers a hold whose request failed on the way, so that credit which was reserved after all is not locked
// until it expires. A store that could not even be dialled has reserved nothing.
func (l *Ledger) undo(h Hold, err error) {
	var network *net.OpError
	if !postgres.Unavailable(err) || errors.As(err, &network) && network.Op == "dial" {
		return
	}
	select {
	case l.undone <- h:
	default: // the hold expires by itself
	}
}

// Run settles what is queued, renews the holds of running calls, releases expired ones and takes back expired grants
// until ctx ends. Then it tries for a few seconds to settle what is left, logs what it could not, and returns nil. End
// it after the last call that may settle: what is queued later stays unsettled. Without it, holds expire under calls
// that run long.
func (l *Ledger) Run(ctx context.Context) error {
	var keeping sync.WaitGroup
	defer keeping.Wait()
	keeping.Go(func() { l.keep(ctx) })
	for {
		select {
		case <-ctx.Done():
			l.drain(ctx)
			return nil
		case s := <-l.later:
			l.settleQueued(ctx, s)
		case h := <-l.undone:
			l.takeBack(context.WithoutCancel(ctx), h) // one bounded try, also when the gateway stops meanwhile
		}
	}
}

// settleQueued tries until the settlement is in the books or can never be, and puts it back when ctx ends first. The
// queue waits behind it: what keeps one settlement from the store keeps all of them.
func (l *Ledger) settleQueued(ctx context.Context, s settling) {
	for wait := settleBackoffMin; ; wait = min(2*wait, settleBackoffMax) {
		err := l.Settle(ctx, s.hold, s.settlement)
		if err == nil {
			return
		}
		if ctx.Err() == nil && app.KindOf(err) != app.Unavailable {
			l.lose(s, err)
			return
		}
		if l.counters.retried.Add(1) == 1 || wait == settleBackoffMax {
			l.o.Log.Warn("a settlement waits for the store", "request_id", s.hold.ID, "queued", len(l.later), "error", err)
		}
		select {
		case <-ctx.Done():
			l.SettleLater(s.hold, s.settlement)
			return
		case <-time.After(wait):
		}
	}
}

// drain settles what is queued within settleOnStopMax and logs the rest.
func (l *Ledger) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleOnStopMax)
	defer cancel()
	for {
		select {
		case s := <-l.later:
			l.settleOnStop(ctx, s)
		case h := <-l.undone:
			l.takeBack(ctx, h)
		default:
			return
		}
	}
}

func (l *Ledger) settleOnStop(ctx context.Context, s settling) {
	for {
		err := l.Settle(ctx, s.hold, s.settlement)
		if err == nil {
			return
		}
		if ctx.Err() != nil || app.KindOf(err) != app.Unavailable {
			l.lose(s, err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(settleOnStopPause):
		}
	}
}

func (l *Ledger) takeBack(ctx context.Context, h Hold) {
	if err := l.settle(ctx, h, settleRow{}); err != nil && ctx.Err() == nil {
		l.o.Log.Warn("a hold of unknown outcome is left to expire", "request_id", h.ID, "error", err)
	}
}

// lose gives a settlement up. The log is then the only place that knows it, so it gets all the facts.
func (l *Ledger) lose(s settling, err error) {
	l.counters.lost.Add(1)
	l.running.remove(s.hold.ID)
	r := s.settlement.Record
	l.o.Log.Error("a settlement is lost", "request_id", s.hold.ID, "account_id", s.hold.AccountID, "held_nanos", int64(s.hold.Amount),
		"cost_nanos", int64(s.settlement.Cost), "key_id", r.KeyID, "model", r.Model, "provider", r.Provider, "rate_card_id", r.RateCardID,
		"outcome", r.Outcome, "started_at", r.StartedAt, "usage", r.Usage, "error", err)
}

// Sweep makes one pass of the worker over what has expired: holds give their credit back, grants lose what is left of
// them. A backlog is worked off over several passes.
func (l *Ledger) Sweep(ctx context.Context) error { return l.sweep(ctx, true) }

func (l *Ledger) sweep(ctx context.Context, release bool) error {
	if release {
		if err := l.release(ctx); err != nil {
			return wrap("release holds", err)
		}
	}
	if err := l.lapse(ctx); err != nil {
		return wrap("expire grants", err)
	}
	return wrap("refill budgets", l.refill(ctx))
}

func (l *Ledger) release(ctx context.Context) error {
	for range sweepBatchesMax {
		released, err := releaseExpiredHolds(ctx, l.db, sweepHoldsMax, l.o.Now().UTC())
		if err != nil {
			return err
		}
		if released > 0 {
			l.counters.expired.Add(released)
			l.o.Log.Warn("holds expired before they were settled", "holds", released)
		}
		if released < sweepHoldsMax {
			return nil
		}
	}
	return nil
}

func (l *Ledger) lapse(ctx context.Context) error {
	grants, err := selectExpiredGrants(ctx, l.db, sweepGrantsMax, l.o.Now().UTC())
	if err != nil {
		return err
	}
	for _, id := range grants {
		taken, err := expireGrant(ctx, l.db, id, l.o.IDs.New("txn"), l.o.Now().UTC())
		if err != nil {
			return err
		}
		if taken > 0 {
			l.counters.lapsed.Add(1)
		}
	}
	return nil
}
