package gateway

import (
	"errors"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/app/provider"
	"umg/app/ratelimit"
	"umg/billing"
)

// Left is what is left of the limits of the model, or of the key.
type Left struct {
	Requests, Tokens ratelimit.Window
}

// Report tells how a call has ended, for the access log and for headers.
type Report struct {
	Model         string
	Provider      string
	UpstreamModel string
	Attempts      int
	Hedged        bool // A second attempt ran beside the first.
	Recovered     int  // Recovered counts how often another route continued a cut answer.
	// FallbackOf is the requested model, where Model has served in its place; else empty.
	FallbackOf      string
	Streamed        bool
	Estimated       bool
	Implausible     bool // The usage that the provider reported is not sound.
	Unpriced        bool // The provider reported something that no reader or no price knows.
	Outcome         string
	Reason          billing.Reason
	FinishReason    string
	Usage           meter.Counts
	Cost            app.Amount
	FirstByte       time.Duration
	Duration        time.Duration
	Left            Left
	Tries           []AttemptResult // Tries are the first attempts.
	Fault           provider.Class  // Fault is the last failed attempt's, although another may have answered.
	Upstream        time.Duration   // Upstream is the time spent on waiting for providers until the answer began.
	GatewayDuration time.Duration   // GatewayDuration is the gateway's own time, until the answer began and at its end.
	Err             *app.Error      // Err is also set when the client got the error in the stream.

	tries [attemptsKept]AttemptResult // This is the memory of Tries.
}

// refuse reports a call that ended before a hold was taken.
func (p *pipeline) refuse(err error) (*Report, error) {
	e := app.AsError(err)
	p.end().rule = billing.RuleOf(billing.ReasonRefused)
	return p.report(e), e
}

// report fills in the report of a call that has ended, with the client's error or nil.
func (p *pipeline) report(e *app.Error) *Report {
	o, stats := p.end(), p.stats()
	if o.report = p.request.Report; o.report == nil {
		o.report = &Report{}
	}
	*o.report = Report{
		Model: p.head.Model, Attempts: p.attempts, Hedged: p.hedgeUsed, Recovered: p.recovered, Streamed: p.head.Stream,
		Estimated: o.rule.Estimated, Implausible: p.funding.hold.ID != "" && p.funding.implausible(stats),
		Unpriced: o.notes.unpriced, Outcome: o.rule.Outcome, Reason: o.rule.Reason, FinishReason: stats.Finish, Usage: o.charge.meters(),
		Cost:      p.funding.hold.Charge(o.charge.cost),
		FirstByte: p.response.firstByte, Duration: p.elapsed(), Err: e, tries: p.trace.results,
	}
	o.report.Tries = o.report.tries[:p.trace.count]
	if p.slot != nil {
		o.report.Left = Left{p.slot.Requests(), p.slot.Tokens()}
	}
	if p.model != nil {
		o.report.Model = p.model.ID // The record names the model that answered, which may be a fallback.
		if p.fallbacks.used && p.model.ID != p.head.Model {
			o.report.FallbackOf = p.head.Model
		}
	}
	if p.attempt != nil {
		o.report.Provider, o.report.UpstreamModel = p.attempt.route.Provider.ID, p.attempt.route.Model
	}
	if p.trace.fault != nil {
		o.report.Fault = p.trace.fault.Class
	}
	if p.request.Timing != nil {
		// The gateway's own time is all time before the answer began except waiting for providers, plus the time of the charge after
		// the answer. The time between is the provider's and the client's.
		own := o.report.Duration
		if o.report.FirstByte > 0 {
			own = o.report.FirstByte
			if p.attempt == nil || p.attempt.body == nil {
				own += p.trace.settled
			}
		}
		o.report.Upstream = p.request.Timing.Upstream(p.started.Add(o.report.Duration))
		o.report.GatewayDuration = max(0, own-o.report.Upstream)
	}
	return o.report
}

// errorOf is the client's error for an error of the gateway.
func errorOf(err error) *app.Error {
	if fault, ok := errors.AsType[*provider.Fault](err); ok {
		return fault.Err
	}
	return app.AsError(err)
}
