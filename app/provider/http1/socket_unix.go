//go:build unix

package http1

import (
	"os"
	"syscall"
)

const canReadRaw = true

// readNow reads what has arrived. It returns errWouldBlock when there is nothing, and no bytes without an error at the end.
func readNow(fd uintptr, p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), p)
		switch err {
		case nil:
			return n, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, errWouldBlock
		default:
			return 0, os.NewSyscallError("read", err)
		}
	}
}
