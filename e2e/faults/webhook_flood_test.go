package faults

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"umg/e2e/harness"
)

// TestFaultWebhookFlood ends hundreds of jobs while their receiver refuses three attempts of ten, and kills the gateway in
// the middle: each event arrives, always under one id, and none is invented.
func TestFaultWebhookFlood(t *testing.T) {
	t.Parallel()
	harness.FloodWebhooks(t, harness.FloodEvents, func(m *harness.RestartingDemo) []string { return failSomeJobs(t, m, harness.FloodEvents) })
}

// failSomeJobs makes jobs that fail at once at their provider, and returns the ids.
func failSomeJobs(t *testing.T, m *harness.RestartingDemo, jobs int) []string {
	t.Helper()
	ids := make([]string, jobs)
	var all sync.WaitGroup
	var again atomic.Int64
	for worker := range harness.FloodClients {
		all.Go(func() {
			for i := worker; i < jobs && !t.Failed(); i += harness.FloodClients {
				ids[i] = m.CreateWithRetries(t, fmt.Sprintf("simulate: fail=server_error;render=0s\nevent %06d.", i), &again)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if n := again.Load(); n > 0 {
		t.Logf("%d creates were answered 503 by the busy store, and were sent again", n)
	}
	return ids
}
