package operator

import (
	"slices"
	"testing"

	"umg/app/catalog"
	"umg/app/provider/health"
	operatorpages "umg/views/operator"
)

// TestOperatorsSeeWhichReplicasCannotCallAProvider shows a reason once when it holds everywhere, and with the names of the
// replicas when others can call the provider.
func TestOperatorsSeeWhichReplicasCannotCallAProvider(t *testing.T) {
	t.Parallel()
	lacks := map[string]string{"north": "not set: KEY"}
	p := &catalog.Provider{ID: "north", Unusable: "not set: KEY"}
	for name, c := range map[string]struct {
		reports    []health.Report
		everywhere string
		on         []operatorpages.UnusableOn
	}{
		"nowhere":    {[]health.Report{{Replica: "a"}, {Replica: "b"}}, "", nil},
		"everywhere": {[]health.Report{{Replica: "a", Unusable: lacks}, {Replica: "b", Unusable: lacks}}, "not set: KEY", nil},
		"on one": {
			[]health.Report{{Replica: "a"}, {Replica: "b", Unusable: lacks}}, "", []operatorpages.UnusableOn{{Replica: "b", Reason: "not set: KEY"}},
		},
	} {
		everywhere, on := (&healthView{reports: c.reports}).unusable(p)
		if everywhere != c.everywhere || !slices.Equal(on, c.on) {
			t.Errorf("%s: %q and %v, want %q and %v", name, everywhere, on, c.everywhere, c.on)
		}
	}
}
