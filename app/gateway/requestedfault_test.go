package gateway_test

import (
	"testing"

	"umg/app/catalog"
	"umg/app/gateway"
	"umg/billing"
)

// TestAFaultIsRequestedOnlyOfASimulatorAndByTheFirstWords fails calls and reads whether their records say that the caller asked for it.
func TestAFaultIsRequestedOnlyOfASimulatorAndByTheFirstWords(t *testing.T) {
	t.Parallel()
	simulated := func(isSimulated bool) func(*gateway.Options) {
		return func(o *gateway.Options) { o.IsSimulated = func(*catalog.Provider) bool { return isSimulated } }
	}
	for name, c := range map[string]struct {
		isSimulated bool
		prompt      string
		want        bool
	}{
		"a directive to a simulator": {true, "simulate: status=500\ncount to 9", true},
		"a directive to a provider":  {false, "simulate: status=500\ncount to 9", false},
		"words about a directive":    {true, `Explain what simulate: status=500 does.`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, startMoney, simulated(c.isSimulated))
			if !c.want {
				b.fault("alpha", "status=500")
			}
			r, _, _ := b.generate(b.call("test/one", c.prompt, ""))
			u := b.record()
			if r.Reason != billing.ReasonUpstreamFailed || u.HasFlag(billing.FlagRequestedFault) != c.want {
				t.Errorf("it ended as %s with the flags %q, want the mark: %v", r.Reason, u.Flags, c.want)
			}
		})
	}
}
