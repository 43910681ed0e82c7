package idempotency

import (
	"context"
	"time"
)

// Run keeps the keys of running requests, and removes what is older than 24 hours, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	old, claims := time.NewTicker(sweepEvery), time.NewTicker(renewEvery)
	defer old.Stop()
	defer claims.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-old.C:
			err = s.Sweep(ctx)
		case <-claims.C:
			err = s.Renew(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.o.Log.Warn("idempotency worker: database unavailable, retrying", "error", err)
		}
	}
}
