package gateway_test

import (
	"net/http"
	"testing"

	"umg/billing"
)

// TestACallWhosePathPanicsIsChargedWhatItDeliveredAndHoldsNothing panics in a write. The server recovers from a panic, so the hold must not
// outlive the call.
func TestACallWhosePathPanicsIsChargedWhatItDeliveredAndHoldsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		writes  int // Writes counts the writes that succeed.
		reason  billing.Reason
		charged bool
	}{
		{"before the first byte", 0, billing.ReasonCrashedUnanswered, false},
		{"midway", 2, billing.ReasonCrashed, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, startMoney)
			b.fault("alpha", "pace=5ms")
			s, writes := &sink{}, 0
			s.hook = func([]byte) error {
				if writes++; writes > c.writes {
					panic(http.ErrAbortHandler)
				}
				return nil
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic was swallowed")
					}
				}()
				_, _ = b.gateway.Generate(t.Context(), b.call("test/one", "count to 60", streamed), s)
			}()
			if got := b.manager.Stats(); got.Running != 0 || got.Reserved != 0 {
				t.Errorf("%d calls run and hold %s", got.Running, got.Reserved)
			}
			if r := b.record(); billing.Reason(r.Reason) != c.reason || (r.Cost > 0) != c.charged || b.balance().Posted != startMoney-r.Cost {
				t.Errorf("record %+v, balance %+v", r, b.balance())
			}
		})
	}
}
