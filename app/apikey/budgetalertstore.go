package apikey

import (
	"context"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

// lockPassedBudgets reads budgets whose people were told something else than what is true of them, and keeps them for the
// transaction. Those that another replica has are left to it.
func lockPassedBudgets(ctx context.Context, q postgres.Queryer, limit int) ([]passedBudget, error) {
	return postgres.Select[passedBudget](ctx, q, `
		select b.key_id, b.account_id, k.name, k.last_four, coalesce(k.created_by, '') as created_by, b.limit_nanos, b.spent_nanos, b.period,
			b.period_start, r.reached, t.told
		from key_budgets b join api_keys k on k.id = b.key_id and k.deleted_at is null
			cross join lateral (
				select coalesce(max(a), 0) as reached from unnest(k.budget_alerts) a
				where b.spent_nanos::numeric * 100 >= b.limit_nanos::numeric * a) r
			cross join lateral (select case when b.alerted_start = b.period_start then b.alerted else 0 end as told) t
		where r.reached <> t.told
		order by b.key_id limit $1 for no key update of b skip locked`, limit)
}

func setBudgetTold(ctx context.Context, q postgres.Queryer, b passedBudget) error {
	return postgres.Exec(ctx, q, `
		update key_budgets set alerted = $3, alerted_start = $4 where account_id = $1 and key_id = $2`,
		b.AccountID, b.KeyID, b.Reached, b.Start)
}

const budgetPeopleMax = 20 // addresses of one alert

// budgetPeople are the addresses of the owners and admins, and of the maker of a key who is still a member, without those who
// chose no mails about budgets.
func budgetPeople(ctx context.Context, q postgres.Queryer, accountID, maker string) ([]string, error) {
	return postgres.Select[string](ctx, q, `
		select u.email from memberships m join users u on u.id = m.user_id
		where m.account_id = $1 and (m.role = any($2) or u.id = $3) and not exists (
			select 1 from notification_preferences c
			where c.user_id = u.id and c.account_id = m.account_id and c.event = $4 and not c.by_mail)
		order by m.created_at, u.id limit $5`, accountID, pq.Array([]app.Role{app.RoleOwner, app.RoleAdmin}), maker, budgetEvent, budgetPeopleMax)
}
