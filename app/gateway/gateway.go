package gateway

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/egress"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/provider/health"
	"umg/app/ratelimit"
	"umg/app/sse"
	"umg/app/telemetry"
	"umg/billing"
	"umg/billing/failpoint"
)

// Limits of a call. The waits for an upstream come from its route.
const (
	attemptsMax       = 6
	keepAliveStandard = 15 * time.Second
	retryWaitStandard = 100 * time.Millisecond
	retryAfterMax     = 2 * time.Second // An upstream that asks for a longer wait is not retried.
	drainMax          = 250 * time.Millisecond
	silenceStandard   = 2 * time.Second
	batchBytes        = 1 << 10  // This is enough for a stream as slow as a model.
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
	// Progress notes what a call has delivered, in case it never ends. It does not wait.
	Progress(h billing.Hold, s billing.Settlement)
	// Settle ends a hold, durably.
	Settle(ctx context.Context, h billing.Hold, s billing.Settlement) error
}

// Options are the rooms a call walks through. All are required but Egress, Balance, Tracer and Health.
type Options struct {
	CreditManager CreditManager
	Balance       func(ctx context.Context, accountID string) (billing.Balance, error) // for quotes
	Snapshot      func() *catalog.Snapshot
	Limits        *ratelimit.Limiter
	Providers     *provider.Client
	Health        *health.Monitor // of the providers; a new one when nil
	Now           app.Clock
	Random        func(n int) int   // a number from 0 to n-1
	Egress        *egress.Client    // for images whose address a provider cannot be given; none is fetched when nil
	Tracer        *telemetry.Tracer // nil where no calls are traced
	Rates         Rates             // of requests besides calls, and of bodies

	// Credit fails when the account or the key's budget has no credit for a hold. It reserves nothing; nil asks no one.
	Credit func(ctx context.Context, q billing.HoldRequest) error

	KeepAlive time.Duration // silence after which a stream is kept open; 15 s when zero
	Silence   time.Duration // after what may be the end, before it is taken for the end; 2 s when zero
	RetryWait time.Duration // at most, before the same route is tried again: it is chance; 100 ms when zero
	Memory    *sse.Budget   // for large frames; 512 MiB when nil
	// Kept bounds what is kept of requests and answers so that a stream that is cut can go on elsewhere; 64 MiB when nil.
	Kept *sse.Budget
}

// Gateway serves text calls.
type Gateway struct {
	o      Options
	leasts atomic.Pointer[leastHolds]
}

// New makes a Gateway. It panics when a room is missing.
func New(o Options) *Gateway {
	if o.CreditManager == nil || o.Snapshot == nil || o.Limits == nil || o.Providers == nil || o.Now == nil || o.Random == nil {
		panic("gateway: a room is missing")
	}
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
	if o.Kept == nil {
		o.Kept = sse.NewBudget(keptStandard)
	}
	return &Gateway{o: o}
}

// Call is one text call of a client. Body is not kept after Generate returns, nor after it has called OnBodyReleased,
// which it does once an answer has begun: a long conversation need not stay in memory while its answer streams.
type Call struct {
	ID        string
	Principal app.Principal
	Style     llm.Style
	Body      []byte
	// OnBodyReleased is called when the gateway no longer needs the body; it may be nil.
	OnBodyReleased func()
	Headers        http.Header
	Key            ratelimit.Key // the limits of the key that makes the call; none for a member in the console
	// Place is what the call took before its body was read, in the limits of the account and the key; nil when it took none.
	Place *ratelimit.Slot
	// StoreResponse is handed an answer in one piece before its charge is made durable; where it fails the call fails uncharged.
	// OnSettled is called when the charge of a whole answer is durable, before the client can know that the answer is whole. Both
	// may be nil.
	StoreResponse func(ctx context.Context, answer []byte) error
	OnSettled     func()

	Strict      bool    // hints that the model does not take are refused, and not left out
	LimitFactor int     // multiplies the usual limits of the account; zero is one
	Timing      *Timing // Timing is filled in while the call runs; it may be nil.

	AuthDuration   time.Duration // The time that recognising the caller took before the call, for the record.
	UploadDuration time.Duration // The time in which the caller sent the body, for the record.
}

// StreamWriter is the client's end of a call. Begin comes once, before the first Write. A Write or Flush that the client does
// not take in time must return an error; the face sets that deadline.
type StreamWriter interface {
	Begin(status int, contentType string, header http.Header) error
	Write(p []byte) error
	Flush() error
}

// Report is what became of a call, for the access log and for headers.
type Report struct {
	Model         string
	Provider      string
	UpstreamModel string
	Attempts      int
	Hedged        bool // a second route was asked beside the first
	Recovered     int  // times another route went on with an answer that was cut
	// FallbackOf is the model that was asked for, where Model has served in its place; else empty.
	FallbackOf      string
	Streamed        bool
	Estimated       bool
	Implausible     bool // the provider's report of usage cannot be true as it stands
	Outcome         string
	Reason          billing.Reason
	FinishReason    string
	Usage           billing.Usage
	Cost            app.Amount
	FirstByte       time.Duration
	Duration        time.Duration
	Requests        ratelimit.Window // what is left of the model's limits, or of the key's
	Tokens          ratelimit.Window
	Tries           []AttemptResult // the first attempts
	Fault           provider.Class  // of the last attempt that failed, although another may have answered
	Upstream        time.Duration   // spent on waiting for providers until the answer began
	GatewayDuration time.Duration   // The gateway's own time, until the answer began and at its end.
	Err             *app.Error      // also when the client was told in the stream
}

// Generate answers one text call. It is the whole path in order, and a hold has exactly one way out. It returns an
// error only when nothing was sent, so that the face renders it; an error after that is written in the stream, in the
// words of the call's style, and stands in the report.
func (g *Gateway) Generate(ctx context.Context, call Call, out StreamWriter) (*Report, error) {
	r := newRun(g, call)
	ctx = r.traced(ctx)
	defer r.untraced()
	defer r.asked.giveBack()
	defer r.kept.giveBack()
	err := r.admit() // This step validates the request, computes its price and picks the routes.
	if err != nil {
		return r.refused(err)
	}
	r.trace.checked = r.since()
	if err = r.enter(); err != nil {
		return r.refused(err)
	}
	r.trace.admitted = r.since()
	defer func() { r.slot.Release(r.limitedTokens(ctx)) }()

	defer r.settleAfterPanic(ctx)
	if err = r.reserveCredit(ctx); err != nil {
		return r.refused(err)
	}
	r.trace.funded = r.since()
	r.begin(out)
	defer r.end()
	err = r.open(ctx) // After this step an upstream has begun to answer, and nothing was sent yet.
	failpoint.At(failpoint.C3)
	if err == nil {
		r.forget()
		err = r.relay(ctx) // After this step everything but the end was sent.
		r.recordAttemptResult(err)
	}
	ended := g.o.Now()
	err = r.settle(ctx, err) // After this step the charge is durable, before the last byte is sent.
	r.trace.settled = g.o.Now().Sub(ended)
	defer failpoint.At(failpoint.C9)
	return r.finish(err)
}

// admit reads the head of the call, finds its model, checks it against the contract, prices it and finds a way to a
// provider.
func (r *run) admit() (err error) {
	if err = r.peek(); err != nil {
		return err
	}
	var hints []catalog.Hint
	if r.model, hints, err = r.gateway.choose(&r.call, &r.head, r.started); err != nil {
		return err
	}
	if err = r.leaveHintsOut(hints); err != nil {
		return err
	}
	if err = r.leaveExtrasOut(); err != nil {
		return err
	}
	r.ask = dialect.Ask{
		Model: r.model.ID, CallID: r.call.ID, Created: r.started.Unix(), Choices: r.head.Choices, IncludeUsage: r.head.IncludeUsage,
	}
	if err = r.price(r.model.RateCard); err != nil {
		return err
	}
	if err = r.findFallbacks(); err != nil {
		return err
	}
	r.sparing = len(r.fallbacks.left) > 0
	if err = r.prepare(); err != nil && r.sparing && r.unserved(err) {
		return nil // The step open finds out whether another model serves the call.
	}
	return err
}

// peek finds the dialect of the call and reads its head.
func (r *run) peek() (err error) {
	style, ok := dialect.Of(r.call.Style)
	if !ok {
		return app.Errorf(app.NotFound, "not_found", "The %s style is not served.", r.call.Style)
	}
	r.style = style
	r.head, err = r.style.Peek(r.call.Body)
	return err
}

// enter takes a place within the limits.
func (r *run) enter() (err error) {
	r.slot, err = r.call.take(r.gateway.o.Limits, r.turnstile())
	return err
}

// take counts the call against all its limits, beginning with the place that it has.
func (c *Call) take(limits *ratelimit.Limiter, a ratelimit.Request) (*ratelimit.Slot, error) {
	if c.Place == nil {
		return limits.Take(a)
	}
	return c.Place, c.Place.Join(a)
}

// reserveCredit holds what the call may cost, or as much of it as is worthwhile.
func (r *run) reserveCredit(ctx context.Context) (err error) {
	ask := r.reserve.request(r.call)
	ask.Want = max(ask.Want, r.fallbacks.want) // The least stays that of the own model, which less credit may pay for.
	if r.hold, err = r.gateway.o.CreditManager.Hold(ctx, ask); err != nil {
		return err
	}
	r.bound()
	return nil
}

// turnstile is the request to the rate limiter. The gateway corrects its tokens when the call ends, so they need not be
// an upper bound. A call with a high token limit that it does not use must not keep other calls out while it runs.
func (r *run) turnstile() ratelimit.Request {
	ask := r.gateway.limitsOn(r.model, r.call.Principal.AccountID, r.call.LimitFactor)
	ask.Tokens, ask.Key = r.inputEstimate()+min(r.reserve.output, usefulTokens)*r.head.Choices, r.call.Key
	r.counted = ask.Tokens
	return ask
}
