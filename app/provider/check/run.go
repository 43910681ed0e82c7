package check

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/provider/errorclass"
	"umg/app/provider/modellist"
)

// bookTimeMax bounds the storing of a test call.
const bookTimeMax = 5 * time.Second

// run is one test. All of it happens on the goroutine of Run.
type run struct {
	o        Options
	report   func(Step)
	result   Result
	provider *catalog.Provider
	targets  []*target
	// problem is why no further request makes sense. It is empty while requests do.
	problem string
	// skew is how far the clock of this server is ahead of that of the provider, when dated is set.
	skew  time.Duration
	dated bool
	// unreachable means that no connection could be made for a call.
	unreachable bool
}

// target is the model with which a style is tested.
type target struct {
	style llm.Style
	name  string
	file  catalog.FileModel
	// model and route are nil when the model cannot be prepared, and problem is why.
	model   *catalog.Model
	route   *catalog.Route
	problem string
	detail  string
	// isUnlisted is set when the list of the provider has neither the model nor an alternative to it.
	isUnlisted bool
}

// styleSteps are the steps of each style, in order.
var styleSteps = []string{StepCall, StepStream, StepTools, StepUsage}

func newRun(o Options, report func(Step)) *run {
	if report == nil {
		report = func(Step) {}
	}
	if o.Sources.Env == nil {
		o.Sources.Env = func(string) (string, bool) { return "", false }
	}
	if o.StepTimeMax == 0 {
		o.StepTimeMax = StepTimeMaxDefault
	}
	o.File.Disabled = false
	r := &run{o: o, report: report}
	for i := range o.Models {
		r.addTarget(&o.Models[i])
	}
	names := []string{StepCredential}
	for i := range o.File.Credentials {
		names = append(names, credentialStep(i+1))
	}
	for _, name := range append(names, StepList, StepClock) {
		r.result.Steps = append(r.result.Steps, Step{Name: name, State: Waiting})
	}
	for _, t := range r.targets {
		for _, name := range styleSteps {
			r.result.Steps = append(r.result.Steps, Step{Name: name, Style: t.style, Model: t.name, State: Waiting})
		}
	}
	return r
}

// addTarget adds the model as the one of the styles of its routes that have none yet.
func (r *run) addTarget(m *catalog.FileModel) {
	for _, route := range m.Routes {
		isTaken := slices.ContainsFunc(r.targets, func(t *target) bool { return t.style == route.Style })
		if route.Provider != r.o.File.ID || isTaken {
			continue
		}
		r.targets = append(r.targets, &target{style: route.Style, name: route.Model, file: calledModel(m, route)})
	}
}

// calledModel is a model with no more than a call of it by the route needs.
func calledModel(m *catalog.FileModel, route catalog.FileRoute) catalog.FileModel {
	file := *m
	file.ID, file.Routes = m.ID+"/"+string(route.Style), []catalog.FileRoute{route}
	file.Fallbacks, file.LongerContext, file.Successor, file.Announced = nil, "", "", nil
	file.Availability, file.Paused = catalog.Available, false
	return file
}

// chooseListed replaces the models that the list of the provider lacks by alternatives that it has. A style whose alternatives are not
// listed either is not tested.
func (r *run) chooseListed() {
	listed := map[string]bool{}
	for _, m := range r.result.Models {
		listed[m.ID] = true
	}
	has := func(m *catalog.FileModel, name string) bool {
		return listed[name] || slices.ContainsFunc(m.Aliases, func(alias string) bool { return listed[alias] })
	}
	for _, t := range r.targets {
		if len(listed) == 0 || has(&t.file, t.name) {
			continue
		}
		for i := range r.o.Alternatives {
			m := &r.o.Alternatives[i]
			at := slices.IndexFunc(m.Routes, func(route catalog.FileRoute) bool {
				return route.Style == t.style && route.Provider == r.o.File.ID
			})
			if at < 0 {
				continue
			}
			if t.isUnlisted = !has(m, m.Routes[at].Model); !t.isUnlisted {
				r.replaceModel(t, calledModel(m, m.Routes[at]))
				break
			}
		}
	}
}

// replaceModel lets the target call another model.
func (r *run) replaceModel(t *target, m catalog.FileModel) {
	snapshot, err := r.snapshot(catalog.File{Providers: []catalog.FileProvider{r.o.File}, Models: []catalog.FileModel{m}})
	if err != nil {
		return // The step of the first model says what is wrong.
	}
	t.name, t.file, t.problem, t.detail = m.Routes[0].Model, m, "", ""
	t.use(snapshot)
	for _, name := range styleSteps {
		s := r.step(name, t.style)
		s.Model = t.name
		r.report(*s)
	}
}

// use takes the model and the route of the target from a snapshot.
func (t *target) use(s *catalog.Snapshot) {
	if m, ok := s.Model(t.file.ID); ok && len(m.Routes) > 0 {
		t.model, t.route = m, &m.Routes[0]
	}
}

// run makes all steps.
func (r *run) run(ctx context.Context) Result {
	began := r.o.Now()
	for _, s := range r.result.Steps {
		r.report(s)
	}
	r.prepare()
	if r.problem == "" {
		isProven := r.list(ctx)
		r.chooseListed()
		for _, t := range r.targets {
			isProven = r.style(ctx, t, isProven)
		}
		if s := r.step(StepCredential, ""); s.State == Running {
			s.Detail = "Nothing was called that would prove the credential."
			r.end(s, Skipped)
		}
	}
	r.furtherCredentials(ctx)
	r.clock()
	for i := range r.result.Steps {
		if s := &r.result.Steps[i]; s.State == Waiting || s.State == Running {
			s.Detail = skippedDetail(ctx, r.problem)
			r.end(s, Skipped)
		}
	}
	r.result.Passed = !slices.ContainsFunc(r.result.Steps, func(s Step) bool { return s.State == Failed })
	r.result.Cancelled = ctx.Err() != nil
	r.result.Passed = r.result.Passed && !r.result.Cancelled
	r.result.Took = r.o.Now().Sub(began)
	return r.result
}

// skippedDetail is why a step was not made.
func skippedDetail(ctx context.Context, problem string) string {
	switch {
	case ctx.Err() != nil:
		return adviceOf(problemCancelled).Found
	case problem != "":
		return "This was not tried because an earlier step has failed."
	}
	return "There was nothing to test."
}

// step is the step with a name and a style.
func (r *run) step(name string, style llm.Style) *Step {
	i := slices.IndexFunc(r.result.Steps, func(s Step) bool { return s.Name == name && s.Style == style })
	return &r.result.Steps[i]
}

// begin starts a step.
func (r *run) begin(s *Step) {
	s.State, s.Started = Running, r.o.Now()
	r.report(*s)
}

// end ends a step.
func (r *run) end(s *Step, state State) {
	s.State = state
	if !s.Started.IsZero() {
		s.Took = r.o.Now().Sub(s.Started)
	}
	r.report(*s)
}

// fail ends a step with a problem. What was found before stays.
func (r *run) fail(s *Step, a Advice) {
	if s.Detail == "" {
		s.Detail = a.Found
	}
	s.Advice = a.Advice
	r.end(s, Failed)
}

// failWith ends a step with a fault of the provider, and returns its problem.
func (r *run) failWith(s *Step, f *provider.Fault) string {
	a := AdviceOn(f, s.Name)
	s.Detail, s.ProviderWords = a.Found, f.ProviderWords()
	if a.Problem == problemCancelled {
		r.end(s, Skipped)
		return a.Problem
	}
	r.fail(s, a)
	return a.Problem
}

// prepare makes the provider and its models.
func (r *run) prepare() {
	s := r.step(StepCredential, "")
	r.begin(s)
	f := catalog.File{Providers: []catalog.FileProvider{r.o.File}}
	for _, t := range r.targets {
		if _, known := dialect.Of(t.style); known {
			f.Models = append(f.Models, t.file)
		} else {
			t.problem = problemUnknownStyle
		}
	}
	snapshot, err := r.snapshot(f)
	if err != nil && len(f.Models) > 0 {
		f.Models = nil
		for _, t := range r.targets {
			if t.problem == "" {
				t.problem, t.detail = problemCatalog, err.Error()
			}
		}
		snapshot, err = r.snapshot(f)
	}
	if err != nil {
		s.Detail = err.Error()
	} else {
		r.provider = snapshot.Providers()[0]
		s.Detail = r.provider.Unusable
	}
	if s.Detail != "" {
		s.Detail = app.Truncate(s.Detail, detailRunesMax)
		r.problem = problemUnusable
		r.fail(s, adviceOf(problemUnusable))
		return
	}
	for _, t := range r.targets {
		t.use(snapshot)
	}
}

// detailRunesMax bounds the text of a mistake in the entry of a provider or a model.
const detailRunesMax = 400

func (r *run) snapshot(f catalog.File) (*catalog.Snapshot, error) {
	return catalog.NewDraftSnapshot(f, &r.o.Sources, catalog.Options{Now: r.o.Now, Traits: dialect.Traits})
}

// list reads the list of models. It reports whether the provider has accepted the credential.
func (r *run) list(ctx context.Context) (isProven bool) {
	s := r.step(StepList, "")
	r.begin(s)
	models, err := modellist.ReadWith(ctx, modellist.Options{
		Client: r.o.Client, Provider: r.provider, Observe: r.observe, TimeMax: r.o.StepTimeMax,
		Progress: func(read int) {
			s.Detail = countOf(read, "model", "models") + " so far."
			r.report(*s)
		},
	})
	f, isFault := errors.AsType[*provider.Fault](err)
	switch {
	case errors.Is(err, modellist.ErrNone):
		s.Detail = "This provider has no list of models."
		r.end(s, Skipped)
		return false
	case isFault:
		return r.listFailed(s, f)
	}
	r.result.Models = models
	isProven = r.prove(!r.provider.Lists[0].Open)
	if len(models) == 0 {
		s.Detail = ""
		r.fail(s, adviceOf(problemNoModels))
		return isProven
	}
	s.Detail = countOf(len(models), "model", "models") + "."
	r.end(s, Passed)
	return isProven
}

// listFailed ends the step of a list with a fault. A credential without the right to read the list may still be able to call models.
func (r *run) listFailed(s *Step, f *provider.Fault) (isProven bool) {
	isKey := f.Class == provider.ClassCredential
	s.Detail = ""
	problem := r.failWith(s, f)
	if isKey && problem != problemNoListRight {
		r.refused(f)
	}
	if problem == problemCancelled {
		r.problem = problem
	}
	return false
}

// prove ends the step of the credential when the provider has accepted it.
func (r *run) prove(isProof bool) bool {
	s := r.step(StepCredential, "")
	if !isProof || s.State != Running {
		return s.State == Passed
	}
	s.Detail = "The provider accepted the credential."
	r.end(s, Passed)
	return true
}

// refused ends the step of the credential when the provider has not accepted it, and the test with it.
func (r *run) refused(f *provider.Fault) {
	if f.Meaning == errorclass.Account { // The provider knows the credential.
		r.prove(true)
	}
	if s := r.step(StepCredential, ""); s.State == Running {
		r.problem = r.failWith(s, f)
		return
	}
	r.problem = AdviceOn(f, "").Problem
}

// credentialStep is the name of the step of a further credential.
func credentialStep(index int) string { return StepCredential + " " + strconv.Itoa(index+1) }

// furtherCredentials proves each credential after the first with the list, or with a call where no list does.
func (r *run) furtherCredentials(ctx context.Context) {
	i := slices.IndexFunc(r.targets, func(t *target) bool { return t.route != nil })
	for index := range r.o.File.Credentials {
		s := r.step(credentialStep(index+1), "")
		if r.provider == nil || r.unreachable || ctx.Err() != nil {
			return
		}
		hasProof := len(r.provider.Lists) > 0 && !r.provider.Lists[0].Open
		r.begin(s)
		var err error
		switch {
		case hasProof:
			_, err = modellist.ReadWith(ctx, modellist.Options{
				Client: r.o.Client, Provider: r.provider, Credential: index + 1, FirstPage: true, TimeMax: r.o.StepTimeMax,
			})
		case i >= 0:
			_, f := r.call(ctx, r.targets[i], s, question{credential: index + 1})
			if f != nil {
				err = f
			}
		default:
			s.Detail = "Nothing was called that would prove the credential."
			r.end(s, Skipped)
			continue
		}
		if f, isFault := errors.AsType[*provider.Fault](err); isFault {
			r.failWith(s, f)
			continue
		}
		s.Detail = "The provider accepted the credential."
		r.end(s, Passed)
	}
}

// observe takes the time of an answer's clock from its header.
func (r *run) observe(h http.Header) {
	at, err := http.ParseTime(h.Get("Date"))
	if err != nil || r.dated {
		return
	}
	r.skew, r.dated = r.o.Now().Sub(at).Round(clockStep), true
}

const (
	// clockStep is the unit of differences, since answers take some time.
	clockStep = 10 * time.Second
	// skewMax is the least difference that makes signatures invalid.
	skewMax = 5 * time.Minute
)

// clock compares the clock of this server with that of the provider.
func (r *run) clock() {
	s := r.step(StepClock, "")
	if !r.dated {
		s.Detail = "No answer had a date."
		r.end(s, Skipped)
		return
	}
	switch {
	case r.skew == 0:
		s.Detail = "Both clocks show the same time."
	case r.skew > 0:
		s.Detail = "The clock of this server is " + r.skew.String() + " ahead of the provider's."
	default:
		s.Detail = "The clock of this server is " + (-r.skew).String() + " behind the provider's."
	}
	if r.skew.Abs() >= skewMax {
		r.fail(s, adviceOf(problemClock))
		return
	}
	r.end(s, Passed)
}

// book adds a test call to the result and keeps it. A test that was cancelled keeps it too.
func (r *run) book(ctx context.Context, t *target, s *Step) {
	r.result.Calls++
	if s.Cost != nil {
		r.result.Cost += *s.Cost
	}
	if r.o.Store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookTimeMax)
	defer cancel()
	err := r.o.Store.Add(ctx, Call{
		At: s.Started, Provider: r.o.File.ID, Model: t.name, Style: t.style, By: r.o.By, Tokens: s.Tokens, Cost: s.Cost,
	})
	r.result.Unbooked = errors.Join(r.result.Unbooked, err)
}
