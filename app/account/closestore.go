package account

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

func accountByID(ctx context.Context, q postgres.Queryer, id string) (Account, error) {
	return postgres.Get[Account](ctx, q, `
		select a.id, a.name, a.created_at, a.limit_factor, a.frozen_at is not null as frozen, a.frozen_reason,
			(select count(*) from memberships m where m.account_id = a.id) as members,
			(select count(*) from memberships m where m.account_id = a.id and m.role = 'owner') as owners
		from accounts a where a.id = $1 and a.closed_at is null`, id)
}

// closeAccount waits for everything that is just beginning in the account, and lets nothing begin afterwards.
func closeAccount(ctx context.Context, q postgres.Queryer, id, name string, now time.Time) error {
	if _, err := q.ExecContext(ctx, `select from accounts where id = $1 for update`, id); err != nil {
		return err
	}
	return postgres.Exec(ctx, q, `
		with gone as (delete from invitations where account_id = $1)
		update accounts set name = $2, closed_at = $3, erase_due_at = $3 where id = $1`, id, name, now)
}

// endKeys deletes all keys of an account, and returns those that have a budget.
func endKeys(ctx context.Context, q postgres.Queryer, accountID string, now time.Time) (budgets []string, err error) {
	_, err = q.ExecContext(ctx, `
		update api_keys set deleted_at = coalesce(deleted_at, $2), name = 'deleted', addresses = '{}' where account_id = $1`, accountID, now)
	if err != nil {
		return nil, err
	}
	err = q.SelectContext(ctx, &budgets, `select key_id from key_budgets where account_id = $1 order by key_id`, accountID)
	return budgets, err
}

// eraseMembers ends all memberships of an account, and erases the users who then have no other account: their rows stay without
// personal data. It locks rows in one order, so that no user joins another account at the same time.
func eraseMembers(ctx context.Context, q postgres.Queryer, accountID string, users []string, now time.Time) error {
	for _, statement := range []string{
		`select from users where id = any($2) and $1 <> '' order by id for update`,
		`delete from memberships where account_id = $1 and user_id = any($2)`,
	} {
		if _, err := q.ExecContext(ctx, statement, accountID, pq.Array(users)); err != nil {
			return err
		}
	}
	var alone []string
	err := q.SelectContext(ctx, &alone, `
		select u.id from users u where u.id = any($1) and not exists (
			select from memberships m join accounts a on a.id = m.account_id where m.user_id = u.id and a.closed_at is null)`, pq.Array(users))
	if err != nil || len(alone) == 0 {
		return err
	}
	return postgres.Exec(ctx, q, `
		with s as (delete from sessions where user_id = any($1)), l as (delete from email_links where user_id = any($1)),
			c as (delete from change_links where user_id = any($1)), t as (delete from totp_secrets where user_id = any($1)),
			r as (delete from recovery_codes where user_id = any($1)),
			g as (update trials set network = '', domain = '' where user_id = any($1)),
			m as (update limit_requests set email = '' where user_id = any($1))
		update users set email = 'deleted-' || id || '@deleted.invalid', name = '', password_hash = '', password_changed_at = $2,
			verified_at = null, operator = false
		where id = any($1)`, pq.Array(alone), now)
}

// closedRow is an account that may have something left to erase.
type closedRow struct {
	ID       string    `db:"id"`
	ClosedAt time.Time `db:"closed_at"`
}

// endedKey is a key that endKey deleted.
type endedKey struct {
	Name   string `db:"name"`
	Budget bool   `db:"has_budget"`
}

// endKey locks and deletes one key of an account, with the networks it was used from. It reports false for a key that is deleted.
func endKey(ctx context.Context, q postgres.Queryer, accountID, id string, now time.Time) (k endedKey, found bool, err error) {
	err = q.GetContext(ctx, &k, `
		select k.name, exists (select from key_budgets b where b.key_id = k.id) as has_budget from api_keys k
		where k.account_id = $1 and k.id = $2 and k.deleted_at is null for no key update of k`, accountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return k, false, nil
	}
	if err != nil {
		return k, false, err
	}
	_, err = q.ExecContext(ctx, `
		with networks as (delete from key_networks where account_id = $1 and key_id = $2)
		update api_keys set deleted_at = $3 where account_id = $1 and id = $2`, accountID, id, now)
	return k, err == nil, err
}
