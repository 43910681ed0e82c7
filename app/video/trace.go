package video

import (
	"context"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/videoapi"
	"umg/app/telemetry"
)

// Create makes a job. What is wrong with a call is said before anything is held; then the hold and the job are one
// transaction, and the provider is asked. A caller who leaves after that still has the job. A provider that may have
// taken it, but did not say so, is never asked twice: the worker finds out.
func (s *Service) Create(ctx context.Context, c Call) (Created, error) {
	ctx, span := s.o.Tracer.Call(ctx, telemetry.Generate, c.Headers, s.o.Now())
	if span == nil {
		return s.create(ctx, c)
	}
	made, err := s.create(ctx, c)
	e := telemetry.Ending{
		RequestID: c.RequestID, Model: made.model, Output: "video", Provider: made.Job.Provider, Attempts: made.attempts, Outcome: "accepted",
	}
	if err != nil {
		e.Outcome, e.Error = "refused", app.AsError(err).Code
		if made.fault != nil { // a provider may call its refusal anything
			e.Outcome, e.Error = "failed", string(made.fault.Class)
		}
	}
	span.End(&e)
	return made, err
}

// ask asks one provider to take a job, and notes how long that took.
func (s *Service) ask(ctx context.Context, p *plan, route *catalog.Route, o videoapi.CreateRequest) (videoapi.Task, *provider.Fault) {
	p.attempts++
	began := s.o.Now()
	ctx, span := s.o.Tracer.Attempt(ctx, route, p.attempts)
	task, fault := s.o.Upstreams.Create(ctx, route, o)
	span.End(fault)
	p.asked += s.o.Now().Sub(began)
	p.fault = fault
	return task, fault
}

// attemptTrace is what is noted of the providers that a call was handed to.
type attemptTrace struct {
	attempts int
	asked    time.Duration   // the time that providers took to answer
	fault    *provider.Fault // the fault of the last attempt
}
