package idempotency

import (
	"context"
	"time"

	"umg/app/postgres"
)

type entryRow struct {
	ResultID string `db:"result_id"`
	Hash     []byte `db:"body_hash"`
	Status   *int   `db:"status"`
	Answer   []byte `db:"answer"`
	mine     bool
}

// claim takes a key that is free, that has outlived its time, or whose request with the same body died, in one
// statement; else it reads whose it is.
func claim(ctx context.Context, q postgres.Queryer, r Request, hash []byte, now, until time.Time) (entryRow, error) {
	var taken []entryRow
	err := q.SelectContext(ctx, &taken, `
		insert into idempotency_keys as k (account_id, key, operation, body_hash, result_id, created_at, claimed_until)
		values ($1, $2, $3, $4, $5, $6, $7)
		on conflict (account_id, key, operation) do update set
			body_hash = excluded.body_hash, created_at = excluded.created_at, claimed_until = excluded.claimed_until,
			result_id = case when k.created_at <= $8 then excluded.result_id else k.result_id end, status = null, answer = null
		where k.created_at <= $8 or k.status is null and k.claimed_until <= $6 and k.body_hash = excluded.body_hash
		returning result_id, body_hash, status, answer`,
		r.AccountID, r.Key, r.Operation, hash, r.ResultID, now, until, now.Add(-keptFor))
	if err != nil {
		return entryRow{}, err
	}
	if len(taken) == 1 {
		taken[0].mine = true
		return taken[0], nil
	}
	var row entryRow
	err = q.GetContext(ctx, &row, `
		select result_id, body_hash, status, answer from idempotency_keys where account_id = $1 and key = $2 and operation = $3`,
		r.AccountID, r.Key, r.Operation)
	return row, err
}

func keep(ctx context.Context, q postgres.Queryer, r Request, a Answer) error {
	_, err := q.ExecContext(ctx, `
		update idempotency_keys set status = $4, answer = $5 where account_id = $1 and key = $2 and operation = $3 and status is null`,
		r.AccountID, r.Key, r.Operation, a.Status, a.Body)
	return err
}

func forget(ctx context.Context, q postgres.Queryer, r Request) error {
	_, err := q.ExecContext(ctx, `
		delete from idempotency_keys where account_id = $1 and key = $2 and operation = $3 and status is null`,
		r.AccountID, r.Key, r.Operation)
	return err
}

func sweep(ctx context.Context, q postgres.Queryer, before time.Time, rows int) error {
	_, err := q.ExecContext(ctx, `
		delete from idempotency_keys where ctid = any(array(select ctid from idempotency_keys where created_at < $1 limit $2))`, before, rows)
	return err
}
