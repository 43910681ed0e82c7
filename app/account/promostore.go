package account

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
)

const promoColumns = `code, amount_nanos, redemptions_max, redeemed, credit_days, reason, created_by, created_at, expires_at, ended_by`

func insertPromo(ctx context.Context, q postgres.Queryer, p Promo) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		insert into promo_codes (code, amount_nanos, redemptions_max, credit_days, reason, created_by, created_at, expires_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (code) do nothing`,
		p.Code, int64(p.Amount), p.Times, p.Days, p.Reason, p.CreatedBy, p.CreatedAt, p.ExpiresAt.UTC()))
}

func selectPromos(ctx context.Context, q postgres.Queryer, limit int) ([]Promo, error) {
	return postgres.Select[Promo](ctx, q, `select `+promoColumns+` from promo_codes order by created_at desc, code limit $1`, limit)
}

func selectPromo(ctx context.Context, q postgres.Queryer, code string) (Promo, error) {
	return postgres.Get[Promo](ctx, q, `select `+promoColumns+` from promo_codes where code = $1`, code)
}

func endPromo(ctx context.Context, q postgres.Queryer, code, by string, now time.Time) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		update promo_codes set ended_by = case when expires_at > $2 then $3 else ended_by end, expires_at = least(expires_at, $2)
		where code = $1`, code, now, by))
}

func lockPromo(ctx context.Context, q postgres.Queryer, code string) (Promo, error) {
	return postgres.Get[Promo](ctx, q, `select `+promoColumns+` from promo_codes where code = $1 for update`, code)
}

func insertRedemption(ctx context.Context, q postgres.Queryer, code string, p app.Principal, now time.Time) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		insert into promo_redemptions (code, account_id, user_id, redeemed_at) values ($1, $2, $3, $4) on conflict do nothing`,
		code, p.AccountID, p.UserID, now))
}

func countRedemption(ctx context.Context, q postgres.Queryer, code string) error {
	return postgres.Exec(ctx, q, `update promo_codes set redeemed = redeemed + 1 where code = $1`, code)
}
