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
	"umg/app/limit"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/provider/health"
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
	slot    *limit.Slot
	counted int64 // tokens that the slot was taken with
	hold    billing.Hold
	reserve reserve
	lowered bool     // the hold affords less output than was wanted
	without []string // extras that the call asked for and that were taken out of it

	fallbacks    fallbacks
	fellBack     bool          // fallback models were asked
	sparing      bool          // routes that are ejected are spared, since a fallback model may answer
	callTimeout  time.Duration // of the model that was asked for, once another serves the call; else zero
	attemptsMore int           // beyond attemptsMax, for other models

	out   *outlet
	watch *watch

	plan     plan
	next     *catalog.Route // that the plan has drawn and that was not tried yet
	original *llm.Request   // read when a route needs a translation

	// The attempt that answers.
	route    *catalog.Route
	way      *dialect.Way
	attempts int
	try      health.Try
	trying   bool // it has not ended
	aside    bool // it is made beside that of another run, which has the client
	// taken means that the client has left while a provider had its request and had not refused it.
	taken    bool
	hedged   bool          // one was
	tryAt    time.Time     // when it began
	tryFirst time.Duration // and how soon its answer did; zero when nothing came
	cancel   context.CancelCauseFunc
	answer   *provider.Answer
	frames   *sse.Reader
	stream   dialect.Stream
	body     dialect.Body
	frame    sse.Frame  // that was read last
	batch    *[]byte    // what the client may have and was not sent yet; nil when that is nothing
	came     bool       // the first frame
	quiet    quiet      // how long it has sent nothing of its answer
	sent     time.Time  // when the last batch was, if nothing else has happened since
	done     bool       // the answer is whole
	cutShort bool       // it was ended here, at the length that was paid for
	ranOut   bool       // and it was paid for no more because there was no more credit
	paid     int64      // output tokens of all choices that the hold pays for
	slice    int64      // and so many more at a time; zero when all is paid for
	short    bool       // more was refused, as long as there is some left
	more     *extension // that was asked for

	kept     loan // for what a recovery of the answer needs
	asked    loan // for the request
	answered loan // for what has come and was not delivered yet

	recovery  *recovery // of a stream that another route may go on with
	recovered int       // times one did
	tally     dialect.Tally
	seen      int64     // output tokens that were delivered
	marked    int64     // of them, those that the last mark has
	markedAt  time.Time // when that was
	bill      billed
	rule      billing.Rule
	settled   bool // the hold has ended
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
		asked: loan{budget: g.o.Memory}, answered: loan{budget: g.o.Memory}, kept: loan{budget: g.o.Kept},
	}
}

// begin prepares the client's side. From here on the watch runs.
func (r *run) begin(sink Sink) {
	o := r.gateway.o
	r.out = &outlet{sink: sink, now: o.Now, last: r.started, header: r.header()}
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
		r.endTry(given())
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
func SetLimitHeaders(h http.Header, requests, tokens limit.Window) {
	for _, one := range [...]struct {
		window limit.Window
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
		p.Model = r.model.ID // another than was asked for, where that had no room
		if r.fellBack && r.model.ID != r.head.Model {
			p.FallbackOf = r.head.Model
		}
	}
	if r.route != nil {
		p.Provider, p.UpstreamModel = r.route.Provider.ID, r.route.Model
	}
	r.account(p)
	return p
}

// errorOf is the client's error for an error of the gateway.
func errorOf(err error) *app.Error {
	if fault, ok := errors.AsType[*provider.Fault](err); ok {
		return fault.Err
	}
	return app.AsError(err)
}
