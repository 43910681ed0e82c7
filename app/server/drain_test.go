package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// get asks on a connection that is open, and says whether the server wants it closed.
func get(t *testing.T, conn net.Conn, b *bufio.Reader, path string) (status int, closes bool) {
	t.Helper()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(b, nil)
	if err != nil {
		t.Fatalf("a connection was closed under a call: %v", err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Close
}

// TestALeavingServerAnswersFirst holds connections open while the server fails /readyz: each gets its next answer and is asked
// to close with it, and new ones are taken until the lame-duck time is over.
func TestALeavingServerAnswersFirst(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.LameDuck = time.Second })
	address := strings.TrimPrefix(s.url, "http://")
	idle, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = idle.Close() }()
	b := bufio.NewReader(idle)
	if status, closes := get(t, idle, b, "/console"); status != http.StatusOK || closes {
		t.Errorf("before: %d, close %v", status, closes)
	}
	s.stop()
	for call(t, "GET", s.ops+"/readyz", "").status == http.StatusOK {
	}
	if status, closes := get(t, idle, b, "/console"); status != http.StatusOK || !closes {
		t.Errorf("on an old connection: %d, close %v", status, closes)
	}
	fresh, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("a connection is refused in the lame-duck time: %v", err)
	}
	defer func() { _ = fresh.Close() }()
	if status, closes := get(t, fresh, bufio.NewReader(fresh), "/console"); status != http.StatusOK || !closes {
		t.Errorf("on a new connection: %d, close %v", status, closes)
	}
}

// TestAnHTTP2ConnectionFinishesItsStreams leaves while a stream of HTTP/2 runs: it is delivered to its end, and the connection
// takes no other.
func TestAnHTTP2ConnectionFinishesItsStreams(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.H2C = true })
	only2 := &http.Protocols{}
	only2.SetUnencryptedHTTP2(true)
	client := &http.Transport{Protocols: only2}
	defer client.CloseIdleConnections()
	got := make(chan string, 1)
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/console/wait", nil)
		if err != nil {
			got <- err.Error()
			return
		}
		resp, err := client.RoundTrip(req)
		if err != nil {
			got <- err.Error()
			return
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		got <- fmt.Sprint(resp.ProtoMajor, " ", string(text), " ", err)
	}()
	<-s.pages.entered
	s.stop()
	waitUntilDraining(t, s)
	close(s.pages.release)
	if text := <-got; text != "2 finished <nil>" {
		t.Errorf("the running stream got %q", text)
	}
	if err := <-s.done; err != nil {
		t.Errorf("Run: %v", err)
	}
	s.done <- nil
}
