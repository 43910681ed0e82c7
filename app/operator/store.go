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
	accountColumns = `a.id, a.name, a.created_at, a.limit_factor, a.paid_at, a.frozen_at, a.frozen_reason, a.uncharged,
		a.closed_at is not null as closed,
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

func selectStanding(ctx context.Context, q postgres.Queryer, id, userID string) (AccountStatus, error) {
	return postgres.Get[AccountStatus](ctx, q, `
		select a.frozen_at is not null as frozen, coalesce(r.froze, false) as indebted, a.closed_at is not null as closed,
			exists (select from memberships m where m.account_id = a.id and m.user_id = $2) as own
		from accounts a left join receivables r on r.account_id = a.id where a.id = $1`, id, userID)
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
