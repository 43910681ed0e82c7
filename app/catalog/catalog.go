package catalog

import (
	"context"
	_ "embed" // The default catalog is embedded.
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/llm"
	"umg/app/postgres"
)

//go:embed default.yaml
var defaultFile []byte

// Default is the catalog the gateway starts with, as a file.
func Default() []byte { return slices.Clone(defaultFile) }

// Options of a catalog. The first three are required.
type Options struct {
	Now app.Clock
	// Secrets finds the value of a ${NAME} reference, usually in the environment.
	Secrets SecretLookup
	Log     *slog.Logger

	// Sealed reads the sealed credentials by name. Without it there are none.
	Sealed func(context.Context) (map[string]SealedCredential, error)
	// CheckCredential returns why a credential cannot be used with a kind of auth. Its error has nothing of the value. It may be nil.
	CheckCredential func(Auth, Secret) error

	// Replica is the name under which this replica reports its version. AwaitReplicas does not wait for a replica without a name.
	Replica string

	// Traits returns what a style can express. Without it contracts do not depend on the styles of providers.
	Traits func(llm.Style) *llm.Traits
	// Extras lists what requests of a style may ask a provider to do beside answering, and what the gateway does with it.
	Extras func(llm.Style) []Extra
}

// Catalog holds the newest snapshot, which Run keeps up to date.
type Catalog struct {
	db        *sqlx.DB
	repeated  *postgres.Repeated
	o         Options
	contracts *contractBuilder
	snapshot  atomic.Pointer[Snapshot]

	mu sync.Mutex
	// changed is closed when the next snapshot is in place.
	changed chan struct{}
}

// Open reads the catalog from the database. An empty catalog is fine; an unreachable database is not.
func Open(ctx context.Context, db *sqlx.DB, o Options) (*Catalog, error) {
	app.RequireOptions("catalog.Open", map[string]bool{
		"Options.Now": o.Now != nil, "Options.Secrets": o.Secrets != nil, "Options.Log": o.Log != nil,
	})
	contracts, err := newContractBuilder(o)
	if err != nil {
		return nil, err
	}
	c := &Catalog{db: db, repeated: postgres.Repeat(db), o: o, contracts: contracts, changed: make(chan struct{})}
	if err := c.reload(ctx); err != nil || o.Replica == "" {
		return c, err
	}
	if err := c.reportVersion(ctx); err != nil {
		return nil, err
	}
	// An apply that ended before the report did not wait for this replica, so it reads the catalog again.
	return c, c.reload(ctx)
}

// Snapshot is the newest version. It costs one atomic load.
func (c *Catalog) Snapshot() *Snapshot { return c.snapshot.Load() }

// Changed returns a channel that is closed when a newer snapshot than the current one is in place. Call it before Snapshot, so that no
// change is missed.
func (c *Catalog) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// reload makes a new snapshot when the database has another version, when a sealed credential or the file of a credential has changed, or
// when a model of the current one was shut down. On any error the current one stays.
func (c *Catalog) reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reloadMax)
	defer cancel()
	if present := c.snapshot.Load(); present != nil {
		current, err := isCurrent(ctx, c.repeated, present)
		if err != nil || current && !present.hasNewlyEnded(c.o.Now()) && !present.hasChangedFiles() {
			return err
		}
	}
	s, err := load(ctx, c.db)
	if err != nil {
		return err
	}
	if c.o.Sealed != nil {
		if s.sealed, err = c.o.Sealed(ctx); err != nil {
			return err
		}
	}
	next, err := snapshotOf(s, c.snapshot.Load(), c.contracts, c.o)
	if err != nil {
		return err
	}
	c.warnUnusable(next)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.snapshot.Store(next)
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// warnUnusable logs each provider that this process cannot call, unless the current snapshot has the same reason.
func (c *Catalog) warnUnusable(next *Snapshot) {
	known := map[string]string{}
	if present := c.snapshot.Load(); present != nil {
		known = present.Unusable()
	}
	for _, p := range next.providers {
		if p.Unusable != "" && p.Unusable != known[p.ID] {
			c.o.Log.Warn("catalog: provider not usable from this server, skipping its routes", "provider", p.ID, "reason", p.Unusable)
		}
	}
}
