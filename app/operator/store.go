package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

// accountColumns are those of an Account, of the tables that accountTables join.
const (
	accountColumns = `a.id, a.name, a.created_at, a.limit_factor, a.paid_at, a.frozen_at, a.frozen_reason, a.closed_at is not null as closed,
		c.posted_nanos, coalesce(r.owed_nanos, 0) as owed_nanos, coalesce(r.froze, false) as indebted,
		coalesce((
			select u.email from memberships m join users u on u.id = m.user_id where m.account_id = a.id and m.role = 'owner'
			order by m.created_at, m.user_id limit 1
		), '') as owner,
		(select count(*) from memberships m where m.account_id = a.id) as people`
	accountTables = ` from accounts a join credit_accounts c on c.id = a.id left join receivables r on r.account_id = a.id `
)

// selectAccounts lists accounts by their ids, which begin with the time they were made at, or by balance. No index keeps the
// balances in order: each charge would have to move its account in it.
func selectAccounts(ctx context.Context, q postgres.Queryer, query Query, limit int) (list []Account, err error) {
	where, args := []string{"true"}, []any{}
	narrow := func(condition string, values ...any) {
		places := make([]any, len(values))
		for i, value := range values {
			args = append(args, value)
			places[i] = len(args)
		}
		where = append(where, fmt.Sprintf(condition, places...))
	}
	switch query.State {
	case Frozen:
		narrow("a.frozen_at is not null and a.closed_at is null")
	case Owing:
		narrow("r.owed_nanos > 0")
	case Unpaid:
		narrow("a.paid_at is null and a.closed_at is null")
	}
	if query.Text != "" {
		narrow(`a.id in (
			select id from accounts where id = $%[1]d or position($%[1]d in lower(name)) > 0
			union
			select m.account_id from users u join memberships m on m.user_id = u.id where position($%[1]d in u.email) > 0)`, query.Text)
	}
	order := "a.id desc"
	if query.Sort == Balance {
		order = "c.posted_nanos desc, a.id desc"
	}
	switch {
	case query.After != "" && query.Sort == Balance:
		narrow("(c.posted_nanos, a.id) < ($%d, $%d)", int64(query.Below), query.After)
	case query.After != "":
		narrow("a.id < $%d", query.After)
	}
	args = append(args, limit)
	err = q.SelectContext(ctx, &list, `select `+accountColumns+` from (
			select a.*`+accountTables+`where `+strings.Join(where, " and ")+` order by `+order+fmt.Sprintf(` limit $%d`, len(args))+`
		) a join credit_accounts c on c.id = a.id left join receivables r on r.account_id = a.id order by `+order, args...)
	return list, err
}

func selectAccount(ctx context.Context, q postgres.Queryer, id string) (Account, error) {
	return postgres.Get[Account](ctx, q, `select `+accountColumns+accountTables+`where a.id = $1`, id)
}

func selectStanding(ctx context.Context, q postgres.Queryer, id, userID string) (AccountStatus, error) {
	return postgres.Get[AccountStatus](ctx, q, `
		select a.frozen_at is not null as frozen, coalesce(r.froze, false) as indebted, a.closed_at is not null as closed,
			exists (select from memberships m where m.account_id = a.id and m.user_id = $2) as own
		from accounts a left join receivables r on r.account_id = a.id where a.id = $1`, id, userID)
}

// selectFrozenBy is the operator who froze an account at that time.
func selectFrozenBy(ctx context.Context, q postgres.Queryer, id string, at time.Time) (string, error) {
	return postgres.Get[string](ctx, q, `
		select coalesce((
			select operator from operator_actions
			where account_id = $1 and action = 'freeze'
				and at between $2::timestamptz - interval '1 second' and $2::timestamptz + interval '1 second'
			order by at desc limit 1
		), '')`, id, at)
}

func selectSpent(ctx context.Context, q postgres.Queryer, ids []string, since time.Time) (map[string]app.Amount, error) {
	var rows []struct {
		ID    string     `db:"account_id"`
		Spent app.Amount `db:"spent"`
	}
	err := q.SelectContext(ctx, &rows, `
		select account_id, sum(cost_nanos)::bigint as spent from usage_rollups where account_id = any($1) and slot >= $2 group by 1`,
		pq.Array(ids), since)
	sums := make(map[string]app.Amount, len(rows))
	for _, r := range rows {
		sums[r.ID] = r.Spent
	}
	return sums, err
}

func selectPeople(ctx context.Context, q postgres.Queryer, accountID string, limit int) ([]Person, error) {
	return postgres.Select[Person](ctx, q, `
		select u.id, u.email, u.name, m.role, u.verified_at is not null as verified, t.enabled_at is not null as second_step, u.operator,
			m.created_at as joined_at, (select max(s.created_at) from sessions s where s.user_id = u.id) as signed_in_at
		from memberships m join users u on u.id = m.user_id left join totp_secrets t on t.user_id = u.id
		where m.account_id = $1 order by m.role <> 'owner', m.created_at, u.id limit $2`, accountID, limit)
}

func selectEntries(ctx context.Context, q postgres.Queryer, accountID string, limit int) ([]Entry, error) {
	return postgres.Select[Entry](ctx, q, `
		select e.id, e.transaction_id, t.kind, t.ref, e.amount_nanos, e.posted_after, coalesce(t.meta ->> 'reason', '') as reason,
			coalesce(t.meta ->> 'operator', '') as operator, t.at
		from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
		where e.account_id = $1 and e.posted_after is not null order by e.id desc limit $2`, accountID, limit)
}

// insertAdjustment marks an adjustment as made. It reports false when one of that name was made before.
func insertAdjustment(ctx context.Context, q postgres.Queryer, adjustment Adjustment, at time.Time) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		insert into operator_actions (idempotency_key, account_id, action, operator, at) values ($1, $2, $3, $4, $5)
		on conflict (idempotency_key) do nothing`,
		adjustment.Once, adjustment.AccountID, string(adjustment.Kind), adjustment.Operator, at))
}
