package harness

import (
	"testing"
	"time"
)

func (g *Gateway) WaitFor(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(CallTimeMax); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", CallTimeMax, what)
		}
	}
}
