package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

const deliveryColumns = `d.id, d.endpoint_id, e.name as endpoint_name, d.event_id, v.type as event_type, v.object_id, d.state, d.attempts,
	d.due_at, coalesce(d.last_status, 0) as last_status, d.last_error, d.created_at, d.updated_at`

const deliveryFrom = `
	from webhook_deliveries d join webhook_events v on v.id = d.event_id join webhook_endpoints e on e.id = d.endpoint_id `

func deliveriesOf(ctx context.Context, q postgres.Queryer, accountID string, f DeliveryQuery) (list []Delivery, err error) {
	err = q.SelectContext(ctx, &list, `
		select `+deliveryColumns+deliveryFrom+`
		where d.account_id = $1 and ($2 = '' or d.endpoint_id = $2) and ($3 = '' or d.state = $3) and ($4 = '' or v.type = $4)
			and ($5 = '' or v.object_id = $5) and ($6 = '' or d.id < $6)
		order by d.id desc limit $7`,
		accountID, f.EndpointID, f.State, f.EventType, f.ObjectID, f.After, f.Limit)
	return list, err
}

func deliveryByID(ctx context.Context, q postgres.Queryer, accountID, id string) (Delivery, []byte, error) {
	var r struct {
		Delivery
		Body []byte `db:"body"`
	}
	err := q.GetContext(ctx, &r, `select `+deliveryColumns+`, v.body`+deliveryFrom+`where d.account_id = $1 and d.id = $2`, accountID, id)
	return r.Delivery, r.Body, err
}

func attemptsOf(ctx context.Context, q postgres.Queryer, accountID, id string) ([]Attempt, error) {
	var rows []struct {
		Number          int       `db:"number"`
		StartedAt       time.Time `db:"started_at"`
		DurationMS      int64     `db:"duration_ms"`
		URL             string    `db:"url"`
		RequestHeaders  string    `db:"request_headers"`
		Status          int       `db:"status"`
		ResponseHeaders string    `db:"response_headers"`
		ResponseBody    []byte    `db:"response_body"`
		Error           string    `db:"error"`
	}
	err := q.SelectContext(ctx, &rows, `
		select number, started_at, duration_ms, url, request_headers, coalesce(status, 0) as status, response_headers, response_body, error
		from webhook_attempts where account_id = $1 and delivery_id = $2 order by number desc limit $3`, accountID, id, attemptsShownMax)
	if err != nil {
		return nil, err
	}
	list := make([]Attempt, len(rows))
	for i, r := range rows {
		list[i] = Attempt{Number: r.Number, Exchange: Exchange{
			StartedAt: r.StartedAt, Duration: time.Duration(r.DurationMS) * time.Millisecond, URL: r.URL,
			Status: r.Status, ResponseBody: r.ResponseBody, Error: r.Error,
		}}
		if err := json.Unmarshal([]byte(r.RequestHeaders), &list[i].RequestHeaders); err != nil {
			return nil, fmt.Errorf("webhook: stored headers: %w", err)
		}
		if err := json.Unmarshal([]byte(r.ResponseHeaders), &list[i].ResponseHeaders); err != nil {
			return nil, fmt.Errorf("webhook: stored headers: %w", err)
		}
	}
	return list, nil
}

// attemptsShownMax is beyond what a delivery can have: what may be sent again by hand, and the schedule after it.
const attemptsShownMax = attemptsMax + len(schedule)

// endPause lets an endpoint be sent something although it asked for a pause.
func endPause(ctx context.Context, q postgres.Queryer, accountID, id string) error {
	_, err := q.ExecContext(ctx, `
		update webhook_endpoints set paused_until = null where account_id = $1 and id = $2 and paused_until is not null`, accountID, id)
	return err
}

// requeue makes a delivery due now. One whose attempt is under way waits for its outcome.
func requeue(ctx context.Context, q postgres.Queryer, accountID, id string, now time.Time) error {
	_, err := q.ExecContext(ctx, `
		with queued as (
			update webhook_deliveries set state = 'pending', due_at = $3, tries = case when state = 'pending' then tries else 0 end, updated_at = $3
			where account_id = $1 and id = $2)
		select pg_notify('webhooks', '')`, accountID, id, now)
	return err
}

// requeueSince queues what failed or was cancelled, and says how many.
func requeueSince(ctx context.Context, q postgres.Queryer, accountID, endpointID string, since, now time.Time) (int, error) {
	var n int
	err := q.GetContext(ctx, &n, `
		with again as (
			select d.id from webhook_deliveries d join webhook_events v on v.id = d.event_id
			where d.account_id = $1 and d.endpoint_id = $2 and d.state in ('failed', 'cancelled') and v.created_at >= $3
				and d.attempts < $6
			order by d.id limit $5 for update of d skip locked),
		queued as (
			update webhook_deliveries set state = 'pending', due_at = $4, tries = 0, updated_at = $4
			where id in (select id from again) returning 1),
		total as (select count(*) as n from queued)
		select n from total left join lateral (select pg_notify('webhooks', '') where n > 0) woken on true`,
		accountID, endpointID, since, now, recoverBatchMax, attemptsMax)
	return n, err
}

func knownEvent(ctx context.Context, q postgres.Queryer, accountID, id string) (known bool, err error) {
	err = q.GetContext(ctx, &known, `select exists (select from webhook_events where account_id = $1 and id = $2)`, accountID, id)
	return known, err
}

func eventsOf(ctx context.Context, q postgres.Queryer, accountID string, f EventQuery) (list []Recorded, err error) {
	err = q.SelectContext(ctx, &list, `
		select id, type, object_id, body, created_at from webhook_events
		where account_id = $1 and ($2 = '' or type = $2) and created_at >= $3
			and ($4 = '' or (created_at, id) > (select a.created_at, a.id from webhook_events a where a.account_id = $1 and a.id = $4))
		order by created_at, id limit $5`, accountID, f.Type, f.Since, f.After, f.Limit)
	return list, err
}

// eventsMissing are those of the types since a time that were never queued for the endpoint.
func eventsMissing(
	ctx context.Context, q postgres.Queryer, accountID, endpointID string, types []string, since time.Time,
) (ids []string, err error) {
	err = q.SelectContext(ctx, &ids, `
		select v.id from webhook_events v
		where v.account_id = $1 and v.created_at >= $4 and v.type = any($3)
			and not exists (select from webhook_deliveries d where d.event_id = v.id and d.endpoint_id = $2)
		order by v.created_at, v.id limit $5`, accountID, endpointID, pq.StringArray(types), since, recoverBatchMax)
	return ids, err
}

func insertMissing(ctx context.Context, q postgres.Queryer, accountID, endpointID string, ids, events []string, now time.Time) error {
	_, err := q.ExecContext(ctx, `
		with made as (
			insert into webhook_deliveries (id, account_id, event_id, endpoint_id, due_at, created_at, updated_at)
			select d.id, $1, d.event, $2, $5, $5, $5 from unnest($3::text[], $4::text[]) as d (id, event)
			on conflict (event_id, endpoint_id) do nothing)
		select pg_notify('webhooks', '')`,
		accountID, endpointID, pq.StringArray(ids), pq.StringArray(events), now)
	return err
}
