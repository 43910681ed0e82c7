package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnIdleReplicaIsMeasuredRarelyUntilACallEnters counts the measurements of Run by a fake clock.
func TestAnIdleReplicaIsMeasuredRarelyUntilACallEnters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{InFlightMax: 10})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		// A measurement stores how late goroutines are, which is never negative.
		measured := func(within time.Duration) bool {
			g.late.Store(-1)
			time.Sleep(within)
			synctest.Wait()
			return g.late.Load() >= 0
		}
		go func() { done <- g.Run(ctx) }()
		synctest.Wait()
		if measured(idleLookEvery - time.Millisecond) {
			t.Error("an idle replica was measured too early")
		}
		if !measured(2 * time.Millisecond) {
			t.Error("an idle replica was not measured in time")
		}
		p, err := g.Enter(false)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if !measured(lookEvery + time.Millisecond) {
				t.Error("a replica with a call was not measured")
			}
		}
		p.Leave()
		measured(lookEvery)
		for range 3 { // Short calls do not cause a measurement each.
			p, err := g.Enter(true)
			if err != nil {
				t.Fatal(err)
			}
			p.Leave()
			if measured(lookEvery / 4) {
				t.Error("a short call was measured at once")
			}
		}
		stop()
		if err := <-done; err == nil {
			t.Error("Run ended without the error of its context")
		}
	})
}
