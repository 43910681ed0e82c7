package account

import (
	"errors"
	"sync"
	"testing"

	"umg/app/postgres/pgtest"
)

// TestADatabaseTakesOneSecretKey lets replicas with keys of their own start on a new database at once: one of them is
// taken, and from then on only its key is.
func TestADatabaseTakesOneSecretKey(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	var refusals [8]error
	var starts sync.WaitGroup
	for i := range refusals {
		starts.Go(func() { refusals[i] = CheckSecretKey(t.Context(), db, [32]byte{byte(i + 1)}) })
	}
	starts.Wait()
	taken := -1
	for i, err := range refusals {
		switch {
		case err == nil && taken < 0:
			taken = i
		case err == nil:
			t.Errorf("the keys %d and %d were both taken", taken, i)
		case !errors.Is(err, ErrSecretKey):
			t.Error(err)
		}
	}
	if taken < 0 {
		t.Fatal("no key was taken")
	}
	own, other := [32]byte{byte(taken + 1)}, [32]byte{99}
	if err := CheckSecretKey(t.Context(), db, own); err != nil {
		t.Errorf("the key that was taken is refused later: %v", err)
	}
	if err := ReplaceSecretKey(t.Context(), db, other); err != nil {
		t.Fatal(err)
	}
	if err := CheckSecretKey(t.Context(), db, other); err != nil {
		t.Errorf("the new key is refused: %v", err)
	}
	if err := CheckSecretKey(t.Context(), db, own); !errors.Is(err, ErrSecretKey) {
		t.Errorf("the key that was replaced: %v", err)
	}
}
