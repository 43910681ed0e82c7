package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/provider/health"
	"umg/app/ratelimit"
	"umg/app/sse"
	"umg/billing"
)

const (
	eventStream = "text/event-stream"
	jsonType    = "application/json"
)

// run is the state of one call in the gateway.
type run struct {
	gateway *Gateway
	call    Call
	started time.Time
	style   *dialect.Dialect
	head    dialect.Head
	ask     dialect.Ask
	model   *catalog.Model
	slot    *ratelimit.Slot
	counted int64 // Counted is the number of tokens that the slot was taken with.
	hold    billing.Hold
	reserve reserve
	lowered bool     // The hold affords less output than the call asked for.
	without []string // Without lists requested extras that were removed from the call.
	// effortAdded means that the request has an effort that the client did not send.
	effortAdded bool

	fallbacks    fallbacks
	fellBack     bool          // Fallback models were tried.
	sparing      bool          // Ejected routes are skipped, since a fallback model may answer.
	callTimeout  time.Duration // CallTimeout is the requested model's, once another model serves the call; else zero.
	attemptsMore int           // AttemptsMore are attempts beyond attemptsMax, for other models.

	out   *clientWriter
	watch *deadlines

	plan     plan
	next     *catalog.Route // Next is the route that the plan has chosen and that was not tried yet.
	original *llm.Request   // Original is decoded when a route needs a translation.

	// The attempt that answers.
	route    *catalog.Route
	way      *translate.Exchange
	attempts int
	try      health.Try
	trying   bool // The attempt has started and was not recorded yet.
	aside    bool // The run is the second, parallel attempt, which has no client writer.
	// taken means that the client has left while a provider had its request and had not refused it.
	taken    bool
	hedged   bool          // A hedge was started for this call.
	tryAt    time.Time     // TryAt is when the attempt began.
	tryFirst time.Duration // TryFirst is the time to the attempt's first byte; zero before it.
	cancel   context.CancelCauseFunc
	answer   *provider.Answer
	frames   *sse.Reader
	stream   dialect.Stream
	body     dialect.Body
	frame    sse.Frame      // Frame is the last frame that was read.
	batch    *[]byte        // Batch holds bytes ready for the client; nil when there are none.
	came     bool           // The first frame has arrived.
	quiet    quiet          // Quiet measures how long the upstream has sent no content.
	sent     time.Time      // Sent is when the last batch was sent; zero when something else happened since.
	done     bool           // The answer is complete.
	cutShort bool           // The gateway ended the answer at the length that the hold pays for.
	ranOut   bool           // The hold could not be extended: no credit was left.
	paid     int64          // Paid is the output tokens of all choices that the hold pays for.
	slice    int64          // Slice is how many tokens an extension adds; zero when all output is paid for.
	short    bool           // The smallest slice was refused; the gateway asks once more when the paid tokens end.
	more     *holdExtension // More is the extension in progress; nil when there is none.

	kept     memoryReservation // Kept is the memory that a recovery of the answer needs.
	asked    memoryReservation // Asked is the memory of the request.
	answered memoryReservation // Answered is the memory of received bytes that were not delivered yet.

	recovery  *recovery // Recovery is the state of a stream that another route may resume; nil when none may.
	recovered int       // Recovered counts the routes that resumed the answer.
	tally     dialect.StreamStats
	seen      int64     // Seen is the number of delivered output tokens.
	marked    int64     // Marked is the number of output tokens in the last checkpoint.
	markedAt  time.Time // MarkedAt is the time of the last checkpoint.
	bill      charge
	rule      billing.Rule
	settled   bool // The hold has ended.
	// answerKept means that a repetition of the call is given its whole answer.
	answerKept bool
	firstByte  time.Duration
	told       Report
	trace      trace
}

var (
	batches = sync.Pool{New: func() any { b := make([]byte, 0, batchBytes); return &b }}
	readers = sync.Pool{New: func() any { return &sse.Reader{} }}
)

func newRun(g *Gateway, call Call) *run {
	return &run{
		gateway: g, call: call, started: g.o.Now(),
		asked: memoryReservation{budget: g.o.Memory}, answered: memoryReservation{budget: g.o.Memory}, kept: memoryReservation{budget: g.o.Kept},
	}
}

// begin prepares the client's side. From here on the watch runs.
func (r *run) begin(sink StreamWriter) {
	o := r.gateway.o
	r.out = &clientWriter{sink: sink, now: o.Now, last: r.started, header: r.header()}
	if r.head.Stream {
		r.out.every, r.out.mark = o.KeepAlive, r.style.KeepAlive
	}
	r.watch = newWatch(o.Now, r.out)
}

// forget lets go of the request once its answer has begun, but for a copy where another route may have to go on with the
// answer.
func (r *run) forget() {
	r.call.Body = r.keepBody()
	r.original = nil
	r.way.Forget()
	r.asked.giveBack()
	if r.call.Taken != nil {
		r.call.Taken()
	}
}

// room is the batch to append to. It is borrowed from the first byte until it is sent, so that a stream which waits
// holds none.
func (r *run) room() *[]byte {
	if r.batch == nil {
		r.batch, _ = batches.Get().(*[]byte)
	}
	return r.batch
}

// pending is how many bytes the batch has.
func (r *run) pending() int {
	if r.batch == nil {
		return 0
	}
	return len(*r.batch)
}

// clear empties the batch and gives it back.
func (r *run) clear() {
	if r.batch != nil && cap(*r.batch) <= 2*batchBytesMax {
		*r.batch = (*r.batch)[:0]
		batches.Put(r.batch)
	}
	r.batch = nil
}

// end gives back what the call held in memory.
func (r *run) end() {
	r.watch.close()
	r.drop()
	r.clear()
}

// drop ends an attempt. It records no result for the route when none was recorded before.
func (r *run) drop() {
	if r.trying {
		r.endTry(abandonedFault())
	}
	r.release()
}

// release gives back what an attempt holds.
func (r *run) release() {
	if r.stream != nil {
		r.stream.Close()
		r.stream = nil
	}
	if r.frames != nil {
		r.frames.Close()
		readers.Put(r.frames)
		r.frames = nil
	}
	if r.answer != nil {
		r.answer.Close()
		r.answer = nil
	}
	if r.cancel != nil {
		r.cancel(nil)
		r.cancel = nil
	}
	r.body, r.came = nil, false
	r.answered.giveBack()
}

// header is what the answer says of the model's limits, and how a stream is to be treated on its way.
func (r *run) header() http.Header {
	h := make(http.Header, 8)
	if r.head.Stream {
		h["Cache-Control"] = []string{"no-cache, no-transform"}
		h["X-Accel-Buffering"] = []string{"no"}
	}
	for _, one := range r.model.LifecycleHeaders() {
		h[one.Name] = []string{one.Value}
	}
	SetLimitHeaders(h, r.slot.Requests(), r.slot.Tokens())
	return h
}

// SetLimitHeaders writes the x-ratelimit headers of the limits there are.
func SetLimitHeaders(h http.Header, requests, tokens ratelimit.Window) {
	for _, one := range [...]struct {
		window ratelimit.Window
		names  [3]string
	}{
		{requests, [3]string{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"}},
		{tokens, [3]string{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"}},
	} {
		if one.window.Limit == 0 {
			continue
		}
		values := []string{
			strconv.FormatInt(one.window.Limit, 10), strconv.FormatInt(one.window.Remaining, 10), one.window.Reset.String(),
		}
		for i, name := range one.names {
			h[name] = values[i : i+1 : i+1]
		}
	}
}

// refused reports a call that ended before a hold was taken.
func (r *run) refused(err error) (*Report, error) {
	e := app.AsError(err)
	r.rule = billing.RuleOf(billing.ReasonRefused)
	return r.report(e), e
}

func (r *run) report(e *app.Error) *Report {
	p := &r.told
	*p = Report{
		Model: r.head.Model, Attempts: r.attempts, Hedged: r.hedged, Recovered: r.recovered, Streamed: r.head.Stream, Estimated: r.rule.Estimated,
		Implausible: r.hold.ID != "" && r.implausible(),
		Outcome:     r.rule.Outcome, Reason: r.rule.Reason, FinishReason: r.tally.Finish, Usage: r.bill.readings(),
		Cost:      r.hold.Charge(r.bill.cost),
		FirstByte: r.firstByte, Duration: r.gateway.o.Now().Sub(r.started), Err: e,
	}
	if r.slot != nil {
		p.Requests, p.Tokens = r.slot.Requests(), r.slot.Tokens()
	}
	if r.model != nil {
		p.Model = r.model.ID // The record names the model that answered, which may be a fallback.
		if r.fellBack && r.model.ID != r.head.Model {
			p.FallbackOf = r.head.Model
		}
	}
	if r.route != nil {
		p.Provider, p.UpstreamModel = r.route.Provider.ID, r.route.Model
	}
	r.fillTimings(p)
	return p
}

// errorOf is the client's error for an error of the gateway.
func errorOf(err error) *app.Error {
	if fault, ok := errors.AsType[*provider.Fault](err); ok {
		return fault.Err
	}
	return app.AsError(err)
}
