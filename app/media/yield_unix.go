//go:build unix

package media

import "syscall"

// yield lets everything else on the machine go first. A process that refuses it, or has ended, is as good.
func yield(pid int) { _ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, nicePriority) }
