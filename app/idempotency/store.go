package idempotency

import (
	"context"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

type entryRow struct {
	ResultID string `db:"result_id"`
	Hash     []byte `db:"body_hash"`
	Status   *int   `db:"status"`
	Prepared *int   `db:"prepared"`
	Answer   []byte `db:"answer"`
	mine     bool
}

// claim takes a key that is free, that has outlived its time, or whose request with the same body died, in one
// statement; else it reads whose it is. What a request that died had prepared stays.
func claim(ctx context.Context, q postgres.Queryer, r Request, hash []byte, now, until time.Time) (entryRow, error) {
	var taken []entryRow
	prepared, answer := r.prepared()
	err := q.SelectContext(ctx, &taken, `
		insert into idempotency_keys as k (account_id, key, operation, body_hash, result_id, created_at, claimed_until, prepared, answer)
		values ($1, $2, $3, $4, $5, $6, $7, $9, $10)
		on conflict (account_id, key, operation) do update set
			body_hash = excluded.body_hash, created_at = excluded.created_at, claimed_until = excluded.claimed_until, status = null,
			result_id = case when k.created_at <= $8 or $11 and k.prepared is null then excluded.result_id else k.result_id end,
			prepared = case when k.created_at <= $8 then excluded.prepared else coalesce(k.prepared, excluded.prepared) end,
			answer = case when k.created_at <= $8 then excluded.answer else coalesce(k.answer, excluded.answer) end
		where k.created_at <= $8 or k.status is null and k.claimed_until <= $6 and k.body_hash = excluded.body_hash
		returning result_id, body_hash, status, prepared, answer`,
		r.AccountID, r.Key, r.Operation, hash, r.ResultID, now, until, now.Add(-keptFor), prepared, answer, r.Fresh)
	if err != nil {
		return entryRow{}, err
	}
	if len(taken) == 1 {
		taken[0].mine = true
		return taken[0], nil
	}
	var row entryRow
	err = q.GetContext(ctx, &row, `
		select result_id, body_hash, status, prepared, answer from idempotency_keys where account_id = $1 and key = $2 and operation = $3`,
		r.AccountID, r.Key, r.Operation)
	return row, err
}

// prepare puts an answer beside a key that is still this request's, and reports whether it was.
func prepare(ctx context.Context, q postgres.Queryer, c *Claim, a Answer) (bool, error) {
	r := c.request
	result, err := q.ExecContext(ctx, `
		update idempotency_keys set prepared = $5, answer = $6
		where account_id = $1 and key = $2 and operation = $3 and result_id = $4 and status is null`,
		r.AccountID, r.Key, r.Operation, c.ResultID, a.Status, a.Body)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// finish makes what was prepared the answer.
func finish(ctx context.Context, q postgres.Queryer, c *Claim) error {
	r := c.request
	_, err := q.ExecContext(ctx, `
		update idempotency_keys set status = prepared
		where account_id = $1 and key = $2 and operation = $3 and result_id = $4 and status is null`,
		r.AccountID, r.Key, r.Operation, c.ResultID)
	return err
}

// renew keeps the claims of requests that still run.
func renew(ctx context.Context, q postgres.Queryer, claims []name, until time.Time) error {
	n := len(claims)
	accounts, keys, operations, results := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, c := range claims {
		accounts[i], keys[i], operations[i], results[i] = c.account, c.key, c.operation, c.result
	}
	_, err := q.ExecContext(ctx, `
		update idempotency_keys k set claimed_until = $5
		from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as c (account_id, key, operation, result_id)
		where k.account_id = c.account_id and k.key = c.key and k.operation = c.operation and k.result_id = c.result_id and k.status is null`,
		pq.Array(accounts), pq.Array(keys), pq.Array(operations), pq.Array(results), until)
	return err
}

func keep(ctx context.Context, q postgres.Queryer, c *Claim, a Answer) error {
	r := c.request
	_, err := q.ExecContext(ctx, `
		update idempotency_keys set status = $5, answer = $6
		where account_id = $1 and key = $2 and operation = $3 and result_id = $4 and status is null`,
		r.AccountID, r.Key, r.Operation, c.ResultID, a.Status, a.Body)
	return err
}

func forget(ctx context.Context, q postgres.Queryer, c *Claim) error {
	r := c.request
	_, err := q.ExecContext(ctx, `
		delete from idempotency_keys where account_id = $1 and key = $2 and operation = $3 and result_id = $4 and status is null`,
		r.AccountID, r.Key, r.Operation, c.ResultID)
	return err
}

func sweep(ctx context.Context, q postgres.Queryer, before time.Time, rows int) error {
	_, err := q.ExecContext(ctx, `
		delete from idempotency_keys where ctid = any(array(select ctid from idempotency_keys where created_at < $1 limit $2))`, before, rows)
	return err
}
