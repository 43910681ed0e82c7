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
	"umg/app/postgres"
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
	Health      *health.Monitor // Health knows what operators have paused. With nil, nothing is paused.
	Upstreams   *videoapi.Client
	Store       storage.Store
	Thumbnailer *media.Thumbnailer
	Events      *webhook.Service
	Egress      *egress.Client // Egress fetches reference images by address.
	Assets      *asset.Service // Calls may name these assets. With nil, they can name none.
	Now         app.Clock
	IDs         app.IDs
	Random      io.Reader           // Random is the source of callback tokens.
	Jitter      func(n int64) int64 // Jitter returns a number from 0 to n-1.
	Log         *slog.Logger
	Tracer      *telemetry.Tracer // A nil Tracer traces no calls.
	// IsSimulated reports whether a provider is a simulator, which makes faults on request. Nil means that none is.
	IsSimulated func(*catalog.Provider) bool
	BaseURL     string // Upstreams call back at this scheme and host.

	Retention  time.Duration // Content is kept for this time. Zero means 30 days.
	VerdictMax time.Duration // A job without a verdict ends after this time. Zero means 24 hours.
	Waits      Waits         // Waits that are zero take the defaults of production.
}

// Waits are the pauses of the worker, so that tests need not wait.
type Waits struct {
	// PicturesMax is how long pictures may keep a video waiting whose film is stored.
	PicturesMax time.Duration

	PollMin, PollMax time.Duration // These bound the time between two polls of a running job.
	RetryMin         time.Duration // RetryMin is the first pause after a fault. The pause doubles each time.
	CreateMax        time.Duration // The upstream must take a job within CreateMax.
	CopyMax          time.Duration // One copy of the content must end within CopyMax.
	StopMax          time.Duration // Running steps must end within StopMax when the gateway stops.
}

// Service runs video jobs. It is safe for concurrent use.
type Service struct {
	db       *sqlx.DB
	repeated *postgres.Repeated
	o        Options
	work     working
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
	return &Service{db: db, repeated: postgres.Repeat(db), o: o}
}
