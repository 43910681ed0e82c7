package harness

import (
	"testing"
	"time"
)

// ShortWaitMax is the limit, on a busy machine, of what usually takes milliseconds.
const ShortWaitMax = 3 * time.Second

// WaitFor waits until a condition holds and fails the test after CallTimeMax.
func (g *Gateway) WaitFor(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(CallTimeMax); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", CallTimeMax, what)
		}
	}
}

// WaitUntil waits until a condition holds and fails the test after RecoveryTimeMax.
func WaitUntil(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(RecoveryTimeMax); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not after %s: %s", RecoveryTimeMax, what)
		}
	}
}
