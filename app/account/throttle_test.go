package account

import (
	"testing"
	"time"
)

func TestWaitsAreSaidInWordsAndNeverTooShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Millisecond: "1 second", 7001 * time.Millisecond: "8 seconds", 2 * time.Minute: "120 seconds",
		2*time.Minute + 1: "3 minutes", 2 * time.Hour: "120 minutes", 5*time.Hour + time.Minute: "6 hours",
	} {
		if got := spoken(d); got != want {
			t.Errorf("%v is %q, not %q", d, got, want)
		}
	}
}
