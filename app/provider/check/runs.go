package check

import (
	"context"
	"slices"
	"sync"
	"time"

	"umg/app"
)

const (
	// runsMax bounds the tests that run at once, and runsKept those that are remembered.
	runsMax  = 8
	runsKept = 64
	// runTimeMax bounds a test.
	runTimeMax = 10 * time.Minute
)

// Runs tests providers in the background. It remembers tests in memory, so that only the replica that started a test knows it.
type Runs struct {
	now    app.Clock
	ctx    context.Context //nolint:containedctx // Tests outlive the requests that start them. Close ends it.
	cancel context.CancelFunc
	wait   sync.WaitGroup

	mu   sync.Mutex
	runs map[string]*background
}

// background is a test and how far it is.
type background struct {
	run     Status
	cancel  context.CancelFunc
	changed chan struct{} // Changed is closed at the next change.
}

// Status is how far a test is.
type Status struct {
	ID string
	// Steps are those so far, in their order.
	Steps   []Step
	Started time.Time
	// Done means that the test has ended and Result is set.
	Done      bool
	Cancelled bool
	Result    Result
}

// NewRuns makes a Runs. Close ends its tests.
func NewRuns(now app.Clock) *Runs {
	ctx, cancel := context.WithCancel(context.Background())
	return &Runs{now: now, ctx: ctx, cancel: cancel, runs: map[string]*background{}}
}

// Close cancels all tests and waits for their ends.
func (r *Runs) Close() {
	r.mu.Lock()
	r.cancel() // No test starts from now on.
	r.mu.Unlock()
	r.wait.Wait()
}

// Start starts a test under an id, usually that of the provider, in place of an earlier one that has ended. It returns an *app.Error of
// kind Conflict when a test with the id is running, and of kind Exhausted when too many are.
func (r *Runs) Start(id string, o Options) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return app.Errorf(app.Unavailable, "shutting_down", "This server is shutting down. Start the test again in a moment.")
	}
	if known := r.runs[id]; known != nil && !known.run.Done {
		return app.Errorf(app.Conflict, "test_running", "A test of this provider is running. Wait for its end, or cancel it.")
	}
	running := 0
	for _, b := range r.runs {
		if !b.run.Done {
			running++
		}
	}
	if running >= runsMax {
		return app.Errorf(app.Exhausted, "too_many_tests", "%d tests of providers are running. Wait until one has ended.", running)
	}
	r.forget()
	ctx, cancel := context.WithTimeout(r.ctx, runTimeMax)
	b := &background{run: Status{ID: id, Started: r.now()}, cancel: cancel, changed: make(chan struct{})}
	r.runs[id] = b
	// goroutine: one for each test, at most runsMax. It ends with the test, which runTimeMax bounds, and Close waits for it.
	r.wait.Go(func() {
		defer cancel()
		result := Run(ctx, o, func(s Step) { r.update(b, func(run *Status) { run.Steps = put(run.Steps, s) }) })
		r.update(b, func(run *Status) { run.Done, run.Result, run.Steps = true, result, result.Steps })
	})
	return nil
}

// forget forgets the oldest test that has ended when there are too many.
func (r *Runs) forget() {
	if len(r.runs) < runsKept {
		return
	}
	oldest := ""
	for id, b := range r.runs {
		if b.run.Done && (oldest == "" || b.run.Started.Before(r.runs[oldest].run.Started)) {
			oldest = id
		}
	}
	delete(r.runs, oldest)
}

// update changes the status of a test and wakes those who wait for it.
func (r *Runs) update(b *background, change func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&b.run)
	close(b.changed)
	b.changed = make(chan struct{})
}

// put replaces the step with the same name and style, or adds it.
func put(steps []Step, s Step) []Step {
	i := slices.IndexFunc(steps, func(known Step) bool { return known.Name == s.Name && known.Style == s.Style })
	if i < 0 {
		return append(steps, s)
	}
	steps[i] = s
	return steps
}

// Get returns how far a test is, and a channel that is closed when it changes. It reports false for an id without a test.
func (r *Runs) Get(id string) (Status, <-chan struct{}, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.runs[id]
	if b == nil {
		return Status{}, nil, false
	}
	s := b.run
	s.Steps = slices.Clone(s.Steps)
	return s, b.changed, true
}

// Cancel ends a test. It does nothing when the test has ended or there is none.
func (r *Runs) Cancel(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.runs[id]; b != nil && !b.run.Done {
		b.run.Cancelled = true
		b.cancel()
	}
}
