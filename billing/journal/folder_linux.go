package journal

import (
	"errors"
	"os"
	"syscall"
)

// allocate reserves the space of a file where the disk can, so that a full disk fails at once. The zeros must still be written, because
// blocks that were never written cost a change of metadata at every sync.
func allocate(f *os.File, size int64) error {
	err := eintr(func() error { return syscall.Fallocate(int(f.Fd()), 0, 0, size) })
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return nil
	}
	return err
}

func dataSync(f *os.File) error {
	return eintr(func() error { return syscall.Fdatasync(int(f.Fd())) })
}

func eintr(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
