package account

import (
	"context"
	"time"

	"umg/app/postgres"
)

// insertLimitRequest adds a request unless one is open. It answers with the factors of then.
func insertLimitRequest(ctx context.Context, q postgres.Queryer, r LimitRequest, userID string, times int) (LimitRequest, error) {
	err := q.QueryRowxContext(ctx, `
		insert into limit_requests (id, account_id, user_id, email, model, factor_then, factor, reason, state, created_at)
		select $1, a.id, $3, coalesce((select u.email from users u where u.id = $3), ''), $4, a.limit_factor,
			least(a.limit_factor::bigint * $5, $8)::integer, $6, 'open', $7
		from accounts a where a.id = $2
		on conflict (account_id) where state = 'open' do nothing
		returning email, factor_then, factor`,
		r.ID, r.AccountID, userID, r.Model, times, r.Reason, r.CreatedAt, limitFactorMax).Scan(&r.Email, &r.FactorThen, &r.Factor)
	return r, err
}

// selectLimitRequests lists those of an account, or with everybody's those of all accounts.
func selectLimitRequests(
	ctx context.Context, q postgres.Queryer, accountID string, everybodys bool, limit int,
) ([]LimitRequest, error) {
	return postgres.Select[LimitRequest](ctx, q, `
		select r.id, r.account_id, a.name as account, r.email, r.model, r.factor_then, r.factor, a.limit_factor as factor_now, r.reason,
			r.state, r.answer, r.answered_by, r.created_at, r.answered_at
		from limit_requests r join accounts a on a.id = r.account_id
		where $2 or r.account_id = $1 order by r.state = 'open' desc, r.created_at desc limit $3`, accountID, everybodys, limit)
}

func answerLimitRequest(
	ctx context.Context, q postgres.Queryer, id string, state LimitState, answer, by string, now time.Time,
) (accountID string, err error) {
	err = q.QueryRowxContext(ctx, `
		update limit_requests set state = $2, answer = $3, answered_by = $4, answered_at = $5 where id = $1 and state = 'open'
		returning account_id`, id, string(state), answer, by, now).Scan(&accountID)
	return accountID, err
}
