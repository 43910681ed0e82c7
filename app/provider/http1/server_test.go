package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"umg/app/provider/http1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const keptAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// server accepts connections and gives each to a function, over TLS or plain.
type server struct {
	url   string
	tls   *tls.Config // Tls trusts the server; nil for a plain one.
	conns atomic.Int64
}

// keys has a certificate for 127.0.0.1 and example.com.
var keys = sync.OnceValue(func() *httptest.Server {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	s.Close()
	return s
})

func trusting() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(keys().Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func newServer(t testing.TB, secure bool, answer func(net.Conn)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{url: "http://" + l.Addr().String() + "/"}
	if secure {
		s.url, s.tls = "https://"+l.Addr().String()+"/", trusting()
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			all.Go(func() {
				defer raw.Close()
				c := raw
				if secure {
					c = tls.Server(raw, &tls.Config{Certificates: keys().TLS.Certificates, MinVersion: tls.VersionTLS12})
				}
				answer(c)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return s
}

// readRequest reads a whole request.
func readRequest(in *bufio.Reader) *http.Request {
	r, err := http.ReadRequest(in)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

// answering answers all requests of a connection with the same bytes.
func answering(answer string) func(net.Conn) {
	return func(c net.Conn) {
		for in := bufio.NewReader(c); readRequest(in) != nil; {
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	}
}

// newTransport makes a transport that trusts the test's servers. Change may change its options.
func newTransport(t testing.TB, change func(*http1.Options)) *http1.Transport {
	t.Helper()
	o := http1.Options{DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLS: trusting(), ConnectTimeout: 10 * time.Second}
	if change != nil {
		change(&o)
	}
	tr := http1.New(o)
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func newRequest(t testing.TB, method, address, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// do sends a request and reads its answer to the end.
func do(tr http.RoundTripper, r *http.Request) (int, string, error) {
	resp, err := tr.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func bothKinds(t *testing.T, run func(t *testing.T, secure bool)) {
	t.Helper()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%t", secure), func(t *testing.T) {
			t.Parallel()
			run(t, secure)
		})
	}
}

// dialed remembers the connections that a transport has made.
type dialed struct {
	mu    sync.Mutex
	conns []*net.TCPConn
}

func (d *dialed) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, address)
	if tcp, ok := c.(*net.TCPConn); ok {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.conns = append(d.conns, tcp)
	}
	return c, err
}

// awaitBytes waits until bytes or the end have arrived at the last connection, and leaves them there.
func (d *dialed) awaitBytes(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	raw, err := d.conns[len(d.conns)-1].SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return !errors.Is(err, syscall.EAGAIN)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitClose waits until the other side has closed a connection.
func awaitClose(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
