package plainhttp

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestASecondReadOfAWatchLosesNoByte has the next request arrive before the answer is over, while the late timer of an earlier request
// and the timer of this one both read.
func TestASecondReadOfAWatchLosesNoByte(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	rwc, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Main: &http.Server{ReadHeaderTimeout: time.Minute}})
	s.base = t.Context()
	c := newConn(s, rwc)
	defer func() { _ = rwc.Close() }()
	const next = "POST / HTTP/1.1\r\n\r\n"
	if _, err := io.WriteString(client, next); err != nil {
		t.Fatal(err)
	}
	c.watch.begin()
	c.watch.read()
	c.watch.read()
	c.watch.stop()
	if !c.receive(time.Minute) || string(c.in[c.r:c.w]) != next {
		t.Errorf("the next request is %q, want %q", c.in[c.r:c.w], next)
	}
}
