package notification

import (
	"context"
	"time"

	"umg/app/postgres"
)

// markNotified records that accounts which used a model since then are notified of a change, at most a batch of them, and returns them.
// Replicas that run it at the same time mark different ones.
func markNotified(ctx context.Context, q postgres.Queryer, model, change string, since, now time.Time) ([]string, error) {
	return postgres.Select[string](ctx, q, `
		with used as (
			select distinct u.account_id from usage_rollups u join accounts a on a.id = u.account_id
			where u.model = $1 and u.slot >= $3
				and not exists (select from price_notices n where n.account_id = u.account_id and n.model_id = $1 and n.change = $2)
			order by u.account_id limit $5
		)
		insert into price_notices (account_id, model_id, change, told_at) select account_id, $1, $2, $4 from used
		on conflict do nothing returning account_id`, model, change, since, now, batchMax)
}
