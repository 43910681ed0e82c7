package webhook

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/app/workqueue"
)

// These limits apply to deliveries in progress and to a sweep.
const (
	atOnceMax         = 64 // This replica sends at most this many deliveries at once.
	strugglingMax     = 32 // At most this many deliveries are to endpoints whose last attempt failed.
	accountAtOnceMax  = 16
	endpointAtOnceMax = 4
	retention         = 30 * 24 * time.Hour
	sweepBatchMax     = 100 // The unit is events, each with its deliveries and attempts.
	sweepRoundsMax    = 100
	recordMax         = 20 * time.Second // Recording an attempt may take this long, while the claim still holds.
	recordPauseMin    = 100 * time.Millisecond
	// pollsPerSleep is how many times as long as Waits.Poll the worker waits while no delivery waits.
	pollsPerSleep = 10
)

// Stats count what happened since the start of the process.
type Stats struct {
	Events         int64 // Events counts recorded events.
	Attempts       int64 // Attempts counts attempts that were made and stored.
	Delivered      int64 // Delivered counts events that a receiver accepted.
	FailedAttempts int64
	GivenUp        int64 // GivenUp counts deliveries that will not be retried.
	Disabled       int64 // Disabled counts endpoints that were disabled because their deliveries failed.
	Lost           int64 // Lost counts attempts whose delivery another worker had claimed by their end.
	Running        int64 // Running counts the attempts in progress.
}

// Stats returns the counters for metrics.
func (s *Service) Stats() Stats {
	c := &s.counts
	return Stats{
		Events: c.events.Load(), Attempts: c.attempts.Load(), Delivered: c.delivered.Load(), FailedAttempts: c.failedAttempts.Load(),
		GivenUp: c.given.Load(), Disabled: c.disabled.Load(), Lost: c.lost.Load(), Running: c.running.Load(),
	}
}

// Run delivers events until ctx ends: as soon as one is emitted anywhere, as retries fall due, and as claims of replicas
// that died lapse. It also removes what is too old. Attempts that are under way when ctx ends are given back.
func (s *Service) Run(ctx context.Context, listener *postgres.Listener) error {
	wake := make(chan struct{}, 1)
	var others sync.WaitGroup
	defer others.Wait()
	// goroutine: Run owns it and waits for it; it ends when ctx ends.
	others.Go(func() { listener.Wake(ctx, "webhooks", wake) })
	// goroutine: Run owns it and waits for it; it ends when ctx ends.
	others.Go(func() {
		workqueue.Run(ctx, s.o.Log, workqueue.Task{Name: "delete old webhook events", Every: s.o.Waits.Sweep, Work: workqueue.Repeat(s.Sweep)})
	})
	rhythm := time.NewTicker(s.o.Waits.Poll * pollsPerSleep)
	defer rhythm.Stop()
	p := s.newPass()
	for ctx.Err() == nil {
		if err := p.start(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("claiming webhook deliveries failed, retrying", "error", err)
			p.claimable = false
		}
		polls := rhythm.C // New deliveries are announced.
		if !p.isIdle {
			polls = time.After(s.o.Waits.Poll)
		}
		select {
		case <-ctx.Done():
		case <-wake:
			p.claimable = true
		case <-polls:
			p.claimable = true
		case d := <-p.done:
			p.ended(d)
		}
	}
	p.drain()
	return ctx.Err()
}

// Deliver makes every attempt that is due, and returns how many it made.
func (s *Service) Deliver(ctx context.Context) (done int, err error) {
	p := s.newPass()
	for {
		if err = p.start(ctx); err != nil || p.running == 0 {
			break
		}
		p.ended(<-p.done)
	}
	p.drain()
	return p.finished, err
}

// pass is what one loop has under way.
type pass struct {
	s          *Service
	done       chan claimed
	running    int
	struggling int
	finished   int
	claimable  bool // Claimable means that a delivery may be due.
	isIdle     bool // IsIdle means that no delivery waits, not even for a later time.
}

func (s *Service) newPass() *pass {
	return &pass{s: s, done: make(chan claimed, atOnceMax), claimable: true}
}

// start claims as many due deliveries as there are free slots, and sends them.
func (p *pass) start(ctx context.Context) error {
	if !p.claimable || p.running >= atOnceMax {
		return ctx.Err()
	}
	now := p.s.now()
	list, pending, err := p.s.claimDue(ctx, atOnceMax-p.running, max(0, strugglingMax-p.struggling), now, now.Add(p.s.o.Waits.Claim))
	if err != nil {
		return fmt.Errorf("webhook: claim: %w", err)
	}
	p.isIdle = !pending
	p.claimable = false // The pass claims again when an attempt ends, a wake-up arrives or time has passed.
	for _, c := range list {
		p.running++
		if c.Failing {
			p.struggling++
		}
		// goroutine: the pass owns it and reads its result; it ends with its attempt, which has a time limit.
		go func() {
			p.s.deliver(ctx, c)
			p.done <- c
		}()
	}
	return nil
}

// ended handles the end of an attempt, and of all others that have ended. Each frees a slot for a waiting delivery.
func (p *pass) ended(c claimed) {
	for {
		p.running--
		p.finished++
		if c.Failing {
			p.struggling--
		}
		p.claimable = true
		select {
		case c = <-p.done:
		default:
			return
		}
	}
}

// drain waits for what is under way.
func (p *pass) drain() {
	for p.running > 0 {
		p.ended(<-p.done)
	}
}

// deliver makes one attempt and records its result. An attempt that panics is made again when its claim has lapsed: it must not end
// the others.
func (s *Service) deliver(ctx context.Context, c claimed) {
	defer func() {
		if broken := recover(); broken != nil {
			s.o.Log.Error("panic in webhook attempt", "delivery_id", c.ID, "panic", broken, "stack", string(debug.Stack()))
		}
	}()
	s.counts.running.Add(1)
	defer s.counts.running.Add(-1)
	x, err := s.post(ctx, c.target, c.EventID, c.Body)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordMax)
	defer cancel()
	if err != nil { // The server stops: it is uncertain whether the receiver has the event, so it is sent again.
		if err := release(after, s.db, c); err != nil {
			s.o.Log.Warn("releasing webhook delivery failed, claim expires", "delivery_id", c.ID, "error", err)
		}
		return
	}
	now := s.now()
	v := s.decide(x, c.Tries+1, now)
	o, err := s.record(ctx, after, c, x, v, now)
	if err != nil {
		s.o.Log.Warn("recording webhook attempt failed, attempt repeats", "delivery_id", c.ID, "error", err)
		return
	}
	s.count(x, v, o)
}

// record writes the result of an attempt. It retries while a database that is busy or away may still answer, since an
// unrecorded event is sent twice. It does not retry when the server stops.
func (s *Service) record(ctx, within context.Context, c claimed, x Exchange, v verdict, now time.Time) (outcome, error) {
	for pause := recordPauseMin; ; pause *= 2 {
		o, err := s.finish(within, c, x, v, now)
		if err == nil || ctx.Err() != nil {
			return o, err
		}
		if app.Sleep(within, pause) != nil {
			return o, err
		}
	}
}

func (s *Service) count(x Exchange, v verdict, o outcome) {
	switch {
	case o.lost:
		s.counts.lost.Add(1)
		return
	case x.Succeeded():
		s.counts.delivered.Add(1)
	default:
		s.counts.failedAttempts.Add(1)
	}
	s.counts.attempts.Add(1)
	if o.disabled != "" {
		s.counts.disabled.Add(1)
	}
	if v.state == Failed || o.disabled != "" {
		s.counts.given.Add(1)
	}
}

// tell notifies the account of what happened to its endpoint, in the transaction in which it happens.
func (s *Service) tell(ctx context.Context, tx *sqlx.Tx, c claimed, o outcome) error {
	n := Notice{
		AccountID: c.AccountID, EndpointID: c.EndpointID, Name: o.name, Address: withoutQuery(c.URL), Disabled: o.disabled != "",
	}
	switch {
	case o.disabled == ByGone:
		n.Text = "It answered 410 Gone and was disabled. Enable it on the webhooks page when it is back."
	case o.disabled == ByFailures:
		n.Text = "It has only failed for 5 days and was disabled. " +
			"When your server is back, enable the endpoint on the webhooks page and resend missed events with Recover."
	case o.warned > 0:
		span := "a day"
		if o.warned > 1 {
			span = fmt.Sprintf("%d days", o.warned)
		}
		n.Text = "Every attempt to reach it has failed for " + span +
			" or more. It is disabled after 5 days."
	}
	if n.Text == "" {
		return nil
	}
	s.o.Log.Info("webhook endpoint notice", "account_id", c.AccountID, "endpoint_id", c.EndpointID,
		"disabled", o.disabled, "failing_days", o.warned)
	if s.o.Notify == nil {
		return nil
	}
	return s.o.Notify(ctx, tx, n)
}

// Sweep removes what is older than 30 days, and ends deliveries to endpoints that get nothing any more. It works in small
// batches, so that no statement holds its locks for long; what is left waits for the next one.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.now()
	for range sweepRoundsMax {
		removed, err := removeOld(ctx, s.db, now.Add(-retention), sweepBatchMax)
		if err != nil {
			return postgres.StoreError("webhook: remove old events", err)
		}
		cancelled, err := cancelStray(ctx, s.db, now, recoverBatchMax)
		if err != nil {
			return postgres.StoreError("webhook: end deliveries", err)
		}
		if removed == 0 && cancelled == 0 {
			return nil
		}
	}
	return nil
}
