package video

import (
	"io"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/asset"
	"umg/app/catalog"
	"umg/app/egress"
	"umg/app/media"
	"umg/app/provider/health"
	"umg/app/provider/videoapi"
	"umg/app/ratelimit"
	"umg/app/storage"
	"umg/app/telemetry"
	"umg/app/webhook"
	"umg/billing"
)

const (
	retentionStandard = 30 * 24 * time.Hour
	verdictStandard   = 24 * time.Hour
)

// Options configure the service. All but Health, Assets, Tracer and the durations are required.
type Options struct {
	Ledger      *billing.Ledger
	Snapshot    func() *catalog.Snapshot
	Limits      *ratelimit.Limiter
	Health      *health.Monitor // knows what operators have paused; nil: nothing is
	Upstreams   *videoapi.Client
	Store       storage.Store
	Thumbnailer *media.Thumbnailer
	Events      *webhook.Service
	Egress      *egress.Client // for reference images by address
	Assets      *asset.Service // the assets that calls may name; nil means that none can be used
	Now         app.Clock
	IDs         app.IDs
	Random      io.Reader           // the source of callback tokens
	Jitter      func(n int64) int64 // a number from 0 to n-1
	Log         *slog.Logger
	Tracer      *telemetry.Tracer // nil where no calls are traced
	// IsSimulated reports whether a provider is a simulator, which makes faults on request. Nil means that none is.
	IsSimulated func(*catalog.Provider) bool
	BaseURL     string // scheme and host that upstreams call back at

	Retention  time.Duration // how long content is kept; zero: 30 days
	VerdictMax time.Duration // how long a job may go without a verdict; zero: 24 h
	Waits      Waits         // zero values take the defaults of production
}

// Waits are the pauses of the worker, so that tests need not wait.
type Waits struct {
	// PicturesMax is how long pictures may keep a video waiting whose film is stored.
	PicturesMax time.Duration

	PollMin, PollMax time.Duration // between two looks at a running job
	RetryMin         time.Duration // first pause after something went wrong, doubled each time
	CreateMax        time.Duration // for the upstream to take a job
	CopyMax          time.Duration // for one copy of the content
	StopMax          time.Duration // for running steps when the gateway stops
}

// Service runs video jobs. It is safe for concurrent use.
type Service struct {
	db   *sqlx.DB
	o    Options
	work working
}

// New makes the service. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Service {
	app.RequireOptions("video.New", map[string]bool{
		"db": db != nil, "Options.Ledger": o.Ledger != nil, "Options.Snapshot": o.Snapshot != nil, "Options.Limits": o.Limits != nil,
		"Options.Upstreams": o.Upstreams != nil, "Options.Store": o.Store != nil, "Options.Thumbnailer": o.Thumbnailer != nil,
		"Options.Events": o.Events != nil, "Options.Now": o.Now != nil, "Options.IDs.Now": o.IDs.Now != nil,
		"Options.Random": o.Random != nil, "Options.Jitter": o.Jitter != nil, "Options.Log": o.Log != nil, "Options.BaseURL": o.BaseURL != "",
	})
	if o.Retention == 0 {
		o.Retention = retentionStandard
	}
	if o.VerdictMax == 0 {
		o.VerdictMax = verdictStandard
	}
	if o.Health == nil {
		o.Health = health.New(health.Options{Now: o.Now, Random: func(n int) int { return int(o.Jitter(int64(n))) }})
	}
	return &Service{db: db, o: o}
}
