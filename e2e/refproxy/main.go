// Command refproxy is the floor that the gateway's cost is measured against: net/http's own reverse proxy with a pool
// of connections and nothing else. It knows one upstream. It does not know what passes through it.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"
)

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
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true},
	}
	fmt.Println(ln.Addr())
	server := http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	fmt.Fprintln(os.Stderr, "refproxy:", server.Serve(ln))
	os.Exit(1)
}
