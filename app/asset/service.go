package asset

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/egress"
	"umg/app/provider/material"
)

// Options are the rooms around this one. All but the waits are required.
type Options struct {
	Egress    *egress.Client // sources are looked at through it
	Snapshot  func() *catalog.Snapshot
	Upstreams *material.Client
	Now       app.Clock
	IDs       app.IDs
	Log       *slog.Logger
	Jitter    func(n int64) int64 // a number from 0 to n-1
	Waits     Waits               // zero values take the defaults of production
}

// Waits are the pauses of the worker, so that tests need not wait.
type Waits struct {
	Settle time.Duration // before the worker looks for what a create left behind; longer than a create may run
	First  time.Duration // between a create and the first look at the upstream
	Idle   time.Duration // between two looks for what is due
}

// Service keeps assets. It is safe for concurrent use.
type Service struct {
	db    *sqlx.DB
	o     Options
	audit *audit.Log
}

// New makes a Service over a migrated store. It panics when a room is missing, which is a mistake in the wiring.
func New(db *sqlx.DB, o Options) *Service {
	if db == nil || o.Egress == nil || o.Snapshot == nil || o.Upstreams == nil || o.Now == nil || o.IDs.Now == nil ||
		o.IDs.Random == nil || o.Log == nil || o.Jitter == nil {
		panic("asset: a room is missing")
	}
	return &Service{db: db, o: o, audit: audit.New(db, o.Now, o.IDs)}
}

// Create registers a source with the provider that keeps assets, and answers with the new asset in the state created.
func (s *Service) Create(ctx context.Context, p app.Principal, spec Spec) (Asset, error) {
	return Asset{}, s.unbuilt(ctx, p.AccountID, spec.ID)
}

// Get asks the provider how an asset is, keeps what it says and answers with it. Foreign ones are unknown.
func (s *Service) Get(ctx context.Context, p app.Principal, id string) (Asset, error) {
	return Asset{}, s.unbuilt(ctx, p.AccountID, id)
}

// Peek is an asset as it was when its provider was last heard of.
func (s *Service) Peek(ctx context.Context, p app.Principal, id string) (Asset, error) {
	return Asset{}, s.unbuilt(ctx, p.AccountID, id)
}

// List is a page of the assets of an account, newest first.
func (s *Service) List(ctx context.Context, p app.Principal, _ Filter) (Page, error) {
	return Page{}, s.unbuilt(ctx, p.AccountID, "")
}

// Delete hides an asset at once and for good. The worker has it removed upstream.
func (s *Service) Delete(ctx context.Context, p app.Principal, id string) error {
	return s.unbuilt(ctx, p.AccountID, id)
}

// Live is how many of its LiveMax assets an account has.
func (s *Service) Live(ctx context.Context, accountID string) (int, error) {
	return 0, s.unbuilt(ctx, accountID, "")
}

// References finds the assets that a video call names. All must be the account's and active; an error names the one
// that is not as asset_ids[i].
func (s *Service) References(ctx context.Context, p app.Principal, ids []string) ([]Reference, error) {
	return nil, s.unbuilt(ctx, p.AccountID, ids...)
}

// Open fetches the source of a picture, to be looked at. What came to be there since the picture was checked is checked
// again. The caller closes the body; size is -1 when the server does not say.
func (s *Service) Open(ctx context.Context, p app.Principal, id string) (body io.ReadCloser, mediaType string, size int64, err error) {
	return nil, "", 0, s.unbuilt(ctx, p.AccountID, id)
}

// Run works on what is due until ctx ends: it follows assets that are not ready, removes deleted ones upstream, and
// cleans up after creates that were cut.
func (s *Service) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (s *Service) unbuilt(_ context.Context, account string, ids ...string) error {
	s.o.Log.Warn("assets are not served yet", "account_id", account, "ids", ids, "log", s.audit != nil, "store", s.db != nil)
	return app.Errorf(app.Unavailable, "no_available_provider", "No provider keeps assets right now. Please try again later.")
}
