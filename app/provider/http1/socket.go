package http1

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"umg/app/nonblock"
)

// directBytesMin is the size from which a read goes to the caller's memory instead of a pooled buffer.
const directBytesMin = 4 << 10

// errWouldBlock is returned by Read of a socket that does not wait. It is temporary, so that crypto/tls keeps what it has of a record
// and continues with the next call.
var errWouldBlock net.Error = wouldBlockError{}

type wouldBlockError struct{}

func (wouldBlockError) Error() string   { return "http1: no bytes have arrived" }
func (wouldBlockError) Timeout() bool   { return true }
func (wouldBlockError) Temporary() bool { return true }

// socket is a connection to a server or a proxy. It takes memory for received bytes only after they have arrived. One goroutine at a
// time may read.
type socket struct {
	net.Conn

	raw     syscall.RawConn // Raw is nil for a connection that is not a socket of the system.
	attempt func(fd uintptr) bool
	in      buffer

	target  []byte // Target is where the current read goes; nil for the buffer.
	n       int    // N and err are the result of the current read.
	err     error
	waits   bool // Waits is whether the current read waits for bytes.
	waited  bool // The current read has waited.
	drained bool // The last read took all bytes that had arrived.
	async   bool // Read returns errWouldBlock instead of waiting.

	failed error        // Failed ended the reading.
	sent   atomic.Int64 // Sent counts the bytes that were written.
}

func newSocket(c net.Conn) *socket {
	s := &socket{Conn: nonblock.New(c)}
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			s.raw, s.attempt = raw, s.tryRead
		}
	}
	return s
}

// tryRead makes one read that does not wait. It reports whether the read is over.
func (s *socket) tryRead(fd uintptr) bool {
	if s.waited {
		runtime.Gosched() // While the machine is busy, more bytes arrive until the turn of this goroutine comes, for fewer reads and writes.
	}
	s.waited = s.waits
	p := s.target
	if p == nil {
		p = s.in.free()
	}
	s.n, s.err = readNow(fd, p)
	if s.err == errWouldBlock { //nolint:errorlint // It is the value itself.
		s.drained = true
		if s.target == nil {
			s.in.release()
		}
		return !s.waits
	}
	s.drained = s.n < len(p)
	if s.err == nil && s.n == 0 {
		s.err = io.EOF
	}
	if s.target == nil {
		s.in.w += max(s.n, 0)
		s.in.release()
	}
	return true
}

// readNow reads what has arrived. It returns errWouldBlock when there is nothing, and no bytes without an error at the end.
func readNow(fd uintptr, p []byte) (int, error) {
	n, err := nonblock.Read(fd, p)
	if errors.Is(err, syscall.EAGAIN) {
		return 0, errWouldBlock
	}
	return n, os.NewSyscallError("read", err)
}

// readOnce reads to p, or to the buffer when p is nil.
func (s *socket) readOnce(p []byte, waits bool) (int, error) {
	if s.failed != nil {
		return 0, s.failed
	}
	if s.raw == nil {
		return s.readPlain(p, waits)
	}
	s.target, s.waits, s.waited, s.n, s.err = p, waits, false, 0, nil
	err := s.raw.Read(s.attempt)
	s.target = nil
	if err == nil {
		err = s.err
	}
	if err != nil && err != errWouldBlock { //nolint:errorlint // It is the value itself.
		s.failed = err
	}
	return s.n, err
}

// readPlain is readOnce for a connection that is not a socket of the system. It holds memory while it waits.
func (s *socket) readPlain(p []byte, waits bool) (int, error) {
	if !waits {
		return 0, errWouldBlock
	}
	to := p
	if to == nil {
		to = s.in.free()
	}
	n, err := s.Conn.Read(to)
	s.drained = true
	if p == nil {
		s.in.w += n
		s.in.release()
	}
	if err != nil {
		s.failed = err
		if n > 0 {
			err = nil
		}
	}
	return n, err
}

// receive waits for bytes and adds them to the buffer.
func (s *socket) receive() error {
	_, err := s.readOnce(nil, true)
	return err
}

// Read reads as crypto/tls needs it.
func (s *socket) Read(p []byte) (int, error) {
	if s.in.len() == 0 {
		switch {
		case s.failed != nil:
			return 0, s.failed
		case s.async && s.drained:
			return 0, errWouldBlock
		case len(p) >= directBytesMin:
			return s.readOnce(p, !s.async)
		}
		if _, err := s.readOnce(nil, !s.async); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.in.bytes())
	s.in.consume(n)
	return n, nil
}

// Write writes all of p.
func (s *socket) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	s.sent.Add(int64(n))
	return n, err
}

// past is a deadline that ends all reads and writes.
var past = time.Unix(1, 0)

// abort ends the reads and writes of the socket, now and later.
func (s *socket) abort() { _ = s.SetDeadline(past) }
