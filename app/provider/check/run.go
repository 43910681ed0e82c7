package check

import (
	"context"

	"umg/app/catalog"
)

// run is one test.
type run struct {
	o      Options
	report func(Step)
	steps  []Step
}

func newRun(o Options, report func(Step)) *run {
	if report == nil {
		report = func(Step) {}
	}
	o.File.Disabled = false
	return &run{o: o, report: report, steps: []Step{{Name: StepCredential, State: Waiting}}}
}

func (r *run) run(context.Context) Result {
	began := r.o.Now()
	f := catalog.File{Providers: []catalog.FileProvider{r.o.File}}
	s, err := catalog.NewDraftSnapshot(f, &r.o.Sources, catalog.Options{Now: r.o.Now})
	step := &r.steps[0]
	step.State = Passed
	if err != nil {
		step.State, step.Detail = Failed, err.Error()
	} else if p := s.Providers()[0]; p.Unusable != "" {
		step.State, step.Detail = Failed, p.Unusable
	}
	r.report(*step)
	return Result{Steps: r.steps, Passed: step.State == Passed, Took: r.o.Now().Sub(began)}
}
