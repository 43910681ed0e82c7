// Package http1 exchanges HTTP/1.1 requests and answers with upstreams on connections that need no goroutines of their own. Make a
// Transport with New and use it as an http.RoundTripper for requests whose bodies have a known length.
package http1
