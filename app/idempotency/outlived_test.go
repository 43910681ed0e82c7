package idempotency_test

import (
	"testing"
	"time"
)

func TestARequestWhoseClaimExpiredReleasesNoOtherKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.begin(fresh("req_1"))
	b.now = b.now.Add(2 * time.Minute)
	b.begin(fresh("req_2"))
	if err := b.s.Forget(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	b.refuse(fresh("req_3"), "idempotency_in_progress")
}
