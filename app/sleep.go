package app

import (
	"context"
	"time"
)

// Sleep waits for a time. It returns the error of ctx as soon as that has ended.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}
