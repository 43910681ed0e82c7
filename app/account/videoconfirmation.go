package account

import (
	"context"

	"umg/app"
	"umg/app/postgres"
)

// videoAskMax is the highest threshold that a user can set for confirming the price of videos.
const videoAskMax = 1_000_000 * app.Dollar

// VideoAskAbove is the price above which a user is asked before videos are made; zero asks each time.
func (s *Service) VideoAskAbove(ctx context.Context, userID string) (app.Amount, error) {
	above, err := postgres.Get[app.Amount](ctx, s.db, `select video_ask_above from users where id = $1`, userID)
	return above, personError(err)
}

// SetVideoAskAbove sets it.
func (s *Service) SetVideoAskAbove(ctx context.Context, userID string, above app.Amount) error {
	if above < 0 || above > videoAskMax {
		return app.InvalidRequest("video_ask_above", "The amount must be from $0, which asks each time, to $1,000,000.")
	}
	return postgres.StoreError("account: set when to ask about videos", postgres.Exec(ctx, s.db, `
		update users set video_ask_above = $2 where id = $1`, userID, above))
}
