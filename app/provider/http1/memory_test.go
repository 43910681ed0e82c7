package http1

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
)

// TestAWaitingStreamHoldsNoBuffer reads all that has come of a stream.
func TestAWaitingStreamHoldsNoBuffer(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		defer far.Close()
		if _, err := http.ReadRequest(bufio.NewReader(far)); err == nil {
			_, _ = io.WriteString(far, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
		}
		_, _ = io.Copy(io.Discard, far)
	}()
	tr := New(Options{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://upstream.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := resp.Body.(*Exchange)
	if x == nil || x.conn.in.data == nil {
		t.Fatal("the bytes of the body are not held")
	}
	if n, err := resp.Body.Read(make([]byte, 9)); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	if x.conn.in.data != nil {
		t.Errorf("%d bytes of memory are held without content", len(x.conn.in.data))
	}
	_ = resp.Body.Close()
	if x.conn.in.data != nil || x.conn.socket.in.data != nil {
		t.Error("a closed connection holds memory")
	}
}
