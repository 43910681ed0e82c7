package mail

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"umg/app/postgres"
	"umg/app/workqueue"
)

// These are the pace and the limits of attempts, and how long mails are kept.
const (
	pollEvery     = time.Second
	atOnceMax     = 8 // A replica makes this many attempts at once.
	claimFor      = 5 * time.Minute
	backOffMin    = time.Minute
	backOffMax    = 6 * time.Hour
	tryingMax     = 24 * time.Hour
	retention     = 7 * 24 * time.Hour
	sweepEvery    = 10 * time.Minute
	sweepBatchMax = 500
	sweepRounds   = 100
	recordMax     = 20 * time.Second // Storing the result of an attempt has this timeout.
	recordPause   = 100 * time.Millisecond
)

// Run delivers mails until ctx ends, and removes what is too old. Attempts under way when ctx ends are
// finished first, which takes at most 20 seconds and what it takes to write them down.
func (s *Service) Run(ctx context.Context) error {
	poll := pollEvery
	if s.o.SMTP == nil {
		poll = sweepEvery
	}
	workqueue.Run(ctx, s.o.Log,
		workqueue.Task{Name: "delete old mails", Every: sweepEvery, Work: workqueue.Repeat(s.Sweep)},
		workqueue.Task{Name: "send mails", Every: poll, Work: func(ctx context.Context) (more bool, err error) {
			sent, err := s.Deliver(ctx)
			return sent > 0, err
		}})
	return ctx.Err()
}

// Deliver makes one attempt at up to 8 mails that are due, and returns how many it made.
func (s *Service) Deliver(ctx context.Context) (int, error) {
	if s.o.SMTP == nil {
		return 0, nil
	}
	now := s.now()
	list, err := claim(ctx, s.db, atOnceMax, now, now.Add(claimFor))
	if err != nil {
		return 0, postgres.StoreError("mail: claim mails", err)
	}
	workqueue.Each(list, func(c *claimed) { s.attempt(ctx, *c) })
	return len(list), nil
}

// attempt sends one mail and stores the result. A shutdown does not cancel it, because a mail that the server has just accepted
// would be sent again.
func (s *Service) attempt(ctx context.Context, c claimed) {
	err := s.openBody(&c.Mail)
	if err == nil {
		err = s.transmit(context.WithoutCancel(ctx), c.Mail)
	}
	now := s.now()
	v := judge(c, err, now)
	switch v.state {
	case Sent:
		s.o.Log.Info("mail sent", "mail_id", c.ID, "kind", c.Kind, "attempts", c.Attempts)
	case Failed:
		s.o.Log.Warn("mail delivery failed, giving up", "mail_id", c.ID, "kind", c.Kind, "attempts", c.Attempts, "error", err)
	default:
		s.o.Log.Info("mail delivery failed, retrying",
			"mail_id", c.ID, "kind", c.Kind, "attempts", c.Attempts, "due_at", v.dueAt, "error", err)
	}
	if err := s.record(ctx, c, v, now); err != nil {
		s.o.Log.Warn("mail worker: storing attempt failed, mail will be sent again", "mail_id", c.ID, "error", err)
	}
}

// record stores the result of an attempt, and retries while the database is unavailable: a mail without a stored result is sent twice.
func (s *Service) record(ctx context.Context, c claimed, v sendResult, now time.Time) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordMax)
	defer cancel()
	for pause := recordPause; ; pause *= 2 {
		_, err := finish(within, s.db, c, v, now)
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-within.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// judge decides what follows from an attempt: what a server refuses for good is given up, all else is tried for a day.
func judge(c claimed, err error, now time.Time) sendResult {
	if err == nil {
		return sendResult{state: Sent}
	}
	v := sendResult{state: Failed, words: shortened(err.Error())}
	end := c.CreatedAt.Add(tryingMax)
	if _, final := errors.AsType[permanentError](err); final || !now.Before(end) {
		return v
	}
	due := now.Add(workqueue.Backoff(backOffMin, backOffMax, c.Attempts))
	if due.After(end) {
		due = end
	}
	v.state, v.dueAt = Queued, &due
	return v
}

// shortened makes a foreign error fit for the store and for a page.
func shortened(words string) string {
	words = strings.ToValidUTF8(words[:min(len(words), wordsMax)], string(utf8.RuneError))
	return strings.ReplaceAll(words, "\x00", string(utf8.RuneError))
}

// Sweep removes mails that ended more than 7 days ago, in small batches.
func (s *Service) Sweep(ctx context.Context) error {
	before := s.now().Add(-retention)
	_, err := workqueue.InBatches(sweepRounds, sweepBatchMax, func() (int64, error) {
		return postgres.ChangedRows(s.db.ExecContext(ctx, `
			delete from mails where id in (select id from mails where ended_at < $1 order by ended_at limit $2 for update skip locked)`,
			before, sweepBatchMax))
	})
	return postgres.StoreError("mail: remove old mails", err)
}
