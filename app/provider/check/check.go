package check

import (
	"context"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/provider/modellist"
)

// State is how far a step is.
type State string

// These are the states of a step.
const (
	Waiting State = "waiting"
	Running State = "running"
	Passed  State = "passed"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// These are the names of steps. The last four exist for each style.
const (
	StepCredential = "credential" // Further credentials have their number behind the name, such as credential 2.
	StepList       = "list"
	StepClock      = "clock"
	StepCall       = "call"
	StepStream     = "stream"
	StepTools      = "tools"
	StepUsage      = "usage"
)

// Step is one thing that a test proves.
type Step struct {
	Name string
	// Style and Model are empty for the steps of the whole provider. Model is the provider's spelling.
	Style llm.Style
	Model string
	State State
	// Started is when the step began. It is zero before.
	Started time.Time
	// Took is how long the step took. It is zero until it has ended.
	Took time.Duration
	// Detail is what was found, in a sentence.
	Detail string
	// ProviderWords is what the provider said about its error, without anything that looks like a credential.
	ProviderWords string
	// Advice is a sentence that says what to do. It is empty unless the step has failed.
	Advice string
	// Tokens is what the test call of the step used, and Cost what it cost the operator, or nil when that is not known. The step about
	// usage has neither, since it is about calls of other steps.
	Tokens Tokens
	Cost   *app.Amount
}

// Tokens are counts of what test calls used.
type Tokens struct{ Input, Output int64 }

// Options configure Run. File, Sources, Client and Now are required.
type Options struct {
	File    catalog.FileProvider
	Sources catalog.Sources
	// Models are those that may be called, with routes to the provider. At most one per style is called: the first.
	Models []catalog.FileModel
	// Alternatives are called in place of a model of Models that the list of the provider lacks: of each style the first one that the
	// list has.
	Alternatives []catalog.FileModel
	Client       *provider.Client
	Now          app.Clock
	// Store keeps what test calls cost; nil keeps nothing. By is the operator for whom the test runs.
	Store *Store
	By    string
	// StepTimeMax bounds each step. The default is StepTimeMaxDefault.
	StepTimeMax time.Duration
}

// StepTimeMaxDefault bounds a step.
const StepTimeMaxDefault = time.Minute

// Result is the outcome of a test.
type Result struct {
	Steps []Step
	// Models is the list of the provider. It is nil when it was not read.
	Models []modellist.Model
	// Passed means that no step has failed, and that the test was not cancelled.
	Passed    bool
	Cancelled bool
	// Cost is what all test calls cost, as far as it is known, and Calls is how many the provider may charge for.
	Cost  app.Amount
	Calls int
	// Unbooked is why test calls could not be kept. It is nil when all were.
	Unbooked error
	// Took is how long the test took.
	Took time.Duration
}

// Run tests a provider. It calls report from its own goroutine whenever a step changes, with all of the step; the name and the style
// identify a step. It returns when all steps have ended, or the context has.
func Run(ctx context.Context, o Options, report func(Step)) Result {
	app.RequireOptions("check.Run", map[string]bool{"Options.Client": o.Client != nil, "Options.Now": o.Now != nil})
	r := newRun(o, report)
	return r.run(ctx)
}
