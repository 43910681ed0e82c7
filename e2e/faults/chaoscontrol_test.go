//go:build soak

package faults

import (
	"testing"
	"time"
)

// TestChaosFindsWhatIsLost lets the replicas make the two mistakes that lose charges, and insists that the comparison finds
// them: an answer that ends before its settlement is durable, and a cursor that moves before what it passes is applied.
func TestChaosFindsWhatIsLost(t *testing.T) {
	bin, err := failpointBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, mistake := range []string{"answer-first", "cursor-first"} {
		t.Run(mistake, func(t *testing.T) {
			c := newChaos(t, bin, chaosSize{kills: 60, answers: 5000, timeMax: time.Minute}, "UMG_CONTROL="+mistake)
			c.run(t)
			// The control injects errors that the run must find, so findings do not fail it.
			c.silent = true
			c.rest(t)
			v := c.compare(t)
			t.Logf("answers=%d kills=%d lost=%d", v.answers, c.kills.Load(), v.lost)
			if v.lost == 0 {
				t.Errorf("nothing was found after %d kills and %d answers", c.kills.Load(), v.answers)
			}
		})
	}
}
