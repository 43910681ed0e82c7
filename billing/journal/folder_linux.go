package journal

import (
	"errors"
	"os"
	"syscall"
)

// allocate reserves the space first, so a full disk fails at once. The zeros are still written, because blocks that were
// never written cost a change of metadata at every sync.
func allocate(f *os.File, size int64) error {
	err := eintr(func() error { return syscall.Fallocate(int(f.Fd()), 0, 0, size) })
	if err != nil && !errors.Is(err, syscall.EOPNOTSUPP) {
		return err
	}
	return fill(f, size)
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
