// Command refproxy is what the gateway is measured against: the reverse proxy of Go's library with a pool of connections and one of
// buffers, and nothing else. It prints its address and forwards every request to one upstream.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"time"
)

const (
	idleConnsMax = 8192
	// copyBufferBytes is the size of a buffer that the proxy makes for each answer when it has no pool.
	copyBufferBytes = 32 << 10
)

// bufferPool keeps the buffers through which answers are copied.
type bufferPool struct{ pool sync.Pool }

// Get returns a buffer.
func (b *bufferPool) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, copyBufferBytes)
}

// Put takes a buffer back.
func (b *bufferPool) Put(p []byte) { b.pool.Put(&p) }

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	upstream := flag.String("upstream", "", "URL to send everything to")
	flag.Parse()
	target, err := url.Parse(*upstream)
	if err != nil || target.Host == "" {
		fmt.Fprintln(os.Stderr, "refproxy: -upstream must be a URL")
		os.Exit(2)
	}
	ln, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "refproxy:", err)
		os.Exit(1)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:    func(r *httputil.ProxyRequest) { r.SetURL(target) },
		BufferPool: &bufferPool{},
		// Calls that fail are counted by their clients.
		ErrorLog:  log.New(io.Discard, "", 0),
		Transport: &http.Transport{MaxIdleConns: idleConnsMax, MaxIdleConnsPerHost: idleConnsMax, DisableCompression: true},
	}
	fmt.Println(ln.Addr())
	server := http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	fmt.Fprintln(os.Stderr, "refproxy:", server.Serve(ln))
	os.Exit(1)
}
