package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/egress"
	"umg/app/provider"
	"umg/app/provider/health"
	"umg/app/ratelimit"
	"umg/app/sse"
	"umg/app/telemetry"
	"umg/billing"
)

// These are the limits of a call. The timeouts of an upstream are those of its route.
const (
	attemptsMax       = 6
	keepAliveStandard = 15 * time.Second
	retryWaitStandard = 100 * time.Millisecond
	retryAfterMax     = 2 * time.Second // An upstream that asks for a longer wait is not retried.
	drainMax          = 250 * time.Millisecond
	silenceStandard   = 2 * time.Second
	batchBytes        = 1 << 10  // This is enough for a stream at the usual speed of a model.
	batchBytesMax     = 32 << 10 // This bounds the frames that are written together.
	memoryStandard    = 512 << 20
	keptStandard      = 64 << 20
)

// CreditManager manages the credit of calls: it holds, extends, checkpoints and settles.
type CreditManager interface {
	// Hold reserves credit for a call.
	Hold(ctx context.Context, q billing.HoldRequest) (billing.Hold, error)
	// Extend raises a hold by all of more.
	Extend(ctx context.Context, h *billing.Hold, more app.Amount) error
	// ExtendUpTo raises a hold by more, or by what there is of that.
	ExtendUpTo(ctx context.Context, h *billing.Hold, more app.Amount) error
	// Progress notes what a call has delivered, in case it never ends. It does not wait.
	Progress(h billing.Hold, s billing.Settlement)
	// Settle ends a hold and makes its charge durable.
	Settle(ctx context.Context, h billing.Hold, s billing.Settlement) error
}

// Options are the services that a call needs. CreditManager, Snapshot, Limits, Providers, Now and Random are required.
type Options struct {
	CreditManager CreditManager
	Snapshot      func() *catalog.Snapshot
	Limits        *ratelimit.Limiter
	Providers     *provider.Client
	Now           app.Clock
	Random        func(n int) int   // Random returns a number from 0 to n-1.
	Health        *health.Monitor   // Health is that of the providers; a new one when nil.
	Egress        *egress.Client    // Egress fetches images for providers that do not accept addresses; none is fetched when nil.
	Tracer        *telemetry.Tracer // Tracer is nil when calls are not traced.
	Rates         Rates             // Rates bound requests other than calls, and bodies.

	// Balance is for quotes. Nothing is quoted when it is nil.
	Balance func(ctx context.Context, accountID string) (billing.Balance, error)

	// Credit fails when the account or the key's budget has no credit for a hold. It reserves nothing. No credit is checked when nil.
	Credit func(ctx context.Context, q billing.HoldRequest) error

	KeepAlive time.Duration // KeepAlive is the silence after which a comment keeps a stream open; 15 s when zero.
	Silence   time.Duration // Silence is the wait for more frames after a frame that may be the last one; 2 s when zero.
	RetryWait time.Duration // RetryWait is the longest random wait before the same route is tried again; 100 ms when zero.
	Memory    *sse.Budget   // Memory bounds large frames and requests; 512 MiB when nil.
	// ReadOn is how long the answer to a client that has left is read on, at providers that make all of it anyway; a minute when zero.
	ReadOn time.Duration
	// EndUserKey makes the ids of end users for providers from those of accounts and their users, which stay as they are when it is nil.
	EndUserKey []byte
	// Log gets what an operator must act on; nothing is logged when it is nil.
	Log *slog.Logger
	// IsSimulated reports whether a provider is a simulator, which makes faults on request. Nil means that none is.
	IsSimulated func(*catalog.Provider) bool
	// Kept bounds the requests and answers that are kept so that another route can continue a cut stream; 64 MiB when nil.
	Kept *sse.Budget
}

// Gateway serves text calls.
type Gateway struct {
	o         Options
	minHolds  atomic.Pointer[minHolds]
	readingOn atomic.Int64 // ReadingOn counts the answers that are read on after their clients have left.
	unpriced  sync.Map     // Unpriced has the routes of which it was logged that they report something without a price.
}

// New makes a Gateway. It panics when a required option is missing.
func New(o Options) *Gateway {
	app.RequireOptions("gateway.New", map[string]bool{
		"Options.CreditManager": o.CreditManager != nil, "Options.Snapshot": o.Snapshot != nil, "Options.Limits": o.Limits != nil,
		"Options.Providers": o.Providers != nil, "Options.Now": o.Now != nil, "Options.Random": o.Random != nil,
	})
	if o.Health == nil {
		o.Health = health.New(health.Options{Now: o.Now, Random: o.Random})
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = keepAliveStandard
	}
	if o.Silence == 0 {
		o.Silence = silenceStandard
	}
	if o.RetryWait == 0 {
		o.RetryWait = retryWaitStandard
	}
	if o.Memory == nil {
		o.Memory = sse.NewBudget(memoryStandard)
	}
	if o.ReadOn == 0 {
		o.ReadOn = readOnStandard
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Kept == nil {
		o.Kept = sse.NewBudget(keptStandard)
	}
	return &Gateway{o: o}
}

// StreamWriter writes the response to the client. Begin is called once, before the first Write. A Write or Flush must return an error
// when the client does not read in time; the caller of Generate sets that deadline. Begin keeps no reference to the header.
type StreamWriter interface {
	Begin(status int, contentType string, header http.Header) error
	Write(p []byte) error
	Flush() error
}

// Ender is a StreamWriter that can send the last bytes of a stream together with its end, for one write less. End does both, and nothing
// is written after it.
type Ender interface {
	End() error
}
