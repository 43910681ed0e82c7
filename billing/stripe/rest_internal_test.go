package stripe

import "testing"

func TestPaymentsLookHalfAsOftenWhileNothingIsSettled(t *testing.T) {
	t.Parallel()
	r := rest{found: true}
	for i, pass := range []struct {
		settled     int64
		ends, found bool
	}{
		{0, true, false}, // The first pass looks, and finds nothing.
		{0, false, false},
		{0, true, false}, // Two passes in a row are never left out.
		{3, true, false},
		{9, true, false}, // Calls are settled.
		{9, false, false},
		{10, true, true},
		{10, true, false}, // The pass before found something.
		{10, false, false},
		{10, true, false},
	} {
		ends := r.ends(pass.settled)
		if ends != pass.ends {
			t.Errorf("pass %d after %d settlements: %t", i, pass.settled, ends)
		}
		if ends {
			r.found = pass.found
		}
	}
}
