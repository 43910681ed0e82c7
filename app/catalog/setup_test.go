package catalog

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
	"umg/app/postgres/pgtest"
)

// arrivalMax bounds the wait for something that is certain to come; only a broken build waits so long.
const arrivalMax = 20 * time.Second

func lookup(name string) (string, bool) {
	v, ok := map[string]string{
		"BASE": "http://127.0.0.1:9", "KEY": "hunter2", "UMG_SIMULATOR_URL": "http://127.0.0.1:9/", "UMG_SIMULATOR_KEY": "k",
	}[name]
	return v, ok
}

// bench is a database and a catalog on it, which follows changes until the test ends.
type bench struct {
	db  *sqlx.DB
	dsn string
	c   *Catalog
	log *safeBuffer
}

func setup(t *testing.T, secrets SecretLookup, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{db: pgtest.New(t), log: &safeBuffer{}}
	b.dsn = pgtest.DSN(t, b.db)
	b.c = b.replica(t, secrets, change...)
	return b
}

// replica opens one more catalog on the same database.
func (b *bench) replica(t *testing.T, secrets SecretLookup, change ...func(*Options)) *Catalog {
	t.Helper()
	o := Options{Now: time.Now, Secrets: secrets, Log: slog.New(slog.NewTextHandler(b.log, nil))}
	for _, one := range change {
		one(&o)
	}
	c, err := Open(t.Context(), b.db, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Run(ctx, postgres.NewListener(b.dsn))
	}()
	t.Cleanup(func() { stop(); <-ended })
	return c
}

func (b *bench) apply(t *testing.T, raw string) {
	t.Helper()
	if err := Apply(t.Context(), b.db, parse(t, raw)); err != nil {
		t.Fatal(err)
	}
}

// awaitVersion waits until the catalog holds at least the version that the database has now.
func (b *bench) awaitVersion(t *testing.T, c *Catalog) *Snapshot {
	t.Helper()
	want, err := version(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	late := time.After(arrivalMax)
	for {
		changed := c.Changed()
		if s := c.Snapshot(); s.Version() >= want {
			return s
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("version %d did not arrive; the catalog has %d\n%s", want, c.Snapshot().Version(), b.log)
		}
	}
}

// with is smallFile with pairs of texts replaced.
func with(t testing.TB, pairs ...string) string {
	t.Helper()
	raw := smallFile
	for i := 0; i < len(pairs); i += 2 {
		next := strings.Replace(raw, pairs[i], pairs[i+1], 1)
		if next == raw {
			t.Fatalf("%q is not in the file", pairs[i])
		}
		raw = next
	}
	return raw
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
