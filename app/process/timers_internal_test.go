//go:build linux && !race

package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// helperVariable holds the timer slack with which the helper process begins, in nanoseconds.
const helperVariable = "TEST_TIMER_SLACK"

// TestMain is the helper process, too: it relaxes its timers and prints its process id and the slack of a new thread.
func TestMain(m *testing.M) {
	begins := os.Getenv(helperVariable)
	if begins == "" {
		os.Exit(m.Run())
	}
	if slack, err := strconv.Atoi(begins); err == nil {
		runtime.LockOSThread()
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, uintptr(slack), 0)
		_ = os.Setenv(helperVariable, "set")
		_ = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	RelaxTimers()
	slack, _, _ := syscall.RawSyscall(syscall.SYS_PRCTL, getTimerSlack, 0, 0)
	fmt.Println(os.Getpid(), slack, strings.Join(os.Args[1:], " "))
	os.Exit(0)
}

func TestTimersRelax(t *testing.T) {
	for _, c := range []struct {
		name    string
		as      string
		slackNS int
	}{
		{"slack of the system", "50000", 500_000},
		{"less, which someone has set", "1000", 1000},
		{"more, which someone has set", "2000000", 2_000_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			helper := exec.CommandContext(t.Context(), "/proc/self/exe", "an argument")
			helper.Env = append(os.Environ(), helperVariable+"="+c.as)
			out, err := helper.Output()
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintln(helper.Process.Pid, c.slackNS, "an argument"); string(out) != want {
				t.Errorf("the process says %q, want %q", out, want)
			}
		})
	}
}
