package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"umg/app/postgres"
)

// member opens a catalog that is waited for, and keeps it fresh until the test ends or stop is called.
func (b *bench) member(t *testing.T, name string) (c *Catalog, stop func()) {
	t.Helper()
	c, err := Open(t.Context(), b.db, Options{Now: time.Now, Secrets: lookup, Log: slog.New(slog.DiscardHandler), Replica: name})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Run(ctx, postgres.NewListener(b.dsn))
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return c, stop
}

// TestAnApplyIsInForceOnAllReplicasWhenItWasWaitedFor applies one catalog after the other and looks at each replica at once.
func TestAnApplyIsInForceOnAllReplicasWhenItWasWaitedFor(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	first, _ := b.member(t, "first")
	second, _ := b.member(t, "second")
	_, stop := b.member(t, "ended")
	stop()
	if _, err := b.db.ExecContext(t.Context(), `
		insert into catalog_replicas (replica, version, seen_at) values ('killed', 0, now() - interval '20 seconds')`); err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		f, err := ParseFile([]byte(smallFile))
		if err != nil {
			t.Fatal(err)
		}
		f.Models[0].Name = fmt.Sprint("Name ", round)
		if err := Apply(t.Context(), b.db, f); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), arrivalMax)
		behind, err := AwaitReplicas(ctx, b.db)
		cancel()
		if err != nil || len(behind) > 0 {
			t.Fatalf("round %d: behind are %v, %v", round, behind, err)
		}
		for name, c := range map[string]*Catalog{"first": first, "second": second} {
			if got := c.Snapshot().Models()[0].Name; got != f.Models[0].Name {
				t.Errorf("round %d: replica %s serves %s after the wait", round, name, got)
			}
		}
	}
}

// TestAReplicaThatDoesNotFollowIsNamed waits for one that runs and reports, but has stopped loading.
func TestAReplicaThatDoesNotFollowIsNamed(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.member(t, "healthy")
	b.apply(t, smallFile)
	if _, err := b.db.ExecContext(t.Context(), `insert into catalog_replicas (replica, version) values ('stuck', 0)`); err != nil {
		t.Fatal(err)
	}
	newest, err := version(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	for names := []string(nil); !slices.Equal(names, []string{"stuck"}); {
		if names, err = replicasBehind(t.Context(), b.db, newest); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if behind, err := AwaitReplicas(ctx, b.db); err != nil || !slices.Equal(behind, []string{"stuck"}) {
		t.Errorf("behind are %v, %v", behind, err)
	}
}

// TestNoReplicaCountsAsFollowingBeforeTheDatabaseSaysSo ends the time of the wait while the first query of the reports is blocked.
func TestNoReplicaCountsAsFollowingBeforeTheDatabaseSaysSo(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	tx, err := b.db.BeginTxx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), `lock table catalog_replicas in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if behind, err := AwaitReplicas(ctx, b.db); err == nil {
		t.Errorf("behind are %v, and no error", behind)
	}
}
