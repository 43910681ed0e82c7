package asset

import (
	"testing"
	"time"

	"umg/app/catalog"
)

// TestAssetsOfAProviderThatCannotBeCalledAreLeftToOtherReplicas has a replica without the provider's credential pass over
// what is due there, until the removal is given up.
func TestAssetsOfAProviderThatCannotBeCalledAreLeftToOtherReplicas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	seen, err := catalog.Open(t.Context(), b.db, catalog.Options{
		Now: b.clock.Now, Log: b.service.o.Log, Secrets: func(string) (string, bool) { return "", false },
	})
	b.must(err)
	blind := b.replica()
	blind.o.Snapshot = seen.Snapshot
	made := b.create("harbour.png")
	b.clock.Advance(followMost)
	if n, err := blind.work(t.Context()); err != nil || n != 0 {
		t.Fatalf("the replica followed %d assets, %v", n, err)
	}
	b.must(b.service.Delete(t.Context(), b.me, made.ID))
	if n, err := blind.work(t.Context()); err != nil || n != 0 {
		t.Fatalf("the replica removed %d assets, %v", n, err)
	}
	b.round()
	if b.rows() != 0 || b.keeper.kept() != 0 {
		t.Fatalf("%d rows and %d upstream after a round of the other replica", b.rows(), b.keeper.kept())
	}

	made = b.create("lighthouse.png")
	b.must(b.service.Delete(t.Context(), b.me, made.ID))
	b.clock.Advance(giveUpAge + othersMax + time.Minute)
	if n, err := blind.work(t.Context()); err != nil || n != 1 || b.rows() != 0 {
		t.Fatalf("a removal that no replica can do never ends: %d, %v, %d rows", n, err, b.rows())
	}
}
