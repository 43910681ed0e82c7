package lease

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Limits of readiness.
const (
	refusedMax   = 5 * time.Second // a replica that refuses every call for so long is not ready
	fencesMax    = 3               // epochs that may end before their time
	fencesWithin = time.Minute
)

// health is what has become of the runs of a replica while its process lived.
type health struct {
	mu     sync.Mutex
	failed error           // of the last try to begin a new run; nil when it worked
	since  time.Duration   // of the first try that failed
	fences []time.Duration // when the last runs were over before their time, fencesMax of them
}

// fenced notes that a run is over before its time.
func (h *health) fenced(now time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.fences) == fencesMax {
		h.fences = h.fences[1:]
	}
	h.fences = append(h.fences, now)
}

// begun notes how a try to begin a new run ended.
func (h *health) begun(now time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil {
		h.since = now
	}
	h.failed = err
}

// lasting is what keeps the replica from a run of its own for long.
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

// Ready says why this replica refuses every call and will do so for long, and is nil while it takes calls or refuses them for a
// moment only. A database that cannot be reached is no such reason while leases are valid.
func (t *Till) Ready() error {
	b := t.book.Load()
	if b == nil {
		return errors.New("lease: the till is not open")
	}
	if t.o.Journal != nil {
		if err := t.o.Journal.Broken(); err != nil {
			return err
		}
	}
	now := t.mono()
	if err := t.health.lasting(now); err != nil {
		return err
	}
	if !b.over.Load() && !b.trusted(now-refusedMax) {
		return errors.New("lease: the books were not reached for too long, so no lease is valid")
	}
	return nil
}
