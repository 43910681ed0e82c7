//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// variable names the point to die at and how many passes over it to count, as in C6:3.
const variable = "UMG_FAILPOINT"

// controlVariable names the mistake to make.
const controlVariable = "UMG_CONTROL"

// sentences describe what has happened when the process dies at each point. Some points are not in the code: a test causes
// them from outside.
var sentences = map[Point]string{
	C0:  "The request is parsed.",
	C1:  "The lease is committed, but not yet in memory.",
	C2:  "The amount is reserved in memory, and the upstream is not called.",
	C3:  "The upstream is called, and no byte is forwarded.",
	C4:  "Some of the answer is forwarded, and its mark is in the journal.",
	C5:  "The upstream has finished, and the settlement is not in the journal.",
	C6:  "The settlement is in the journal, and not synced.",
	C7:  "The settlement is synced, and the last byte is not sent.",
	C8:  "Half a record is written; done from outside, by the journal's own tests.",
	C9:  "The last byte is sent, and the settlement is not applied.",
	C10: "The settlements are applied and committed, and the process does not know it yet.",
	C11: "The application of settlements is half done; done from outside, as it is one statement.",
	C12: "The recovery is half done.",
	C13: "The database dies at any step; done from outside.",
	C14: "The database is restored to an earlier point; done from outside.",
	C15: "The replica's disk is gone; done from outside.",
	C16: "The disk is full; done from outside.",
	C17: "A sync failed, and the settlement is not written to the database directly.",
	C18: "A video's job and hold are committed, and the upstream does not know it.",
	C19: "The upstream has made a video's job, and its id is not stored.",
	C20: "A video's end is committed, and its webhook is not sent.",
	C21: "A payment is made, and its webhook is not handled.",
}

var chosen = sync.OnceValue(func() *choice {
	text := os.Getenv(variable)
	if text == "" {
		return &choice{}
	}
	name, nth, _ := strings.Cut(text, ":")
	count, err := strconv.ParseInt(nth, 10, 64)
	if _, known := sentences[Point(name)]; !known || err != nil || count < 1 {
		panic(fmt.Sprintf("%s=%q is not a point and a number, as in C6:3", variable, text))
	}
	c := &choice{point: Point(name)}
	c.left.Store(count)
	return c
})

// Variables are the environment names that this build reads in addition to the settings.
func Variables() []string { return []string{variable, controlVariable} }

var control = sync.OnceValue(func() Control { return Control(os.Getenv(controlVariable)) })

// On reports whether the environment names this mistake.
func On(c Control) bool { return control() == c }

type choice struct {
	point Point
	left  atomic.Int64
}

// At kills the process when this is the pass that the environment names, as a power cut or an operator would.
func At(p Point) {
	c := chosen()
	if c.point != p || c.left.Add(-1) != 0 {
		return
	}
	fmt.Fprintf(os.Stderr, "dying at %s: %s\n", p, sentences[p])
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // No code after the point may run.
}
