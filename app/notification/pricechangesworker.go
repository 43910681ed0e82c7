package notification

import (
	"context"
	"time"
)

// Run calls Notify every few minutes until ctx ends. Any number of replicas may run it.
func (s *PriceChanges) Run(ctx context.Context) error {
	tick := time.NewTicker(pricesCheckedEvery)
	defer tick.Stop()
	for {
		if err := s.Notify(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("price notices: database error, retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
