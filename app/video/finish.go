package video

import (
	"context"
	"maps"
	"strings"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/meter"
	"umg/app/postgres"
	"umg/app/webhook"
	"umg/billing"
	"umg/billing/failpoint"
)

// jobResult is how a job ends.
type jobResult struct {
	to      State
	reason  billing.Reason
	problem Problem
	cost    app.Amount
	seconds int // This is the number of seconds that are charged.
	with    set // These are the other columns that change.
	purge   bool
}

// failure is the end of a job without a video.
func failure(reason billing.Reason, code, message string) jobResult {
	return jobResult{to: Failed, reason: reason, problem: Problem{Code: code, Message: message}}
}

// success is the end of a job whose video was made as long as it was asked for.
func success(r *jobRow) jobResult {
	return jobResult{to: Completed, reason: billing.ReasonVideoCompleted, cost: r.Hold, seconds: r.Seconds}
}

// faultDirective begins a prompt that asks a simulator for a fault.
const faultDirective = "simulate:"

// finish ends a job: its state, its charge and its event are one transaction. When another worker has ended the job
// first, finish does nothing.
func (s *Service) finish(ctx context.Context, r *jobRow, e jobResult) error {
	now, rule := s.now(), billing.RuleOf(e.reason)
	if rule.Charge != billing.ChargeSeconds {
		e.cost, e.seconds = 0, 0
	}
	with := set{
		"completed_at": now, "cost_nanos": int64(e.cost), "error_code": e.problem.Code, "error_message": e.problem.Message,
		"due_at": nil, "claimed_until": nil, "tries": 0,
	}
	event := webhook.VideoFailed
	if e.to == Completed {
		event = webhook.VideoCompleted
		with["progress"], with["expires_at"], with["due_at"] = 100, now.Add(s.o.Retention), now.Add(s.o.Retention)
	}
	if e.purge {
		with["due_at"] = now
	}
	maps.Copy(with, e.with)
	won := false
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		row, moved, err := move(ctx, tx, r.ID, e.to, with)
		if won = moved; err != nil || !moved {
			return err
		}
		record := row.record(now, rule)
		if p, isKnown := s.o.Snapshot().Provider(row.Provider); isKnown {
			record.Credential = p.CredentialID(0) // Calls about videos use the first credential alone.
			if s.o.IsSimulated != nil && s.o.IsSimulated(p) && strings.HasPrefix(row.Prompt, faultDirective) {
				record.AddFlag(billing.FlagRequestedFault)
			}
		}
		record.Usage[meter.Seconds] = int64(e.seconds) * millisecondsPerSecond
		if err := s.o.Ledger.SettleIn(ctx, tx, row.hold(), billing.Settlement{Cost: e.cost, Record: record}); err != nil {
			return err
		}
		switch {
		case row.DeletedAt != nil && row.PurgedAt != nil:
			return nil
		case row.DeletedAt != nil: // The id already answers 404, so no event is sent and the stored content is due for removal.
			_, err := tx.ExecContext(ctx, `update video_jobs set due_at = $2 where id = $1`, row.ID, now)
			return err
		}
		return s.o.Events.Emit(ctx, tx, webhook.Event{AccountID: row.AccountID, Type: event, ObjectID: row.ID})
	})
	if err == nil && won {
		failpoint.At(failpoint.C20)
		s.work.ended(e)
		s.o.Log.Info("video job ended", "video_id", r.ID, "account_id", r.AccountID, "model", r.Model, "provider", r.Provider,
			"state", e.to, "error_code", e.problem.Code, "cost_nanos", int64(e.cost), "duration_ms", now.Sub(r.CreatedAt).Milliseconds())
	}
	return postgres.StoreError("video: finish a job", err)
}
