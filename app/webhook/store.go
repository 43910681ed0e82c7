package webhook

import (
	"context"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

// insertEvent reports false when the object already has an event of the type.
func insertEvent(ctx context.Context, q postgres.Queryer, id string, e Event, body []byte, now time.Time) (bool, error) {
	done, err := q.ExecContext(ctx, `
		insert into webhook_events (id, account_id, type, object_id, body, created_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (type, object_id) do nothing`, id, e.AccountID, e.Type, e.ObjectID, body, now)
	return changed(done, err)
}

// listenersOf returns the endpoints that want the events of a type.
func listenersOf(ctx context.Context, q postgres.Queryer, accountID, eventType string) (ids []string, err error) {
	err = q.SelectContext(ctx, &ids, `
		select id from webhook_endpoints
		where account_id = $1 and deleted_at is null and status = 'enabled' and $2 = any(event_types) order by id limit $3`,
		accountID, eventType, endpointsMax)
	return ids, err
}

// insertDeliveries queues an event for endpoints and wakes the workers when the transaction is done.
func insertDeliveries(
	ctx context.Context, q postgres.Queryer, accountID, eventID string, ids, endpoints []string, now time.Time,
) error {
	_, err := q.ExecContext(ctx, `
		with made as (
			insert into webhook_deliveries (id, account_id, event_id, endpoint_id, due_at, created_at, updated_at)
			select d.id, $1, $2, d.endpoint, $5, $5, $5 from unnest($3::text[], $4::text[]) as d (id, endpoint)
			on conflict (event_id, endpoint_id) do nothing)
		select pg_notify('webhooks', '')`,
		accountID, eventID, pq.StringArray(ids), pq.StringArray(endpoints), now)
	return err
}

func changed(done interface{ RowsAffected() (int64, error) }, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}
