package http1_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"umg/app/provider/http1"
)

// rawServer answers each request of a fixed length with the same bytes, so that most of the measured time is the client's.
func rawServer(tb testing.TB, secure bool, requestEnd []byte, answer []byte) (address string, roots *tls.Config) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	scheme := "http://"
	if secure {
		s := httptest.NewUnstartedServer(nil)
		s.StartTLS()
		pool := x509.NewCertPool()
		pool.AddCert(s.Certificate())
		roots = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		l = tls.NewListener(l, &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true})
		s.Close()
		scheme = "https://"
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 32<<10)
				at := 0
				for {
					n, err := c.Read(buf[at:])
					if err != nil {
						return
					}
					if at += n; !bytes.HasSuffix(buf[:at], requestEnd) {
						continue
					}
					at = 0
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return scheme + l.Addr().String() + "/v1/chat/completions", roots
}

func transports(roots *tls.Config) map[string]http.RoundTripper {
	d := &net.Dialer{Timeout: 5 * time.Second}
	return map[string]http.RoundTripper{
		"http1": http1.New(http1.Options{DialContext: d.DialContext, TLS: roots, ConnectTimeout: time.Minute}),
		"net/http": &http.Transport{
			DialContext: d.DialContext, TLSHandshakeTimeout: time.Minute, TLSClientConfig: roots.Clone(), TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
			MaxIdleConnsPerHost: 4096, IdleConnTimeout: 90 * time.Second, DisableCompression: true, ReadBufferSize: 2 << 10, WriteBufferSize: 2 << 10,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func post(b testing.TB, t http.RoundTripper, u *url.URL, body, into []byte) {
	r := &http.Request{
		Method: "POST", URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)), Header: http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Accept-Encoding": {"identity"},
			"User-Agent": {"unified-model-gateway/1"}, "Authorization": {"Bearer sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
		},
	}
	resp, err := t.RoundTrip(r.WithContext(b.Context()))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for err == nil {
		var k int
		k, err = resp.Body.Read(into[n:])
		n += k
	}
	if err != io.EOF || n == 0 {
		b.Fatal(n, err)
	}
	_ = resp.Body.Close()
}

func BenchmarkExchange(b *testing.B) {
	for _, size := range []int{1 << 10, 10 << 10, 100 << 10} {
		body := append(bytes.Repeat([]byte("x"), 1022), "\r\r"...)
		answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Fri, 27 Nov 2026 18:00:00 GMT\r\nX-Request-Id: req_0123456789\r\nContent-Length: %d\r\n\r\n%s",
			size, bytes.Repeat([]byte("y"), size))
		for _, secure := range []bool{false, true} {
			address, roots := rawServer(b, secure, []byte("\r\r"), answer)
			u, _ := url.Parse(address)
			for name, t := range transports(roots) {
				b.Run(fmt.Sprintf("bytes=%d/tls=%t/%s", size, secure, name), func(b *testing.B) {
					into := make([]byte, 128<<10)
					post(b, t, u, body, into)
					b.ReportAllocs()
					from := cpuTime()
					for b.Loop() {
						post(b, t, u, body, into)
					}
					b.ReportMetric(float64((cpuTime()-from).Nanoseconds())/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}

// BenchmarkWaitingStreams reports what a stream costs that has begun and waits, with the test's own goroutine and server.
func BenchmarkWaitingStreams(b *testing.B) {
	const streams = 2000
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nd\r\ndata: hello\n\n\r\n")
	for _, secure := range []bool{false, true} {
		address, roots := rawServer(b, secure, []byte("\r\r"), answer)
		u, _ := url.Parse(address)
		for name, t := range transports(roots) {
			b.Run(fmt.Sprintf("tls=%t/%s", secure, name), func(b *testing.B) {
				for b.Loop() {
					before := memory()
					end := openStreams(b, t, u, streams)
					b.ReportMetric(float64(memory()-before)/1000/streams, "kB/stream")
					end()
				}
			})
		}
	}
}

// openStreams opens streams that wait for their second event. End closes them.
func openStreams(b *testing.B, t http.RoundTripper, u *url.URL, count int) (end func()) {
	b.Helper()
	opened, slots := make(chan io.Closer, count), make(chan struct{}, 16)
	var all sync.WaitGroup
	for range count {
		slots <- struct{}{}
		all.Go(func() {
			r := &http.Request{
				Method: "POST", URL: u, Host: u.Host, ContentLength: 2, Body: io.NopCloser(bytes.NewReader([]byte("\r\r"))), Header: http.Header{},
			}
			resp, err := t.RoundTrip(r.WithContext(b.Context()))
			if err != nil {
				b.Error(err)
				opened <- http.NoBody
				<-slots
				return
			}
			p := make([]byte, 512)
			_, _ = resp.Body.Read(p)
			opened <- resp.Body
			<-slots
			_, _ = resp.Body.Read(p)
		})
	}
	bodies := make([]io.Closer, count)
	for i := range bodies {
		bodies[i] = <-opened
	}
	return func() {
		for _, body := range bodies {
			_ = body.Close()
		}
		all.Wait()
	}
}

func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
