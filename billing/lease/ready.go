package lease

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// These limits decide when a replica is not ready.
const (
	refusedMax   = 5 * time.Second // A replica that refuses every call for this long is not ready.
	fencesMax    = 3               // This many fenced epochs within fencesWithin mean that another process has the replica's id.
	fencesWithin = time.Minute
)

// health records how the replica's epochs began and ended while its process lived.
type health struct {
	mu     sync.Mutex
	failed error           // This is the error of the last attempt to begin an epoch, or nil when it succeeded.
	since  time.Duration   // This is when the first failed attempt was made.
	fences []time.Duration // These are the times at which the last epochs were fenced, fencesMax at most.
}

// fenced records that an epoch ended before its time.
func (h *health) fenced(now time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.fences) == fencesMax {
		h.fences = h.fences[1:]
	}
	h.fences = append(h.fences, now)
}

// begun records the result of an attempt to begin an epoch.
func (h *health) begun(now time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil {
		h.since = now
	}
	h.failed = err
}

// lasting is a persistent reason for which the replica has no epoch of its own, or nil.
func (h *health) lasting(now time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.failed != nil && now-h.since >= refusedMax:
		return fmt.Errorf("lease: the replica could not begin a new run: %w", h.failed)
	case len(h.fences) == fencesMax && now-h.fences[0] < fencesWithin:
		return fmt.Errorf("lease: %d runs of this replica ended before their time within %v: another process uses its replica id",
			fencesMax, fencesWithin)
	}
	return nil
}

// Ready returns why this replica refuses every call for long. It returns nil while the replica takes calls or refuses them
// only for a moment. An unreachable database is not a reason while leases are valid.
func (m *Manager) Ready() error {
	b := m.table.Load()
	if b == nil {
		return errors.New("lease: the lease manager is not ready")
	}
	if m.o.Journal != nil {
		if err := m.o.Journal.Broken(); err != nil {
			return err
		}
	}
	now := m.mono()
	if err := m.health.lasting(now); err != nil {
		return err
	}
	if !b.over.Load() && !b.trusted(now-refusedMax) {
		return errors.New("lease: the database could not be reached for too long, so no lease is valid")
	}
	return nil
}
