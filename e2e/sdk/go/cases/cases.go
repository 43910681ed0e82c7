// Package cases runs the cases of a program and prints a line of JSON for each, as the tests that start it read them.
package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// timeMax bounds one case: most of it is for machines that run many tests at once.
const timeMax = 40 * time.Second

// Run is the cases of one program.
type Run struct {
	failed bool
}

// Check runs one case.
func (r *Run) Check(name string, run func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeMax)
	defer cancel()
	line := struct {
		Case  string `json:"case"`
		Error string `json:"error,omitempty"`
	}{Case: name}
	if err := run(ctx); err != nil {
		r.failed, line.Error = true, err.Error()
	}
	text, err := json.Marshal(line)
	if err != nil {
		// Two texts always have a JSON form.
		panic(err)
	}
	fmt.Println(string(text))
}

// Exit ends the program, with status 1 when a case failed.
func (r *Run) Exit() {
	if r.failed {
		os.Exit(1)
	}
	os.Exit(0)
}

// Same is an error unless both are equal.
func Same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v and not %v", what, got, want)
	}
	return nil
}
