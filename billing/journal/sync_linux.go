package journal

import (
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// These are IOCB_CMD_FDSYNC and IOCB_FLAG_RESFD of linux/aio_abi.h.
const (
	aioDataSync = 3
	aioEvent    = 1
)

// aioRequest is struct iocb of linux/aio_abi.h.
type aioRequest struct {
	_         [2]uint64
	operation uint16
	_         int16
	file      uint32
	_         [4]uint64
	flags     uint32
	event     uint32
}

// aioResult is struct io_event of linux/aio_abi.h. Code is negative for an error.
type aioResult struct {
	_       [2]uint64
	code, _ int64
}

// backgroundSync makes files durable by the asynchronous I/O of Linux. A thread that waits in fdatasync keeps the monitor thread of the Go
// scheduler awake, which looks every 20 µs whether the call still runs; here no thread of the process waits. It makes one sync at a time.
type backgroundSync struct {
	mu      sync.Mutex
	context uintptr  // Context is that of io_setup.
	ended   *os.File // Ended is an eventfd, whose counter grows at the end of each sync. No one reads it.
	waiter  syscall.RawConn
	advance func(fd uintptr) bool

	request aioRequest
	list    *aioRequest // List is the list of requests for io_submit, which is this one.
	result  aioResult
	stage   syncStage
	errno   syscall.Errno // Errno is the error of a system call about the sync.
}

type syncStage uint8

const (
	syncUnasked syncStage = iota
	syncRefused           // The system does not make it.
	syncRuns
	syncEnded // Its result is there, or lost with errno.
)

// newBackgroundSync returns nil where the system does not allow it.
func newBackgroundSync() *backgroundSync {
	s := &backgroundSync{}
	//nolint:gosec // It is a field of s.
	if _, errno := aio(syscall.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&s.context)), 0, 0); errno != 0 {
		return nil
	}
	fd, errno := aio(syscall.SYS_EVENTFD2, 0, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0, 0)
	if errno != 0 {
		s.close()
		return nil
	}
	s.ended = os.NewFile(fd, "ended syncs")
	s.request = aioRequest{operation: aioDataSync, flags: aioEvent, event: uint32(fd)}
	s.list, s.advance = &s.request, s.ask
	var err error
	if s.waiter, err = s.ended.SyscallConn(); err != nil {
		s.close()
		return nil
	}
	return s
}

// sync makes the data of a file durable. It reports false when it made no sync, because another one runs or the system refuses.
func (s *backgroundSync) sync(f *os.File) (done bool, err error) {
	if s == nil || !s.mu.TryLock() {
		return false, nil
	}
	defer s.mu.Unlock()
	s.request.file, s.stage, s.errno = uint32(f.Fd()), syncUnasked, 0
	err = s.waiter.Read(s.advance)
	switch {
	case s.stage <= syncRefused:
		return false, nil
	case err != nil:
		return true, err
	case s.errno != 0:
		return true, os.NewSyscallError("io_getevents", s.errno)
	case s.result.code < 0:
		return true, os.NewSyscallError("fdatasync", syscall.Errno(-s.result.code))
	}
	return true, nil
}

// ask begins the sync at its first call, and then looks whether it has ended. It reports whether there is nothing to wait for. The sync
// begins here, because what became readable before the first call is forgotten.
func (s *backgroundSync) ask(uintptr) bool {
	if s.stage == syncUnasked {
		//nolint:gosec // It is a field of s.
		if _, errno := aio(syscall.SYS_IO_SUBMIT, s.context, 1, uintptr(unsafe.Pointer(&s.list)), 0); errno != 0 {
			s.stage = syncRefused
			return true
		}
		s.stage = syncRuns
		return false
	}
	//nolint:gosec // It is a field of s.
	n, errno := aio(syscall.SYS_IO_GETEVENTS, s.context, 0, 1, uintptr(unsafe.Pointer(&s.result)))
	if n == 0 && errno == 0 {
		return false
	}
	s.stage, s.errno = syncEnded, errno
	return true
}

// close gives up what the system holds. No sync may run.
func (s *backgroundSync) close() {
	if s == nil || s.context == 0 {
		return
	}
	_, _ = aio(syscall.SYS_IO_DESTROY, s.context, 0, 0, 0)
	s.context = 0
	if s.ended != nil {
		_ = s.ended.Close()
	}
}

// aio makes a system call that does not wait. Arguments that are addresses are those of fields of a value that the caller keeps.
func aio(number, a, b, c, d uintptr) (uintptr, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(number, a, b, c, d, 0, 0)
	return n, errno
}
