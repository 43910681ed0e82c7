package nonblock_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"umg/app/nonblock"
)

// pair is a connection of a kind, whose first end is a Conn.
func pair(t *testing.T, network, address string) (*nonblock.Conn, net.Conn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := (&net.Dialer{}).DialContext(t.Context(), network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close(); accepted.Close() })
	return nonblock.New(dialed), accepted
}

// TestConnCarriesTheSameBytes sends more than a socket holds in both directions at once.
func TestConnCarriesTheSameBytes(t *testing.T) {
	t.Parallel()
	sent := make([]byte, 8<<20)
	_, _ = rand.Read(sent)
	ends := map[string]func(t *testing.T) (*nonblock.Conn, net.Conn){
		"tcp": func(t *testing.T) (*nonblock.Conn, net.Conn) { t.Helper(); return pair(t, "tcp", "127.0.0.1:0") },
		"unix": func(t *testing.T) (*nonblock.Conn, net.Conn) {
			t.Helper()
			return pair(t, "unix", filepath.Join(t.TempDir(), "socket"))
		},
		"no socket": func(*testing.T) (*nonblock.Conn, net.Conn) { a, b := net.Pipe(); return nonblock.New(a), b },
	}
	for name, open := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, other := open(t)
			echoed := make(chan error, 1)
			// goroutine: the test waits for it; it ends when it has sent back all bytes.
			go func() {
				_, err := io.CopyN(struct{ io.Writer }{other}, struct{ io.Reader }{other}, int64(len(sent)))
				echoed <- errors.Join(err, other.Close())
			}()
			written := make(chan error, 1)
			// goroutine: the test waits for it; it ends when all bytes are written.
			go func() {
				n, err := c.Write(sent)
				if n != len(sent) && err == nil {
					err = io.ErrShortWrite
				}
				written <- err
			}()
			got, err := io.ReadAll(c)
			if err := errors.Join(err, <-written, <-echoed); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, sent) {
				t.Errorf("%d bytes came back, and not those %d that were sent", len(got), len(sent))
			}
		})
	}
}

func TestConnWaitsUntilItsDeadline(t *testing.T) {
	t.Parallel()
	c, _ := pair(t, "tcp", "127.0.0.1:0")
	limit := func() {
		if err := c.SetDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	limit()
	var timeout net.Error
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a read returned %d and %v", n, err)
	}
	more := make([]byte, 64<<20) // A socket does not hold so many bytes.
	limit()
	if n, err := c.Write(more); n <= 0 || n >= len(more) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a write returned %d and %v", n, err)
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(nil); n != 0 || err != nil {
		t.Errorf("a read of nothing returned %d and %v", n, err)
	}
}

// TestConnFailsAsPackageNet compares the errors of a connection that its other end has reset, and of one that was closed.
func TestConnFailsAsPackageNet(t *testing.T) {
	t.Parallel()
	fail := func(t *testing.T, plain bool) (read, write, closed error) {
		t.Helper()
		c, other := pair(t, "tcp", "127.0.0.1:0")
		end := net.Conn(c)
		if plain {
			end = c.Conn
		}
		if err := errors.Join(other.(*net.TCPConn).SetLinger(0), other.Close()); err != nil { // It resets the connection.
			t.Fatal(err)
		}
		_, read = end.Read(make([]byte, 1))
		_, write = end.Write([]byte("x"))
		if err := end.Close(); err != nil {
			t.Fatal(err)
		}
		_, closed = end.Read(make([]byte, 1))
		return read, write, closed
	}
	read, write, closed := fail(t, false)
	if !errors.Is(read, syscall.ECONNRESET) || !errors.Is(write, syscall.EPIPE) || !errors.Is(closed, net.ErrClosed) {
		t.Errorf("the errors are %v, %v and %v", read, write, closed)
	}
	plainRead, plainWrite, plainClosed := fail(t, true)
	for _, each := range [][2]error{{read, plainRead}, {write, plainWrite}, {closed, plainClosed}} {
		got, want := &net.OpError{}, &net.OpError{}
		if !errors.As(each[0], &got) || !errors.As(each[1], &want) || got.Op != want.Op || got.Net != want.Net || got.Err.Error() != want.Err.Error() ||
			got.Source == nil || got.Addr == nil {
			t.Errorf("the error is %#v, and that of package net %#v", each[0], each[1])
		}
	}
}
