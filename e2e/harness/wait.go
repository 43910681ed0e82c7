package harness

import (
	"testing"
	"time"
)

// ShortWaitMax is how long a thing may take that takes milliseconds, on a busy machine.
const ShortWaitMax = 3 * time.Second

// WaitFor waits until a condition holds and fails the test when it does not in time.
func (g *Gateway) WaitFor(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(CallTimeMax); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", CallTimeMax, what)
		}
	}
}

// WaitUntil waits for something to be so.
func WaitUntil(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(RecoveryTimeMax); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not after %s: %s", RecoveryTimeMax, what)
		}
	}
}
