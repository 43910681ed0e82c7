package local

import "syscall"

// endWithUs makes the kernel send the signal to the child when the thread that made it dies, so that a killed gateway
// leaves no server behind.
func endWithUs(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
