package library_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
)

// A catalog of the whole library may take this much.
const (
	wholeApplyMax   = 2 * time.Second
	wholeInForceMax = time.Second
	wholeBytesMax   = 20 << 20
	wholeReplicas   = 3
	// wholeTries is how often the times are measured at most. The best ones count, because tests run beside others.
	wholeTries = 10
)

// TestTheWholeLibraryIsInForceSoon applies every priced model of all presets, which three replicas then serve, and measures both.
func TestTheWholeLibraryIsInForceSoon(t *testing.T) {
	db := pgtest.New(t)
	dsn := pgtest.DSN(t, db)
	text, err := wholeCatalog(t, true).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	file, err := catalog.ParseFile(text)
	if err != nil {
		t.Fatal(err)
	}
	before := heapBytes()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { stop(); running.Wait() })
	replicas := make([]*catalog.Catalog, wholeReplicas)
	for i := range replicas {
		replicas[i], err = catalog.Open(ctx, db, catalog.Options{
			Now: time.Now, Secrets: func(string) (string, bool) { return "key", true }, Log: slog.New(slog.DiscardHandler),
			Traits: dialect.Traits, Replica: fmt.Sprintf("r%d", i),
		})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = replicas[i].Run(ctx, postgres.NewListener(dsn)) })
	}
	apply, inForce := time.Hour, time.Hour
	for try := range wholeTries {
		for i := range file.Models {
			file.Models[i].Description = fmt.Sprintf("Try %d.", try)
		}
		changed := make([]<-chan struct{}, wholeReplicas)
		for i, c := range replicas {
			changed[i] = c.Changed()
		}
		begin := time.Now()
		if err := catalog.ApplyAs(ctx, db, file, catalog.HistoryAction{BelowCost: true}); err != nil {
			t.Fatal(err)
		}
		applied := time.Now()
		for _, c := range changed {
			<-c
		}
		apply, inForce = min(apply, applied.Sub(begin)), min(inForce, time.Since(applied))
		if apply <= wholeApplyMax && inForce <= wholeInForceMax {
			break
		}
	}
	for _, c := range replicas {
		if n := len(c.Snapshot().Models()); n != len(file.Models) {
			t.Errorf("a replica has %d of %d models", n, len(file.Models))
		}
	}
	each := (heapBytes() - before) / wholeReplicas
	t.Logf("%d models in %d bytes: applied in %s, in force on %d replicas after %s, %d KiB each", len(file.Models), len(text), apply,
		wholeReplicas, inForce, each>>10)
	if apply > wholeSlowdown*wholeApplyMax || inForce > wholeSlowdown*wholeInForceMax || each > wholeBytesMax {
		t.Errorf("applied in %s of %s, in force after %s of %s, %d bytes of %d",
			apply, wholeApplyMax, inForce, wholeInForceMax, each, wholeBytesMax)
	}
	runtime.KeepAlive(replicas)
}

// heapBytes is what is in use after a collection.
func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
