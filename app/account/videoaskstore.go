package account

import (
	"context"

	"umg/app"
	"umg/app/postgres"
)

func videoAskOf(ctx context.Context, q postgres.Queryer, userID string) (app.Amount, error) {
	return postgres.Get[app.Amount](ctx, q, `select video_ask_above from users where id = $1`, userID)
}

func setVideoAsk(ctx context.Context, q postgres.Queryer, userID string, above app.Amount) error {
	return postgres.Exec(ctx, q, `update users set video_ask_above = $2 where id = $1`, userID, above)
}
