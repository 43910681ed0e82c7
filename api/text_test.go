package api

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
		now := func() time.Time { return time.Now().Add(left - bodyGrace) }
		_, err := io.ReadAll(PaceBody(w, r.Body, bytesMax, jsonTimeMax, now))
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
	for _, size := range []int{0, 1, bodyStep - 1, bodyStep, 5 * bodyStep} {
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

func TestAClientThatStopsReadingEnds(t *testing.T) {
	t.Parallel()
	result := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		extendWrite(w, time.Now().Add(100*time.Millisecond-writeStallMax))
		chunk := make([]byte, 1<<20)
		for {
			if _, err := w.Write(chunk); err != nil {
				result <- err
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if err := <-result; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writing ended with %v", err)
	}
}
