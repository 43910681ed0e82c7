package check_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"umg/app"
	"umg/app/provider/check"
	"umg/app/simulator/emulator"
)

// await waits until a test has come so far.
func await(t *testing.T, r *check.Runs, id string, isThere func(check.Status) bool) check.Status {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		s, changed, ok := r.Get(id)
		if !ok {
			t.Fatalf("there is no test %s", id)
		}
		if isThere(s) {
			return s
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("the test is stuck: %+v", s)
		}
	}
}

func newRuns(t *testing.T) *check.Runs {
	t.Helper()
	r := check.NewRuns(time.Now)
	t.Cleanup(r.Close)
	return r
}

func isDone(s check.Status) bool { return s.Done }

// isStuckAt reports whether a test waits in a step.
func isStuckAt(name string) func(check.Status) bool {
	return func(s check.Status) bool {
		for _, step := range s.Steps {
			if step.Name == name && step.State == check.Running {
				return true
			}
		}
		return false
	}
}

func TestATestInTheBackgroundIsFollowed(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	r := newRuns(t)
	if _, _, ok := r.Get("p"); ok {
		t.Error("there is a test before one was started")
	}
	if err := r.Start("p", b.options(find(t, "openai"))); err != nil {
		t.Fatal(err)
	}
	s := await(t, r, "p", isDone)
	if !s.Result.Passed || s.Cancelled || len(s.Steps) != 11 || s.ID != "p" || s.Started.IsZero() {
		t.Errorf("%+v\n%s", s, states(s.Result))
	}
	r.Cancel("p") // A test that has ended stays as it is.
	r.Cancel("unknown")
	if s, _, _ := r.Get("p"); s.Cancelled || !s.Result.Passed {
		t.Errorf("%+v", s)
	}
	if err := r.Start("p", b.options(find(t, "groq"))); err != nil { // A test is repeated under its id.
		t.Fatal(err)
	}
	if s := await(t, r, "p", isDone); !s.Result.Passed || len(s.Steps) != 7 {
		t.Errorf("repeated: %+v", s)
	}
}

func TestATestInTheBackgroundIsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	b.Add(emulator.Rule{Fault: emulator.Stall, Path: "/chat/"})
	r := newRuns(t)
	o := b.options(find(t, "groq"))
	if err := r.Start("p", o); err != nil {
		t.Fatal(err)
	}
	await(t, r, "p", isStuckAt("call"))
	if e, _ := errors.AsType[*app.Error](r.Start("p", o)); e == nil || e.Kind != app.Conflict || e.Code != "test_running" {
		t.Errorf("a second test at once: %v", e)
	}
	r.Cancel("p")
	if s := await(t, r, "p", isDone); !s.Cancelled || s.Result.Passed || !s.Result.Cancelled {
		t.Errorf("%+v", s)
	}
}

// TestTestsInTheBackgroundAreBounded starts as many tests as may run at once, and one more. Close ends them.
func TestTestsInTheBackgroundAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	b.Add(emulator.Rule{Fault: emulator.Stall})
	r := newRuns(t)
	o := b.options(find(t, "groq"))
	refused := 0
	for i := range 12 {
		if e, _ := errors.AsType[*app.Error](r.Start(fmt.Sprint(i), o)); e != nil {
			refused++
			if e.Kind != app.Exhausted || e.Code != "too_many_tests" {
				t.Errorf("%v", e)
			}
		}
	}
	if refused != 4 {
		t.Errorf("%d tests were refused", refused)
	}
	r.Close()
	for i := range 8 {
		if s, _, ok := r.Get(fmt.Sprint(i)); !ok || !s.Done || !s.Result.Cancelled {
			t.Errorf("test %d goes on: %+v", i, s)
		}
	}
	if err := r.Start("late", o); err == nil {
		t.Error("a test was started after the end")
	}
}

// TestOldTestsAreForgotten starts more tests than are remembered.
func TestOldTestsAreForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	r := newRuns(t)
	o := b.options(find(t, "groq"))
	o.Models = nil
	for i := range 70 {
		if err := r.Start(fmt.Sprint(i), o); err != nil {
			t.Fatal(err)
		}
		await(t, r, fmt.Sprint(i), isDone)
	}
	if _, _, ok := r.Get("0"); ok {
		t.Error("the oldest test is remembered")
	}
	if _, _, ok := r.Get("69"); !ok {
		t.Error("the newest test is forgotten")
	}
}
