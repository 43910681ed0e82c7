package account

import (
	"context"

	"umg/app"
	"umg/app/postgres"
)

func videoAskOf(ctx context.Context, q postgres.Queryer, userID string) (above app.Amount, err error) {
	err = q.GetContext(ctx, &above, `select video_ask_above from users where id = $1`, userID)
	return above, err
}

func setVideoAsk(ctx context.Context, q postgres.Queryer, userID string, above app.Amount) error {
	_, err := q.ExecContext(ctx, `update users set video_ask_above = $2 where id = $1`, userID, above)
	return err
}
