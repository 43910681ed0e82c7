package simulator

import (
	"context"
	"slices"
	"sync"
)

// signal wakes all waiters when something changes. The mutex of its owner guards it.
type signal struct{ ch chan struct{} }

// fire wakes all waiters. The mutex is held.
func (s *signal) fire() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// await waits until done, which runs under the mutex, says yes, or until ctx ends, and returns the last result of done.
func (s *signal) await(ctx context.Context, mu *sync.Mutex, done func() bool) bool {
	for {
		mu.Lock()
		if done() {
			mu.Unlock()
			return true
		}
		if s.ch == nil {
			s.ch = make(chan struct{})
		}
		changed := s.ch
		mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			mu.Lock()
			defer mu.Unlock()
			return done()
		}
	}
}

// gate keeps requests waiting until a test releases them, so that the test can gather as many as it wants.
type gate struct {
	mu       sync.Mutex
	holding  bool
	provider string // Only requests of this provider wait; empty means any.
	model    string
	waiting  []chan struct{} // The earliest request is first.
	changed  signal
}

// pass returns at once when nothing is held; otherwise it waits for the release, or for the client to leave.
func (g *gate) pass(ctx context.Context, forced bool, provider, model string) error {
	g.mu.Lock()
	held := g.holding && (g.provider == "" || g.provider == provider) && (g.model == "" || g.model == model)
	if !held && !forced {
		g.mu.Unlock()
		return nil
	}
	free := make(chan struct{})
	g.waiting = append(g.waiting, free)
	g.changed.fire()
	g.mu.Unlock()
	select {
	case <-free:
		return nil
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		g.waiting = slices.DeleteFunc(g.waiting, func(one chan struct{}) bool { return one == free })
		g.changed.fire()
		return ctx.Err()
	}
}

// hold makes every request from now on wait, or those of a provider and a model.
func (g *gate) hold(provider, model string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding, g.provider, g.model = true, provider, model
}

// release lets the first n waiting requests go and keeps holding; zero ends the hold and lets all go. It returns how many it let go.
func (g *gate) release(n int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n == 0 {
		g.holding = false
		n = len(g.waiting)
	}
	n = min(n, len(g.waiting))
	for _, free := range g.waiting[:n] {
		close(free)
	}
	g.waiting = append([]chan struct{}(nil), g.waiting[n:]...)
	g.changed.fire()
	return n
}

// await waits until so many requests wait, or ctx ends, and returns how many do.
func (g *gate) await(ctx context.Context, atLeast int) int {
	g.changed.await(ctx, &g.mu, func() bool { return len(g.waiting) >= atLeast })
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}
