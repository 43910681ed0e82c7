package usage

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"umg/app"
)

// TestLongReportsAreReadOneAfterTheOther takes the turn of one report. Another long one waits for it and gives up in the end, and short
// ones and those of sums never wait.
func TestLongReportsAreReadOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		long := Query{From: to.Add(-longReportRange - slotLength), To: to, Group: ByEndUser}
		r := &Reports{longReports: make(chan struct{}, longReportsMax)}
		done, err := r.waitForTurn(t.Context(), long)
		if err != nil {
			t.Fatal(err)
		}
		for name, q := range map[string]Query{
			"short": {From: to.Add(-longReportRange), To: to, Group: ByEndUser}, "of sums": {From: to.AddDate(-1, 0, 0), To: to, Group: ByModel},
		} {
			began := time.Now()
			if end, err := r.waitForTurn(t.Context(), q); err != nil || time.Since(began) != 0 {
				t.Errorf("the %s report waited %s: %v", name, time.Since(began), err)
			} else {
				end()
			}
		}
		began := time.Now()
		_, err = r.waitForTurn(t.Context(), long)
		if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Unavailable || time.Since(began) != longReportWaitMax {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		left, leave := context.WithCancel(t.Context())
		leave()
		_, err = r.waitForTurn(left, long)
		if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Canceled {
			t.Errorf("a client that left gets %v", err)
		}
		time.AfterFunc(time.Second, done)
		began = time.Now()
		if next, err := r.waitForTurn(t.Context(), long); err != nil || time.Since(began) != time.Second {
			t.Errorf("the next report waited %s: %v", time.Since(began), err)
		} else {
			next()
		}
	})
}
