package asset

import (
	"context"
	"sync"
	"time"

	"umg/app"
)

// This many creates and previews run at once, and a further one waits for its turn for up to turnMax.
const (
	createsMax           = 64
	createsByAccountMax  = 16
	previewsMax          = 32
	previewsByAccountMax = 6
	turnMax              = 30 * time.Second
	turnRetry            = 2 * time.Second
)

// gate lets a number of calls in at once, and of those only some of one account, so that the slow sources of one do not
// stop the others. The rest wait.
type gate struct {
	all       chan struct{}
	ofAccount int

	mu       sync.Mutex
	accounts map[string]*turns
}

// turns are those of one account, kept as long as anybody has or wants one.
type turns struct {
	taken chan struct{}
	users int
}

func newGate(all, ofAccount int) *gate {
	return &gate{all: make(chan struct{}, all), ofAccount: ofAccount, accounts: map[string]*turns{}}
}

// enter waits for a turn. A caller that got a turn calls leave once.
func (g *gate) enter(ctx context.Context, accountID string) (leave func(), err error) {
	g.mu.Lock()
	t := g.accounts[accountID]
	if t == nil {
		t = &turns{taken: make(chan struct{}, g.ofAccount)}
		g.accounts[accountID] = t
	}
	t.users++
	g.mu.Unlock()
	wait := time.NewTimer(turnMax)
	defer wait.Stop()
	if err := take(ctx, t.taken, wait); err != nil {
		g.forget(accountID, t)
		return nil, err
	}
	if err := take(ctx, g.all, wait); err != nil {
		<-t.taken
		g.forget(accountID, t)
		return nil, err
	}
	return func() {
		<-g.all
		<-t.taken
		g.forget(accountID, t)
	}, nil
}

func take(ctx context.Context, places chan<- struct{}, wait *time.Timer) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return app.Errorf(app.Unavailable, "overloaded", "The service is looking at too many sources; try again shortly.").After(turnRetry)
	}
}

func (g *gate) forget(accountID string, t *turns) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(g.accounts, accountID)
	}
}
