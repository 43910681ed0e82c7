package asset

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/egress"
	"umg/app/postgres"
	"umg/app/provider/assetapi"
)

// These are the waits of production and the limits of a Service.
const (
	settleStandard = time.Minute
	firstStandard  = 2 * time.Second
	idleStandard   = time.Second

	storeMax     = 5 * time.Second
	idBytesMax   = 64
	textBytesMax = 200
)

// Options are the rooms around this one. All but the waits are required.
type Options struct {
	Egress    *egress.Client // Egress fetches sources.
	Snapshot  func() *catalog.Snapshot
	Upstreams *assetapi.Client
	Now       app.Clock
	IDs       app.IDs
	Log       *slog.Logger
	Jitter    func(n int64) int64 // Jitter returns a number from 0 to n-1.
	Waits     Waits               // Zero Waits are the defaults of production.
}

// Waits are the pauses of the worker, so that tests need not wait.
type Waits struct {
	Settle time.Duration // Settle is how long the worker leaves a create alone. It is longer than a create may run.
	First  time.Duration // First is the wait between a create and the first look at the upstream.
	Idle   time.Duration // Idle is the wait between two looks for assets that are due, but that others work on.
}

// Service keeps assets. It is safe for concurrent use.
type Service struct {
	db       *sqlx.DB
	repeated *postgres.Repeated
	o        Options
	audit    *audit.Log
	creates  *gate
	previews *gate
	wakes    chan struct{} // Wakes tells the worker that an asset is due.
	alarm    *time.Timer   // Alarm wakes the worker when the next asset is due.
}

// New makes a Service over a migrated store. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Service {
	app.RequireOptions("asset.New", map[string]bool{
		"db": db != nil, "Options.Egress": o.Egress != nil, "Options.Snapshot": o.Snapshot != nil, "Options.Upstreams": o.Upstreams != nil,
		"Options.Now": o.Now != nil, "Options.IDs.Now": o.IDs.Now != nil, "Options.IDs.Random": o.IDs.Random != nil,
		"Options.Log": o.Log != nil, "Options.Jitter": o.Jitter != nil,
	})
	o.Waits.Settle = cmp.Or(o.Waits.Settle, settleStandard)
	o.Waits.First = cmp.Or(o.Waits.First, firstStandard)
	o.Waits.Idle = cmp.Or(o.Waits.Idle, idleStandard)
	s := &Service{
		db: db, repeated: postgres.Repeat(db), o: o, audit: audit.New(db, o.Now, o.IDs), wakes: make(chan struct{}, 1),
		creates: newGate(createsMax, createsByAccountMax), previews: newGate(previewsMax, previewsByAccountMax),
	}
	s.alarm = time.AfterFunc(o.Waits.Idle, s.wake)
	return s
}

// now is the clock's time with the precision of the store.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Microsecond) }

// wake makes the worker of this process look at once for what is due.
func (s *Service) wake() {
	app.Wake(s.wakes)
}

// lasting is a context for the store that a caller who leaves does not end.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), storeMax)
}

// Peek is an asset as it was when its provider was last heard of.
func (s *Service) Peek(ctx context.Context, p app.Principal, id string) (Asset, error) {
	row, err := s.row(ctx, p.AccountID, id)
	return row.asset(), err
}

// row is one that the account sees. Foreign ones are unknown.
func (s *Service) row(ctx context.Context, accountID, id string) (assetRow, error) {
	if !plausible(id) {
		return assetRow{}, noAsset()
	}
	row, err := byID(ctx, s.db, accountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return assetRow{}, noAsset()
	}
	return row, postgres.StoreError("asset: read an asset", err)
}

// plausible spares the store what cannot be an id.
func plausible(id string) bool {
	return id != "" && len(id) <= idBytesMax && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
}

func noAsset() *app.Error {
	return app.Errorf(app.NotFound, "asset_not_found",
		"There is no such asset in this account. POST /v1/files/vendorx/assets/list lists those of your account.").At("asset_id")
}

// List is a page of the assets of an account, newest first, as they were when their provider was last heard of.
func (s *Service) List(ctx context.Context, p app.Principal, f Filter) (Page, error) {
	if f.Page == 0 {
		f.Page = 1
	}
	if f.Size == 0 {
		f.Size = PageSizeDefault
	}
	switch {
	case f.Page < 1:
		return Page{}, app.InvalidRequest("page", "page must be a whole number from 1.")
	case f.Size < 1 || f.Size > PageSizeMax:
		return Page{}, app.InvalidRequest("page_size", "page_size must be a whole number from 1 to %d.", PageSizeMax)
	}
	page := Page{Page: f.Page, Size: f.Size}
	for _, word := range []string{string(f.Kind), string(f.State), f.Text} {
		if len(word) > textBytesMax || !app.Storable(word) {
			return page, nil // No asset matches, so the database is not queried.
		}
	}
	rows, total, err := list(ctx, s.db, p.AccountID, f)
	if err != nil {
		return Page{}, postgres.StoreError("asset: list assets", err)
	}
	page.Total = total
	for i := range rows {
		page.Assets = append(page.Assets, rows[i].asset())
	}
	return page, nil
}

// Live is how many of its LiveMax assets an account has. One that is being created counts.
func (s *Service) Live(ctx context.Context, accountID string) (int, error) {
	n, err := live(ctx, s.db, accountID)
	return n, postgres.StoreError("asset: count assets", err)
}

// Delete hides an asset at once and for good. The worker has it removed upstream.
func (s *Service) Delete(ctx context.Context, p app.Principal, id string) error {
	if !plausible(id) {
		return noAsset()
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		// A look at the upstream that is under way loses its claim, so that it cannot put off the removal.
		row, err := postgres.Get[assetRow](ctx, tx, `
			update assets a set deleted_at = $3, updated_at = $3, due_at = $3, claimed_until = null, tries = 0
			where a.account_id = $1 and a.id = $2 and `+visible+` returning `+columns, p.AccountID, id, s.now())
		if errors.Is(err, sql.ErrNoRows) {
			return noAsset()
		}
		if err != nil {
			return err
		}
		return s.audit.Write(ctx, tx, p, audit.Event{Action: "asset.deleted", Object: id, Name: row.Name})
	})
	if err != nil {
		return postgres.StoreError("asset: delete an asset", err)
	}
	s.wake()
	return nil
}
