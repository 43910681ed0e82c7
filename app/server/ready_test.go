package server

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestAReplicaThatCannotRecordChargesIsNotReady stops one replica from recording charges. Calls must go to the other replicas.
func TestAReplicaThatCannotRecordChargesIsNotReady(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	s := start(t, func(o *Options) {
		o.Unfit = func() error {
			if broken.Load() {
				return errors.New("journal: it is dead")
			}
			return nil
		}
	})
	if r := call(t, "GET", s.ops+"/readyz", ""); r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.body)
	}
	broken.Store(true)
	if r := call(t, "GET", s.ops+"/readyz", ""); r.status != http.StatusServiceUnavailable || !strings.Contains(r.body, "journal: it is dead") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := call(t, "GET", s.ops+"/healthz", ""); r.status != http.StatusOK {
		t.Errorf("/healthz: %d", r.status)
	}
}
