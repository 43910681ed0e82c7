package stripe

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lib/pq"
	api "github.com/stripe/stripe-go/v76"

	"umg/app/postgres"
	"umg/app/workqueue"
)

// These limits apply to one pass.
const (
	sweepRowsMax     = 20 // One pass refreshes at most this many top-ups.
	autoRowsMax      = 20 // One pass charges cards of at most this many accounts.
	noticeRowsMax    = 50 // One pass notifies at most this many accounts.
	mailsMax         = 5  // At most this many members of an account get a mail.
	eventsMax        = 5000
	eventsLookback   = 72 * time.Hour // The first pass ever reads events this far back.
	eventsOverlap    = 10 * time.Minute
	eventsClaim      = 5 * time.Minute
	eventsKept       = 35 * 24 * time.Hour // Handled events are kept longer than Stripe lists them.
	eventsDeletedMax = 5000                // One statement deletes at most this many rows.
	eventsHalvingMax = 24
)

// Run refreshes open top-ups, reads events that never arrived, charges saved cards where credit is low and sends
// notifications, until ctx ends. Any number of replicas may run it.
func (s *Service) Run(ctx context.Context) error {
	r := rest{found: true}
	workqueue.Run(ctx, s.o.Log, workqueue.Task{Name: "payments", Every: s.o.Waits.Poll, Work: func(ctx context.Context) (bool, error) {
		if r.ends(s.o.Settled()) {
			r.found = s.runOnce(ctx)
		}
		return false, nil
	}})
	return nil
}

// rest leaves out every other pass while the last one found nothing and nothing is settled.
type rest struct {
	found, skipped bool
	settled        int64
}

// ends reports whether a pass is to be made. Settled counts the settlements of this process.
func (r *rest) ends(settled int64) bool {
	r.skipped = !r.skipped && !r.found && settled == r.settled
	r.settled = settled
	return !r.skipped
}

// runOnce does everything that is due once, and reports whether something was, or may have been. The next pass retries what failed.
func (s *Service) runOnce(ctx context.Context) (found bool) {
	var due struct{ Notices, Topups, Events, Charges bool }
	// Nearly every pass finds nothing, and one question costs much less than one for each step.
	err := s.polls.GetContext(ctx, &due, `
		select exists (select `+balanceCrossed+`) as notices, exists (select from topups where due_at <= $2) as topups,
			(select coalesce(min(due_at) <= $2, true) from payment_sweep) as events, exists (select `+cardDue+`) as charges`,
		int64(notifyBelowDefault), s.now())
	if found = err != nil; found && ctx.Err() == nil {
		s.o.Log.Warn("payment worker look failed", "error", err)
	}
	steps := []struct {
		due  bool
		name string
		do   func(context.Context) error
	}{
		{due.Notices, "notices", s.notify}, {due.Topups, "open top-ups", s.refreshDue}, {due.Events, "events", s.readEvents},
		{due.Charges, "automatic top-ups", s.chargeLowAccounts},
	}
	if s.api == nil { // The other steps ask Stripe.
		steps = steps[:1]
	}
	for _, step := range steps {
		if !step.due {
			continue
		}
		found = true
		if err := step.do(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("payment worker step failed", "step", step.name, "error", err)
		}
	}
	return found
}

// refreshDue refreshes the top-ups that are due.
func (s *Service) refreshDue(ctx context.Context) error {
	now := s.now()
	var rows []topupRow
	err := s.db.SelectContext(ctx, &rows, `
		update topups set due_at = $3 where id in (
			select id from topups where due_at <= $2 order by due_at limit $1 for update skip locked
		) returning `+topupColumns, sweepRowsMax, now, now.Add(s.o.Waits.Claim))
	if err != nil {
		return postgres.StoreError("stripe: claim top-ups", err)
	}
	for _, row := range rows {
		if row.Auto && row.State == Created && now.Sub(row.CreatedAt) < idempotencyMax {
			err = s.charge(ctx, row) // The outcome of the charge is unknown, and repeating it repeats the same charge.
		} else {
			err = s.refresh(ctx, row.ID, eventRef{})
		}
		if isUnavailable(err) || ctx.Err() != nil {
			return err // The other top-ups are due again when the claim expires.
		}
		if _, wrong := errors.AsType[amountMismatch](err); err != nil && !wrong && !errors.Is(err, errMissing) {
			s.o.Log.Warn("top-up refresh failed", "topup_id", row.ID, "error", err)
		}
	}
	return nil
}

// readEvents handles the events that were never received. A claim lets one replica do it at a time.
func (s *Service) readEvents(ctx context.Context) error {
	now := s.now()
	from, mine, err := s.claimEvents(ctx, now, now.Add(eventsClaim), now.Add(-eventsLookback))
	if err != nil || !mine {
		return postgres.StoreError("stripe: claim the list of events", err)
	}
	release := func(readUntil, due time.Time) error {
		_, err := s.db.ExecContext(ctx, `update payment_sweep set read_until = $1, due_at = $2`, readUntil, due)
		return postgres.StoreError("stripe: release events", err)
	}
	until, next := now, now.Add(s.o.Waits.Events)
	events, err := s.listEvents(ctx, from.Add(-eventsOverlap), &until)
	if err != nil {
		return errors.Join(err, release(from, next))
	}
	if events, err = s.unhandled(ctx, events); err != nil {
		return err
	}
	for _, e := range events {
		err := s.handle(ctx, e)
		if err != nil && !isUnavailable(err) && ctx.Err() == nil {
			s.o.Log.Error("stripe event handling failed", "event_id", e.ID, "type", e.Type, "error", err)
			continue
		}
		if err != nil {
			return errors.Join(err, release(from, next))
		}
	}
	if until.Before(now) {
		next = now // There are more events to read.
	}
	if err := release(until, next); err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, `
		delete from payment_events where id in (select id from payment_events where received_at < $1 limit $2)`,
		now.Add(-eventsKept), eventsDeletedMax)
	return postgres.StoreError("stripe: remove old events", err)
}

// listEvents reads the events of a period. When they exceed the limit, it shortens the period.
func (s *Service) listEvents(ctx context.Context, from time.Time, until *time.Time) (list []*api.Event, err error) {
	for range eventsHalvingMax {
		list = nil
		after, more := "", true
		for more && len(list) < eventsMax {
			var page []*api.Event
			if page, more, err = s.api.eventsSince(ctx, from, until.Add(time.Second), after); err != nil {
				return nil, err
			}
			if len(page) == 0 {
				break
			}
			list, after = append(list, page...), page[len(page)-1].ID
		}
		if !more || len(list) < eventsMax {
			return list, nil
		}
		*until = from.Add(until.Sub(from) / 2)
	}
	return nil, errors.New("stripe: too many events in one second")
}

func (s *Service) unhandled(ctx context.Context, events []*api.Event) (list []*api.Event, err error) {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	var known []string
	if err := s.db.SelectContext(ctx, &known, `select id from payment_events where id = any($1)`, pq.StringArray(ids)); err != nil {
		return nil, postgres.StoreError("stripe: look for events", err)
	}
	for _, e := range events {
		if !slices.Contains(known, e.ID) && validID(e.ID) && e.Data != nil {
			list = append(list, e)
		}
	}
	return list, nil
}
