package admission

import (
	"testing"
	"time"
)

// looked is how many of a hundred looks are let in.
func looked(g *Controller) (n int) {
	for range 100 {
		if p, err := g.Enter(true); err == nil {
			n++
			p.Leave()
		}
	}
	return n
}

// TestLooksAreShedLastButShed makes a replica later and later: looks pass whole as long as it refuses fewer than most paid calls.
func TestLooksAreShedLastButShed(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 1000, Busy: 10, LateMax: 10 * time.Millisecond})
	fill(t, g, 10)
	for looks := 0; passed(g, true) > 5; looks++ {
		if n := looked(g); n != 100 {
			t.Fatalf("%d of a hundred looks pass while paid calls do", n)
		}
		if looks > 60+patience {
			t.Fatal("paid calls are never refused")
		}
		g.Look(Sample{Queued: 60 * time.Millisecond, Waited: 1000})
	}
	for range 100 {
		g.Look(Sample{Queued: 60 * time.Millisecond, Waited: 1000})
	}
	if n := looked(g); n < 10 || n > 50 {
		t.Errorf("of a hundred looks at a replica that stays late %d pass", n)
	}
	if g.RefusedLate() == 0 || passed(g, true) == 0 {
		t.Error("refused looks are not counted, or no paid call passes")
	}
}

// TestLooksOfOneAccountLeavePlacesToOthers opens looks that last.
func TestLooksOfOneAccountLeavePlacesToOthers(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 10})
	look := func(account string) (*Place, error) {
		p, err := g.Enter(true)
		if err != nil {
			return nil, err
		}
		if err := p.Admit(account, false, true); err != nil {
			p.Leave()
			return nil, err
		}
		return &p, nil
	}
	var in []*Place
	for range 6 {
		p, err := look("greedy")
		if err != nil {
			t.Fatalf("look %d: %v", len(in), err)
		}
		in = append(in, p)
	}
	_, err := look("greedy")
	wantRefusal(t, "looks for more than half of the places", err)
	if _, err := look("modest"); err != nil {
		t.Errorf("another account's look: %v", err)
	}
	for _, p := range in {
		p.Leave()
	}
	if g.InFlight() != 1 {
		t.Errorf("%d in flight", g.InFlight())
	}
	for range 5 {
		if _, err := enter(g, "calls", true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := look("calls"); err != nil {
		t.Errorf("a look of an account whose calls have their share: %v", err)
	}
}
