//go:build !race

package process

import (
	"os"
	"runtime"
	"syscall"
)

// These are PR_SET_TIMERSLACK and PR_GET_TIMERSLACK of linux/prctl.h, which count nanoseconds.
const (
	setTimerSlack = 29
	getTimerSlack = 30
)

// relaxTimers works on one thread: a program inherits the slack of the thread that starts it.
func relaxTimers() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if slack, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, getTimerSlack, 0, 0); errno != 0 || slack != uintptr(timerSlackDefault) {
		return
	}
	name, err := os.Executable() // The process takes its name in lists from this path.
	if err != nil {
		return
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, uintptr(timerSlack), 0); errno == 0 {
		//nolint:gosec // It is this program.
		_ = syscall.Exec(name, os.Args, os.Environ())
	}
}
