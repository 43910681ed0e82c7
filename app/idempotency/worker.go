package idempotency

import (
	"context"
	"time"
)

// Run removes what is older than 24 hours until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.o.Log.Warn("old idempotency keys wait for the store", "error", err)
			}
		}
	}
}
