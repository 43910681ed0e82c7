package lease

import (
	"context"
	"sync"
)

// retryQueue holds settlements of delivered answers that neither the journal nor the ledger accepted yet. It has at most as many
// as calls were admitted.
type retryQueue struct {
	mu    sync.Mutex
	all   []pendingCall
	added chan struct{} // The applier waits for it.
}

func (l *retryQueue) add(p pendingCall) {
	l.mu.Lock()
	l.all = append(l.all, p)
	l.mu.Unlock()
	offer(l.added, struct{}{})
}

func (l *retryQueue) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

func (l *retryQueue) first() (pendingCall, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return pendingCall{}, false
	}
	return l.all[0], true
}

func (l *retryQueue) drop() {
	l.mu.Lock()
	l.all = l.all[1:]
	l.mu.Unlock()
}

// applyRetries retries the kept settlements one by one and in order, until the database fails again.
func (m *Manager) applyRetries(ctx context.Context) error {
	for {
		p, exists := m.retries.first()
		if !exists {
			return nil
		}
		err := m.applyDirectly(ctx, p.data)
		if err != nil && transient(err) {
			return err
		}
		if err != nil {
			m.quarantine(p.data, err)
		}
		m.retries.drop()
		m.counters.direct.Add(1)
		m.endSettle(p, p.cost, 0)
		if err != nil {
			p.call.markDoubtful()
		}
	}
}
