package credential

import (
	"context"
	"sync"
)

// Fetches owns the requests for tokens of many sources, which run beside the calls that wait for them.
type Fetches struct {
	ctx     context.Context //nolint:containedctx // It lasts as long as its owner.
	cancel  context.CancelFunc
	mu      sync.Mutex
	running sync.WaitGroup
}

// NewFetches makes the owner of requests. Close ends them.
func NewFetches() *Fetches {
	f := &Fetches{}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// start runs a function unless Close was called. It reports whether the function runs.
func (f *Fetches) start(run func(context.Context)) bool {
	f.mu.Lock() // Close must not wait while a function is being added.
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return false
	}
	// goroutine: Fetches owns it, and it ends with its request, within fetchMax, or with Close.
	f.running.Go(func() { run(f.ctx) })
	return true
}

// Close ends the requests and waits for their ends. Later requests fail.
func (f *Fetches) Close() {
	f.mu.Lock()
	f.cancel()
	f.mu.Unlock()
	f.running.Wait()
}
