//go:build !linux

package local

import "syscall"

// endWithUs does nothing where the kernel offers no such signal; the next start finds the orphan and stops it.
func endWithUs(*syscall.SysProcAttr, syscall.Signal) {}
