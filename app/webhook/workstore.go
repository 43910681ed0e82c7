package webhook

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// claimLock is the advisory lock under which replicas claim one after the other, so that what one has claimed counts
// for the bounds of the next.
const claimLock = 0x77656268

// claimed is a delivery that this replica may send until the claim ends. The end also tells this claim from a later one.
type claimed struct {
	target
	ID        string    `db:"id"`
	AccountID string    `db:"account_id"`
	EventID   string    `db:"event_id"`
	Body      []byte    `db:"body"`
	Attempts  int       `db:"attempts"`
	Tries     int       `db:"tries"`
	Until     time.Time `db:"claimed_until"`
	Failing   bool      `db:"failing"`
}

// claimDue claims deliveries that are due. It finds endpoints with pending deliveries by skipping through the index, so
// that a long queue of one endpoint does not slow the others. Each account and each endpoint has a limit of concurrent
// attempts, accounts take turns, and endpoints that have lately failed get at most struggling.
func (s *Service) claimDue(ctx context.Context, slots, struggling int, now, until time.Time) (list []claimed, pending bool, err error) {
	// Most looks of an idle worker find no delivery, and the claim costs the database thirty times as much as this question.
	err = s.repeated.GetContext(ctx, &pending, `select exists (select from webhook_deliveries where state = 'pending')`)
	if err != nil || !pending {
		return nil, pending, err
	}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock($1)`, claimLock); err != nil {
			return err
		}
		return tx.SelectContext(ctx, &list, claimSQL, now, until, slots, struggling, endpointAtOnceMax, accountAtOnceMax)
	})
	return list, pending, err
}

const claimSQL = `
	with recursive waiting (endpoint_id) as (
		(select endpoint_id from webhook_deliveries where state = 'pending' order by endpoint_id, due_at, id limit 1)
		union all
		select (select d.endpoint_id from webhook_deliveries d where d.state = 'pending' and d.endpoint_id > w.endpoint_id
			order by d.endpoint_id, d.due_at, d.id limit 1)
		from waiting w where w.endpoint_id is not null),
	busy as (
		select e.id, e.account_id, e.failing_since is not null as failing, e.paused_until is null or e.paused_until <= $1 as open,
			(select count(*) from webhook_deliveries c where c.endpoint_id = e.id and c.claimed_until > $1) as running
		from waiting w join webhook_endpoints e on e.id = w.endpoint_id join accounts a on a.id = e.account_id
		where e.status = 'enabled' and e.deleted_at is null and a.frozen_at is null),
	ready as (select *, sum(running) over (partition by account_id) as account_running from busy),
	due as (
		select d.id, d.due_at, r.failing,
			r.account_running + row_number() over (partition by r.account_id order by d.due_at, d.id) as nth
		from ready r cross join lateral (
			select p.id, p.due_at from webhook_deliveries p
			where p.endpoint_id = r.id and p.state = 'pending' and p.due_at <= $1 and (p.claimed_until is null or p.claimed_until <= $1)
			order by p.due_at, p.id limit greatest(0, $5 - r.running)) d
		where r.open),
	turns as (select *, row_number() over (partition by failing order by nth, due_at) as turn from due where nth <= $6),
	picked as (select id, failing from turns where not failing or turn <= $4 order by failing, nth, due_at limit $3),
	locked as (select d.id from webhook_deliveries d where d.id in (select id from picked) for update skip locked)
	update webhook_deliveries d set claimed_until = $2
	from locked l join picked p on p.id = l.id, webhook_endpoints e, webhook_events v
	where d.id = l.id and e.id = d.endpoint_id and v.id = d.event_id
	returning d.id, d.account_id, d.event_id, v.body, d.attempts, d.tries, d.claimed_until, p.failing,
		e.id as endpoint_id, e.url, e.secret, e.previous_secret, e.previous_valid_until`

// outcome is what the end of an attempt did to its endpoint.
type outcome struct {
	lost     bool   // Another replica has claimed the delivery, or it was cancelled.
	disabled string // Disabled is the reason why the endpoint was disabled, or empty.
	name     string // Name is the name of an endpoint that was disabled or whose owners get a mail.
	warned   int    // Warned is the number of days of failures in the notification, or zero.
}

// errLost ends the transaction of an attempt that does not count.
var errLost = errors.New("webhook: the delivery is no longer ours")

// finish writes an attempt and its consequences. It locks the endpoint's row before those of its deliveries, as all code
// does, so that no deadlock is possible.
func (s *Service) finish(ctx context.Context, c claimed, x Exchange, v verdict, now time.Time) (o outcome, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) (err error) {
		if x.Succeeded() {
			err = recordSuccess(ctx, tx, c.EndpointID)
		} else {
			o, err = recordFailure(ctx, tx, c.EndpointID, v, now)
		}
		if err != nil {
			return err
		}
		if o.disabled != "" {
			v.state, v.dueAt = Failed, nil
		}
		kept, err := endAttempt(ctx, tx, c, x, v, now)
		if err != nil {
			return err
		}
		if !kept {
			return errLost
		}
		if err := s.tell(ctx, tx, c, o); err != nil || o.disabled == "" {
			return err
		}
		why := []audit.Change{{Field: "reason", To: "It answered 410 Gone"}}
		if o.disabled == ByFailures {
			why[0].To = "Every delivery failed for 5 days"
		}
		if err := s.writeAudit(ctx, tx, app.Principal{AccountID: c.AccountID}, "webhook.disabled", c.EndpointID, o.name, why); err != nil {
			return err
		}
		return cancelDeliveries(ctx, tx, c.EndpointID, now)
	})
	if errors.Is(err, errLost) {
		return outcome{lost: true}, nil
	}
	return o, err
}

func recordSuccess(ctx context.Context, tx *sqlx.Tx, endpointID string) error {
	_, err := tx.ExecContext(ctx, `
		update webhook_endpoints set failing_since = null, warned_days = 0, paused_until = null
		where id = $1 and (failing_since is not null or paused_until is not null)`, endpointID)
	return err
}

// recordFailure remembers since when an endpoint fails, and disables it when it is gone or has failed for too long.
func recordFailure(ctx context.Context, tx *sqlx.Tx, endpointID string, v verdict, now time.Time) (outcome, error) {
	var e struct {
		Name         string    `db:"name"`
		FailingSince time.Time `db:"failing_since"`
		WarnedDays   int       `db:"warned_days"`
		Status       Status    `db:"status"`
	}
	err := tx.GetContext(ctx, &e, `
		update webhook_endpoints set failing_since = coalesce(failing_since, $2), paused_until = greatest(paused_until, $3)
		where id = $1 and deleted_at is null returning name, failing_since, warned_days, status`, endpointID, now, v.pauseUntil)
	if errors.Is(err, sql.ErrNoRows) {
		return outcome{}, errLost
	}
	if err != nil || e.Status == Disabled {
		return outcome{}, err
	}
	failing := now.Sub(e.FailingSince)
	switch {
	case v.gone:
		return outcome{disabled: ByGone, name: e.Name}, disable(ctx, tx, endpointID, ByGone, now)
	case failing >= failingMax:
		return outcome{disabled: ByFailures, name: e.Name}, disable(ctx, tx, endpointID, ByFailures, now)
	}
	for _, days := range warnings {
		if failing >= time.Duration(days)*24*time.Hour && e.WarnedDays < days {
			_, err := tx.ExecContext(ctx, `update webhook_endpoints set warned_days = $2 where id = $1`, endpointID, days)
			return outcome{warned: days, name: e.Name}, err
		}
	}
	return outcome{}, nil
}

// warnings are the days of failures after which the account is notified, the latest first.
var warnings = [...]int{3, 1}

func disable(ctx context.Context, tx *sqlx.Tx, endpointID, reason string, now time.Time) error {
	_, err := tx.ExecContext(ctx, `
		update webhook_endpoints set status = 'disabled', disabled_reason = $2, disabled_at = $3, updated_at = $3 where id = $1`,
		endpointID, reason, now)
	return err
}

// endAttempt writes the attempt and the new state of its delivery, or neither when another replica has claimed the delivery.
func endAttempt(ctx context.Context, tx *sqlx.Tx, c claimed, x Exchange, v verdict, now time.Time) (bool, error) {
	sent, err := json.Marshal(append([]Header{}, x.RequestHeaders...)) // The append makes an empty list instead of null.
	if err != nil {
		return false, fmt.Errorf("webhook: headers: %w", err)
	}
	got, err := json.Marshal(append([]Header{}, x.ResponseHeaders...))
	if err != nil {
		return false, fmt.Errorf("webhook: headers: %w", err)
	}
	done, err := tx.ExecContext(ctx, `
		with ended as (
			update webhook_deliveries set state = $3, due_at = $4, claimed_until = null, attempts = attempts + 1, tries = tries + 1,
				last_status = nullif($5, 0), last_error = $6, updated_at = $7
			where id = $1 and claimed_until = $2 and state = 'pending' returning id, attempts, account_id, endpoint_id)
		insert into webhook_attempts (delivery_id, number, account_id, endpoint_id, started_at, duration_ms, succeeded, url,
			request_headers, status, response_headers, response_body, error)
		select id, attempts, account_id, endpoint_id, $8::timestamptz, $9::bigint, $10::boolean, $11, $12::jsonb, nullif($5, 0), $13::jsonb,
			$14::bytea, $6
		from ended`,
		c.ID, c.Until, v.state, v.dueAt, x.Status, x.Error, now,
		x.StartedAt, x.Duration.Milliseconds(), x.Succeeded(), x.URL, string(sent), string(got), append([]byte{}, x.ResponseBody...))
	return changed(done, err)
}

// release gives a delivery back as it was, for another replica to take at once.
func release(ctx context.Context, q postgres.Queryer, c claimed) error {
	_, err := q.ExecContext(ctx, `update webhook_deliveries set claimed_until = null where id = $1 and claimed_until = $2`, c.ID, c.Until)
	return err
}

// removeOld deletes events that are too old, with their deliveries and attempts, and endpoints that were deleted before
// all of them. It returns how many rows it found.
func removeOld(ctx context.Context, q postgres.Queryer, before time.Time, limit int) (int64, error) {
	var total int64
	for _, query := range []string{
		`delete from webhook_events where id in (select id from webhook_events where created_at < $1 order by created_at limit $2)`,
		`delete from webhook_endpoints where id in (
			select e.id from webhook_endpoints e
			where e.deleted_at < $1 and not exists (select from webhook_deliveries d where d.endpoint_id = e.id) limit $2)`,
	} {
		done, err := q.ExecContext(ctx, query, before, limit)
		if err != nil {
			return total, err
		}
		n, err := done.RowsAffected()
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// cancelStray ends deliveries to endpoints that get nothing any more: those beyond the bound of cancelDeliveries, and
// those that were queued in the moment in which it was disabled.
func cancelStray(ctx context.Context, q postgres.Queryer, now time.Time, limit int) (int64, error) {
	done, err := q.ExecContext(ctx, `
		update webhook_deliveries set state = 'cancelled', due_at = null, claimed_until = null, updated_at = $1
		where id in (
			select d.id from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id
			where d.state = 'pending' and (e.status = 'disabled' or e.deleted_at is not null) limit $2 for update of d skip locked)`, now, limit)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}
