package apikey

import (
	"context"
	"sync"
	"time"

	"umg/app/postgres"
	"umg/app/seal"
)

// These limits apply to the uses of keys that the cache stores.
const (
	usedFlushEvery = 10 * time.Second
	usedFlushMax   = 3 * time.Second
	usedBatchMax   = 1000
)

// Run keeps the cache fresh until ctx ends: it listens for changed keys, and stores when keys were used. It returns ctx's error.
func (r *Cache) Run(ctx context.Context, listener *postgres.Listener) error {
	var flushing sync.WaitGroup
	defer flushing.Wait()
	// goroutine: Run owns it and waits for it; it ends when ctx ends, after a last write.
	flushing.Go(func() { r.flushUse(ctx) })
	for n, lost := range listener.Listen(ctx, "keys") {
		if lost != nil {
			r.lost(lost)
		} else {
			r.heard(n.Payload)
		}
	}
	return ctx.Err()
}

// flushUse writes uses in batches until ctx ends, and once more then.
func (r *Cache) flushUse(ctx context.Context) {
	tick := time.NewTicker(usedFlushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.writeUse(context.WithoutCancel(ctx))
			return
		case <-tick.C:
			r.writeUse(ctx)
		}
	}
}

// writeUse stores the uses that were noted. Uses that the database does not take are lost, because they are only shown to people.
func (r *Cache) writeUse(ctx context.Context) {
	r.usedMu.Lock()
	used := r.used
	r.used = map[seal.Fingerprint]secretUse{}
	networks := r.networks
	r.networks = map[networkUse]time.Time{}
	r.usedMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, usedFlushMax)
	defer cancel()
	secrets, uses := make([]seal.Fingerprint, 0, min(len(used), usedBatchMax)), make([]secretUse, 0, min(len(used), usedBatchMax))
	for f, use := range used {
		secrets, uses = append(secrets, f), append(uses, use)
		if len(secrets) == usedBatchMax {
			if !r.writeBatch(ctx, secrets, uses) {
				return
			}
			secrets, uses = secrets[:0], uses[:0]
		}
	}
	if len(secrets) > 0 && !r.writeBatch(ctx, secrets, uses) {
		return
	}
	r.writeNetworks(ctx, networks)
}

func (r *Cache) writeBatch(ctx context.Context, secrets []seal.Fingerprint, uses []secretUse) bool {
	if err := setSecretsUsed(ctx, r.db, secrets, uses); err != nil {
		r.o.Log.Warn("key cache: writing last use failed", "keys", len(secrets), "error", err)
		return false
	}
	return true
}
