package lease

import (
	"testing"
	"testing/synctest"
	"time"

	"umg/app"
)

// TestAReconnectReturnsOnlyCreditThatWasRecalled has the notifications come back after a recall of one of two accounts. While the database
// does not say which, both return their credit, since another replica may refuse calls without it.
func TestAReconnectReturnsOnlyCreditThatWasRecalled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		ids := []string{"acc_asked", "acc_kept"}
		for _, id := range ids {
			r.books.books.open(id, false, false)
			r.books.books.grant(id, 1_000_000_000, 0)
		}
		r.start()
		t.Cleanup(func() { r.stop() })
		leased := func(id string) app.Amount {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			r.books.mu.Lock()
			defer r.books.mu.Unlock()
			return r.books.books.creditAccounts[id].held
		}
		for _, id := range ids {
			awayCall(t, r.manager, "req_"+id, id, time.Millisecond)
			if leased(id) == 0 {
				t.Fatalf("%s has no lease", id)
			}
		}
		r.books.mu.Lock()
		r.books.books.recall(Replica{}, ids[0])
		r.books.mu.Unlock()
		r.manager.recallMissed(t.Context())
		if asked, kept := leased(ids[0]), leased(ids[1]); asked != 0 || kept == 0 {
			t.Errorf("%d are leased of the account whose credit was recalled, and %d of the other", asked, kept)
		}
		r.books.goAway(true, 0)
		r.manager.recallMissed(t.Context())
		r.books.goAway(false, 0)
		if kept := leased(ids[1]); kept != 0 {
			t.Errorf("%d are leased, and it is not known whether they were recalled", kept)
		}
	})
}
