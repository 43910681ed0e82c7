package notification

import (
	"context"

	"umg/app/workqueue"
)

// Run calls Notify every few minutes until ctx ends. Any number of replicas may run it.
func (s *PriceChanges) Run(ctx context.Context) error {
	workqueue.Run(ctx, s.o.Log,
		workqueue.Task{Name: "send price changes", Every: pricesCheckedEvery, Work: workqueue.Repeat(s.Notify)})
	return nil
}
