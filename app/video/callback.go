package video

import (
	"context"
	"strings"
	"time"

	"umg/app"
)

const (
	wakeGap       = time.Second // between a look and the next, however often a provider calls
	tokenBytesMax = 128
	tokenChars    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" // the store is asked for no other
)

// Wake is what a callback does: the job of the token is looked at soon. What the caller says of it is not even read.
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
