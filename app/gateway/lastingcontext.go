package gateway

import (
	"context"
	"sync"
	"time"
)

// lastingContext outlasts the client of a call for a time. A settlement in the journal does not wait on its context, so the context
// and its timer are made only for those who do.
type lastingContext struct {
	call context.Context //nolint:containedctx // This is a context itself.
	most time.Duration   // The context lasts so long from the moment when it is needed.

	mu      sync.Mutex
	bounded context.Context //nolint:containedctx // It is nil before it is needed.
	cancel  context.CancelFunc
}

func (c *lastingContext) begin(call context.Context, most time.Duration) { c.call, c.most = call, most }

// end ends the context.
func (c *lastingContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// isStarted reports whether someone has the context of it.
func (c *lastingContext) isStarted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bounded != nil
}

func (c *lastingContext) start() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bounded == nil {
		c.bounded, c.cancel = context.WithTimeout(context.WithoutCancel(c.call), c.most)
	}
	return c.bounded
}

// Deadline is when the context ends.
func (c *lastingContext) Deadline() (deadline time.Time, ok bool) { return c.start().Deadline() }

// Done is closed when the context ends.
func (c *lastingContext) Done() <-chan struct{} { return c.start().Done() }

// Err is why the context has ended.
func (c *lastingContext) Err() error { return c.start().Err() }

// Value is the value of the call.
func (c *lastingContext) Value(key any) any { return c.start().Value(key) }
