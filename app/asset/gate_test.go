package asset

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"umg/app"
)

func TestAGateLetsInSoManyAndNotAllOfOneAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(3, 2)
		enter := func(account string) func() {
			t.Helper()
			leave, err := g.enter(t.Context(), account)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		leave := []func(){enter("a"), enter("a")}
		began := time.Now()
		if _, err := g.enter(t.Context(), "a"); app.KindOf(err) != app.Unavailable || time.Since(began) != turnMax {
			t.Errorf("a third of one account: %v after %s", err, time.Since(began))
		}
		leave = append(leave, enter("b"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.enter(ctx, "c"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a fourth of all: %v", err)
		}
		time.AfterFunc(time.Second, leave[0])
		waiting := enter("a")
		if time.Since(began) != turnMax+2*time.Second {
			t.Errorf("a turn that was given back was had after %s", time.Since(began))
		}
		for range 10 { // Successive checks are not limited while another of the account runs.
			waiting()
			waiting = enter("a")
		}
		waiting()
		leave[1]()
		leave[2]()
		if len(g.accounts) != 0 || len(g.all) != 0 {
			t.Errorf("%d accounts and %d turns are kept", len(g.accounts), len(g.all))
		}
	})
}
