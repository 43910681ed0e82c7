package catalog

import (
	"context"
	"sync"
	"time"

	"umg/app/postgres"
)

// The interval of reloads covers a lost notification.
const (
	reloadEvery = 60 * time.Second
	reloadMax   = 10 * time.Second
)

// Run keeps the snapshot up to date until ctx ends. It reloads at once when a change is announced or the connection was lost, and every
// minute. It returns after its goroutines have ended.
func (c *Catalog) Run(ctx context.Context, listener *postgres.Listener) error {
	wake := make(chan struct{}, 1)
	var reloading sync.WaitGroup
	// goroutine: Run owns it and waits for it; it ends when ctx ends.
	reloading.Go(func() { c.reloadLoop(ctx, wake) })
	listener.Wake(ctx, channel, wake)
	reloading.Wait()
	return ctx.Err()
}

func (c *Catalog) reloadLoop(ctx context.Context, wake <-chan struct{}) {
	tick, seen := time.NewTicker(reloadEvery), time.NewTicker(seenEvery)
	defer tick.Stop()
	defer seen.Stop()
	defer c.deleteReport(ctx)
	lost := false
	for {
		err := c.reportVersion(ctx)
		if err != nil && !lost && ctx.Err() == nil {
			c.o.Log.Warn("catalog: reporting version failed, apply does not wait for this replica", "error", err)
		}
		lost = err != nil
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-tick.C:
		case <-seen.C:
			continue
		}
		if c.Snapshot().pricesDue(c.o.Now()) {
			if err := applyDuePrices(ctx, c.db); err != nil && ctx.Err() == nil {
				c.o.Log.Error("catalog: applying announced prices failed", "error", err)
			}
		}
		if err := c.reload(ctx); err != nil && ctx.Err() == nil {
			c.o.Log.Error("catalog reload failed, keeping previous snapshot", "error", err, "version", c.Snapshot().Version())
		}
	}
}
