package postgres

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestTheClockTellsTheTimeOfTheDatabase sets the local clock wrong by more and less than a second, also while it runs.
func TestTheClockTellsTheTimeOfTheDatabase(t *testing.T) {
	t.Parallel()
	db := openLocal(t, shared(t).DSN())
	var said bytes.Buffer
	var wrong time.Duration
	machine := func() time.Time { return time.Now().Add(wrong) }
	c, err := NewClock(t.Context(), db, machine, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong = range []time.Duration{0, 500 * 24 * time.Hour, -time.Hour, 1500 * time.Millisecond, 0} {
		if err := c.measure(t.Context()); err != nil {
			t.Fatal(err)
		}
		if off := time.Until(c.Now()).Abs(); off > differenceMax {
			t.Errorf("with a local clock that is wrong by %s the clock is wrong by %s", wrong, off)
		}
	}
	wrong = 100 * time.Millisecond
	if err := c.measure(t.Context()); err != nil || c.offset.Load() != 0 {
		t.Errorf("a difference of %s changed the clock by %d ns, %v", wrong, c.offset.Load(), err)
	}
	if n := strings.Count(said.String(), "clock: time of this machine"); n != 4 {
		t.Errorf("%d warnings, want one for each change:\n%s", n, said.String())
	}
}
