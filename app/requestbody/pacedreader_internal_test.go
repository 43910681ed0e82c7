package requestbody

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// paced serves bodies whose clock runs ahead by what is left of the grace.
func paced(t *testing.T, bytesMax int64, left time.Duration) (*httptest.Server, chan error) {
	t.Helper()
	result := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := func() time.Time { return time.Now().Add(left - graceTime) }
		_, err := io.ReadAll(Pace(w, r.Body, bytesMax, 2*time.Minute, now))
		result <- err
		if err == nil && r.Context().Err() != nil {
			t.Error("a deadline of the body outlived it and looks like a client that left")
		}
	}))
	t.Cleanup(srv.Close)
	return srv, result
}

func TestABodyThatComesTooSlowlyEnds(t *testing.T) {
	t.Parallel()
	srv, result := paced(t, 1<<20, 50*time.Millisecond)
	conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nslow")
	if err := <-result; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading ended with %v", err)
	}
}

func TestABodyInTimeIsReadAndItsConnectionServesOn(t *testing.T) {
	t.Parallel()
	srv, result := paced(t, 1<<20, 5*time.Second)
	conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	b := bufio.NewReader(conn)
	for _, size := range []int{0, 1, stepBytes - 1, stepBytes, 5 * stepBytes} {
		req, _ := http.NewRequest(http.MethodPost, srv.URL, strings.NewReader(strings.Repeat("x", size)))
		if err := req.Write(conn); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(b, req)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		_ = resp.Body.Close()
		if err := <-result; err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestABodyBeyondItsLimitEnds(t *testing.T) {
	t.Parallel()
	srv, result := paced(t, 100, 5*time.Second)
	for size, tooMuch := range map[int]bool{100: false, 101: true, 1 << 20: true} {
		resp, err := srv.Client().Post(srv.URL, "application/json", struct{ io.Reader }{strings.NewReader(strings.Repeat("x", size))})
		if err == nil {
			_ = resp.Body.Close()
		}
		var large *http.MaxBytesError
		if got := <-result; errors.As(got, &large) != tooMuch {
			t.Errorf("%d bytes: %v", size, got)
		}
	}
}

// deadlineNoter notes the deadline of a connection.
type deadlineNoter struct {
	http.ResponseWriter

	until time.Time
}

func (n *deadlineNoter) SetReadDeadline(until time.Time) error {
	n.until = until
	return nil
}

// TestTheDeadlineOfABodyMovesWithItsBytes reads a body in steps and looks at the deadline that each has.
func TestTheDeadlineOfABodyMovesWithItsBytes(t *testing.T) {
	t.Parallel()
	began := time.Now()
	connection := &deadlineNoter{}
	p := &PacedReader{ReadCloser: io.NopCloser(trickle(8 << 20)), connection: connection, started: began, timeMax: 120 * time.Second}
	read := 0
	for _, c := range []struct {
		bytes int
		until time.Duration
	}{
		{0, 5 * time.Second}, {32 << 10, 7 * time.Second}, {160 << 10, 15 * time.Second}, {1600 << 10, 105 * time.Second},
		{4 << 20, 120 * time.Second},
	} {
		if _, err := io.CopyN(io.Discard, p, int64(c.bytes-read)); err != nil {
			t.Fatal(err)
		}
		read = c.bytes
		if _, err := p.Read(make([]byte, 0)); err != nil {
			t.Fatal(err)
		}
		if deadline := connection.until.Sub(began); deadline != c.until {
			t.Errorf("after %d KiB the next must come within %s, want %s", c.bytes>>10, deadline, c.until)
		}
	}
}
