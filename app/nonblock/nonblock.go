// Package nonblock reads and writes sockets by system calls that the scheduler of Go does not watch.
//
// Sockets of Go never make a system call wait, and the scheduler does not know that: each call wakes its monitor thread, which then looks
// every 20 µs whether the call still runs. In a process that serves few calls at a time that thread takes a fifth of the processor time:
// with streams whose events are 5 ms apart, 1.5 of 7.6 ms for a stream. On Linux alone they are such calls; elsewhere, and in builds with
// the race detector, which follows the calls of package syscall, they are the usual ones.
package nonblock

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Conn is a connection whose reads and writes are such calls, if it is a socket. One goroutine at a time may read, and one may write.
type Conn struct {
	net.Conn

	raw syscall.RawConn // Raw is nil for a connection that is not a socket.
	in  operation
	out operation
}

// operation is a read or write that runs.
type operation struct {
	try   func(fd uintptr) bool // Try goes on with it and reports whether it is over.
	bytes []byte
	done  int
	err   error
}

// New makes a Conn of a connection, which closes with it.
func New(c net.Conn) *Conn {
	s := &Conn{Conn: c}
	if socket, ok := c.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			s.raw, s.in.try, s.out.try = raw, s.in.read, s.out.write
		}
	}
	return s
}

// Read reads what has arrived, and waits if that is nothing. Its errors are those of package net.
func (c *Conn) Read(p []byte) (int, error) {
	if c.raw == nil || len(p) == 0 {
		return c.Conn.Read(p)
	}
	n, err := c.run("read", &c.in, c.raw.Read, p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write writes all of p. Its errors are those of package net.
func (c *Conn) Write(p []byte) (int, error) {
	if c.raw == nil {
		return c.Conn.Write(p)
	}
	return c.run("write", &c.out, c.raw.Write, p)
}

// run makes an operation and returns how many bytes it read or wrote. Repeat calls its function until it is over or the connection ends.
func (c *Conn) run(name string, o *operation, repeat func(func(uintptr) bool) error, p []byte) (int, error) {
	o.bytes = p
	err := repeat(o.try)
	n, failure := o.done, o.err
	o.bytes, o.done, o.err = nil, 0, nil
	if ended, ok := errors.AsType[*net.OpError](err); ok {
		ended.Op = name
		return n, ended
	}
	if err == nil && failure != nil {
		local := c.LocalAddr()
		err = &net.OpError{Op: name, Net: local.Network(), Source: local, Addr: c.RemoteAddr(), Err: os.NewSyscallError(name, failure)}
	}
	return n, err
}

func (o *operation) read(fd uintptr) bool {
	o.done, o.err = Read(fd, o.bytes)
	return !errors.Is(o.err, syscall.EAGAIN)
}

func (o *operation) write(fd uintptr) bool {
	for o.done < len(o.bytes) {
		n, err := retried(write, fd, o.bytes[o.done:])
		if err != nil {
			o.err = err
			return !errors.Is(err, syscall.EAGAIN)
		}
		o.done += n
	}
	o.err = nil
	return true
}

// Read makes one read of a socket. It returns syscall.EAGAIN when nothing has arrived, and no bytes without an error at the end.
func Read(fd uintptr, p []byte) (int, error) { return retried(read, fd, p) }

// retried repeats a call that a signal interrupted.
func retried(call func(fd uintptr, p []byte) (int, error), fd uintptr, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		if !errors.Is(err, syscall.EINTR) {
			return max(n, 0), err
		}
	}
}
