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

// claim takes a key that is free, that is older than 24 hours, or whose request with the same body died. Otherwise it reads the
// row of the key. The answer that a dead request prepared stays in the row.
func (s *Service) claim(ctx context.Context, r Request, hash []byte, now time.Time) (entryRow, error) {
	var prepared *int
	var answer []byte
	if r.Stream {
		prepared, answer = new(statusOK), []byte{}
	}
	var taken []entryRow
	err := s.db.SelectContext(ctx, &taken, `
		insert into idempotency_keys as k (account_id, key, operation, body_hash, result_id, created_at, claimed_until, prepared, answer)
		values ($1, $2, $3, $4, $5, $6, $7, $9, $10)
		on conflict (account_id, key, operation) do update set
			body_hash = excluded.body_hash, created_at = excluded.created_at, claimed_until = excluded.claimed_until, status = null,
			result_id = case when k.created_at <= $8 or $11 and k.prepared is null then excluded.result_id else k.result_id end,
			prepared = case when k.created_at <= $8 then excluded.prepared else coalesce(k.prepared, excluded.prepared) end,
			answer = case when k.created_at <= $8 then excluded.answer else coalesce(k.answer, excluded.answer) end
		where k.created_at <= $8 or k.status is null and k.claimed_until <= $6 and k.body_hash = excluded.body_hash
		returning result_id, body_hash, status, prepared, answer`,
		r.AccountID, r.Key, r.Operation, hash, r.ResultID, now, now.Add(claimMax), now.Add(-keptFor), prepared, answer, r.Fresh)
	if err != nil {
		return entryRow{}, err
	}
	if len(taken) == 1 {
		taken[0].mine = true
		return taken[0], nil
	}
	var row entryRow
	err = s.db.GetContext(ctx, &row, `
		select result_id, body_hash, status, prepared, answer from idempotency_keys where account_id = $1 and key = $2 and operation = $3`,
		r.AccountID, r.Key, r.Operation)
	return row, err
}

// change runs a statement on the row of a claim that has not ended. It returns false when another request has claimed the row.
// The arguments of the statement begin with $5.
func (s *Service) change(ctx context.Context, verb string, c Claim, statement string, args ...any) (mine bool, err error) {
	k := c.key()
	mine, err = postgres.Changed(s.db.ExecContext(ctx,
		statement+` where account_id = $1 and key = $2 and operation = $3 and result_id = $4 and status is null`,
		append([]any{k.account, k.key, k.operation, k.result}, args...)...))
	return mine, postgres.StoreError("idempotency: "+verb, err)
}

// renew extends claims of requests that still run.
func (s *Service) renew(ctx context.Context, claims []claimKey) error {
	n := len(claims)
	accounts, keys, operations, results := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, c := range claims {
		accounts[i], keys[i], operations[i], results[i] = c.account, c.key, c.operation, c.result
	}
	_, err := s.db.ExecContext(ctx, `
		update idempotency_keys k set claimed_until = $5
		from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as c (account_id, key, operation, result_id)
		where k.account_id = c.account_id and k.key = c.key and k.operation = c.operation and k.result_id = c.result_id and k.status is null`,
		pq.Array(accounts), pq.Array(keys), pq.Array(operations), pq.Array(results), s.o.Now().UTC().Add(claimMax))
	return postgres.StoreError("idempotency: renew", err)
}
