package webhook

import (
	"context"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

const endpointColumns = `e.id, e.name, e.url, e.event_types, e.secret_hint, e.previous_valid_until, e.status, e.disabled_reason,
	e.disabled_at, e.failing_since, e.created_at, e.updated_at`

// endpointRow is an endpoint as the table holds it.
type endpointRow struct {
	Endpoint
	Types pq.StringArray `db:"event_types"`
}

func (r endpointRow) endpoint(now time.Time) Endpoint {
	e := r.Endpoint
	e.EventTypes = r.Types
	if e.PreviousUntil != nil && !now.Before(*e.PreviousUntil) {
		e.PreviousUntil = nil
	}
	return e
}

// insertEndpoint reports false when the account has as many as it may. The account's row is locked, so that creating
// several at once cannot pass the limit.
func insertEndpoint(ctx context.Context, tx postgres.Queryer, accountID string, e Endpoint, secret []byte) (bool, error) {
	if _, err := tx.ExecContext(ctx, `select 1 from accounts where id = $1 for no key update`, accountID); err != nil {
		return false, err
	}
	done, err := tx.ExecContext(ctx, `
		insert into webhook_endpoints (id, account_id, name, url, event_types, secret, secret_hint, created_at, updated_at)
		select $1, $2, $3, $4, $5, $6, $7, $8, $8
		where (select count(*) from webhook_endpoints where account_id = $2 and deleted_at is null) < $9`,
		e.ID, accountID, e.Name, e.URL, pq.StringArray(e.EventTypes), secret, e.SecretHint, e.CreatedAt, endpointsMax)
	return changed(done, err)
}

func endpointByID(ctx context.Context, q postgres.Queryer, accountID, id string) (r endpointRow, err error) {
	err = q.GetContext(ctx, &r, `
		select `+endpointColumns+` from webhook_endpoints e where e.account_id = $1 and e.id = $2 and e.deleted_at is null`, accountID, id)
	return r, err
}

// lockEndpoint reads an endpoint and keeps others from changing it in this transaction.
func lockEndpoint(ctx context.Context, tx postgres.Queryer, accountID, id string) (r endpointRow, err error) {
	err = tx.GetContext(ctx, &r, `
		select `+endpointColumns+` from webhook_endpoints e
		where e.account_id = $1 and e.id = $2 and e.deleted_at is null for no key update`, accountID, id)
	return r, err
}

// endpointsOf lists the newest first, from after on.
func endpointsOf(ctx context.Context, q postgres.Queryer, accountID, after string, limit int) (list []endpointRow, err error) {
	err = q.SelectContext(ctx, &list, `
		select `+endpointColumns+` from webhook_endpoints e
		where e.account_id = $1 and e.deleted_at is null and ($2 = '' or e.id < $2) order by e.id desc limit $3`, accountID, after, limit)
	return list, err
}

// updateEndpoint changes what is not null. Another address starts without the failures of the old one, and so does an
// endpoint that is enabled again. A change to what is there already is none.
func updateEndpoint(
	ctx context.Context, q postgres.Queryer, accountID, id string, c EndpointChange, now time.Time,
) (r endpointRow, err error) {
	var types any
	if c.EventTypes != nil {
		types = pq.StringArray(*c.EventTypes)
	}
	err = q.GetContext(ctx, &r, `
		update webhook_endpoints e set
			name = coalesce($3, name), url = coalesce($4, url), event_types = coalesce($5::text[], event_types),
			updated_at = case when coalesce($3, name) <> name or coalesce($4, url) <> url or coalesce($6, status) <> status
				or coalesce($5::text[], event_types) <> event_types then $7 else updated_at end,
			status = coalesce($6, status),
			disabled_at = case coalesce($6, status) when 'disabled' then coalesce(disabled_at, $7) end,
			disabled_reason = case when coalesce($6, status) = 'enabled' then '' when status = 'enabled' then 'user' else disabled_reason end,
			failing_since = case when $4 <> url or ($6 = 'enabled' and status = 'disabled') then null else failing_since end,
			paused_until = case when $4 <> url or ($6 = 'enabled' and status = 'disabled') then null else paused_until end,
			warned_days = case when $4 <> url or ($6 = 'enabled' and status = 'disabled') then 0 else warned_days end
		where e.account_id = $1 and e.id = $2 and e.deleted_at is null returning `+endpointColumns,
		accountID, id, c.Name, c.URL, types, c.Status, now)
	return r, err
}

// removeEndpoint hides an endpoint and forgets its secrets. It returns the endpoint's name.
func removeEndpoint(ctx context.Context, q postgres.Queryer, accountID, id string, now time.Time) (name string, err error) {
	err = q.GetContext(ctx, &name, `
		update webhook_endpoints set deleted_at = $3, updated_at = $3, secret = '', previous_secret = null, previous_valid_until = null
		where account_id = $1 and id = $2 and deleted_at is null returning name`, accountID, id, now)
	return name, err
}

// rotateSecret puts a new secret in. The old one stays beside it until then; a nil time drops it at once.
func rotateSecret(
	ctx context.Context, q postgres.Queryer, accountID, id string, secret []byte, hint string, oldUntil *time.Time, now time.Time,
) (r endpointRow, err error) {
	err = q.GetContext(ctx, &r, `
		update webhook_endpoints e set previous_secret = case when $5::timestamptz is not null then secret end, previous_valid_until = $5,
			secret = $3, secret_hint = $4, updated_at = $6
		where e.account_id = $1 and e.id = $2 and e.deleted_at is null returning `+endpointColumns,
		accountID, id, secret, hint, oldUntil, now)
	return r, err
}

// target is where and how something is sent.
type target struct {
	EndpointID    string     `db:"endpoint_id"`
	URL           string     `db:"url"`
	Secret        []byte     `db:"secret"`
	Previous      []byte     `db:"previous_secret"`
	PreviousUntil *time.Time `db:"previous_valid_until"`
	FrozenAt      *time.Time `db:"frozen_at"`
}

func targetOf(ctx context.Context, q postgres.Queryer, accountID, id string) (t target, err error) {
	err = q.GetContext(ctx, &t, `
		select e.id as endpoint_id, e.url, e.secret, e.previous_secret, e.previous_valid_until, a.frozen_at
		from webhook_endpoints e join accounts a on a.id = e.account_id
		where e.account_id = $1 and e.id = $2 and e.deleted_at is null`, accountID, id)
	return t, err
}

// cancelDeliveries ends what is on its way to an endpoint that gets nothing any more. What is beyond the bound is never
// sent either, and is ended by the next sweep.
func cancelDeliveries(ctx context.Context, q postgres.Queryer, endpointID string, now time.Time) error {
	_, err := q.ExecContext(ctx, `
		update webhook_deliveries set state = 'cancelled', due_at = null, claimed_until = null, updated_at = $2
		where id in (select id from webhook_deliveries where endpoint_id = $1 and state = 'pending' order by due_at limit $3)`,
		endpointID, now, cancelBatchMax)
	return err
}

func changed(done interface{ RowsAffected() (int64, error) }, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}
