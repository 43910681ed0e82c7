package operator

import (
	"strings"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// ProviderTest is a test of a provider: what it will call, and how far it is.
type ProviderTest struct {
	views.Shell
	Provider ProviderAbout
	Models   []TestModel // Models has an entry for each style that the provider speaks.
	State    TestState
	Steps    []TestStep
	Started  time.Time
	Took     time.Duration
	Calls    int
	Cost     app.Amount
	Listed   int // Listed is how many models the provider has listed.
	Problem  string
}

// TestState is how far a test is.
type TestState string

// These are the states of a test.
const (
	TestNone      TestState = ""
	TestRunning   TestState = "running"
	TestPassed    TestState = "passed"
	TestFailed    TestState = "failed"
	TestCancelled TestState = "cancelled"
)

// TestModel is the model that a test calls in a style.
type TestModel struct {
	Style, Label string // Label names the style for people.
	Model        string
	Suggestions  []string
	Error        string
}

// These are the states of a step.
const (
	StepWaiting = "waiting"
	StepRunning = "running"
	StepPassed  = "passed"
	StepFailed  = "failed"
	StepSkipped = "skipped"
)

// TestStep is a step of a test.
type TestStep struct {
	Name                          string // Name is in words, such as Stream.
	Style                         string // Style is in words. It is empty for the steps of the whole provider.
	Model                         string
	State                         string
	Took                          time.Duration
	Detail, ProviderWords, Advice string
	Input, Output                 int64
	Cost                          *app.Amount
}

func (s TestStep) verdict() views.Badge {
	switch s.State {
	case StepRunning:
		return views.Badge{Tone: ui.Info, Text: "Running"}
	case StepPassed:
		return views.Badge{Tone: ui.Success, Text: "Passed"}
	case StepFailed:
		return views.Badge{Tone: ui.Danger, Text: "Failed"}
	case StepSkipped:
		return views.Badge{Tone: ui.Plain, Text: "Skipped"}
	}
	return views.Badge{Tone: ui.Plain, Text: "Waiting"}
}

// used says what the call of a step used.
func (s TestStep) used() string {
	var words []string
	if s.Input+s.Output > 0 {
		words = append(words, format.Count(s.Input)+" in, "+format.Count(s.Output)+" out")
	}
	switch {
	case s.Cost != nil:
		words = append(words, format.Dollars(*s.Cost))
	case s.Input+s.Output > 0:
		words = append(words, "cost unknown")
	}
	return strings.Join(words, " · ")
}

// took is the time of a step that has ended.
func (s TestStep) took() string {
	if s.State == StepWaiting || s.State == StepRunning || s.State == StepSkipped {
		return ""
	}
	return format.Duration(s.Took)
}

// title is the sentence above the steps.
func (t ProviderTest) title() string {
	switch t.State {
	case TestRunning:
		return "The test is running"
	case TestPassed:
		return t.Provider.Name + " works"
	case TestCancelled:
		return "The test was cancelled"
	case TestFailed:
		return t.failure()
	}
	return ""
}

// failure names the steps that failed.
func (t ProviderTest) failure() string {
	failed := 0
	for _, s := range t.Steps {
		if s.State == StepFailed {
			failed++
		}
	}
	if failed == 0 {
		return "No test call was answered"
	}
	return format.CountOf(int64(failed), "step failed", "steps failed")
}

func (t ProviderTest) tone() ui.Tone {
	switch t.State {
	case TestPassed:
		return ui.Success
	case TestFailed:
		return ui.Danger
	case TestCancelled:
		return ui.Warning
	}
	return ui.Info
}

// summary says what the test cost.
func (t ProviderTest) summary() string {
	if t.State == TestRunning {
		return "Each step has a minute. You can leave this page: the test goes on."
	}
	calls := format.CountOf(int64(t.Calls), "test call", "test calls")
	text := calls + " for " + format.Dollars(t.Cost) + ", in " + format.Duration(t.Took) + "."
	if t.Listed > 0 {
		text += " The provider lists " + format.CountOf(int64(t.Listed), "model", "models") + "."
	}
	return text
}

// stepGroup is the steps of one style, or those of the whole provider.
type stepGroup struct {
	title, model string
	steps        []TestStep
}

func (t ProviderTest) groups() (all []stepGroup) {
	for _, s := range t.Steps {
		title := s.Style
		if title == "" {
			title = "Provider"
		}
		if n := len(all); n == 0 || all[n-1].title != title {
			all = append(all, stepGroup{title: title})
		}
		g := &all[len(all)-1]
		g.steps = append(g.steps, s)
		if s.Model != "" {
			g.model = s.Model
		}
	}
	return all
}

func (t ProviderTest) path(parts ...string) string {
	return views.ProviderPath(t.Provider.ID, append([]string{"test"}, parts...)...)
}

func (m TestModel) hint(first bool) string {
	if !first {
		return ""
	}
	return "The provider's name of a model. A style without one is not tested."
}

func (t ProviderTest) startText() string {
	if t.State == TestNone {
		return "Start the test"
	}
	return "Test again"
}

func (t ProviderTest) startVariant() ui.Variant {
	if t.State == TestPassed {
		return ui.Outline
	}
	return ui.Primary
}

func (t ProviderTest) skipText() string {
	if t.State == TestPassed {
		return "Choose models"
	}
	return "Choose models without a test"
}
