package video

import (
	"context"
	"strings"
	"time"

	"umg/app"
)

const (
	wakeGap       = time.Second // Callbacks cannot make polls of one job more frequent than this.
	tokenBytesMax = 128
	tokenChars    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" // Tokens have no other characters.
)

// Wake makes the job of a callback token due soon. The body of the callback is not read, because anyone could have sent it.
func (s *Service) Wake(ctx context.Context, token string) error {
	unknown := app.Errorf(app.NotFound, "callback_not_found", "No video job has this callback address.")
	if token == "" || len(token) > tokenBytesMax || strings.Trim(token, tokenChars) != "" {
		return unknown
	}
	known, err := wakeJob(ctx, s.db, token, s.now(), wakeGap)
	if err != nil {
		return err
	}
	if !known {
		return unknown
	}
	s.work.wake()
	return nil
}
