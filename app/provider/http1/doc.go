// Package http1 exchanges HTTP/1.1 requests and answers with upstreams on connections that need no goroutines of their own. Make a
// Transport with New and use it as an http.RoundTripper for requests whose bodies have a known length, or send them with Do in memory
// that is used again.
//
// It is here because the connections of net/http have two goroutines and four buffers each. Beside those, a call of 1 KB takes 45 µs
// less of processor time in the gateway and 58 allocations instead of 117, and a waiting stream 12 to 17 kB less of memory. No request to
// a provider falls back to net/http. A provider that prefers HTTP/2 is asked by HTTP/1.1, as it was with net/http, because a stream has a
// connection of its own. Everything else that the gateway sends, to storage, webhooks and addresses of users, still uses net/http.
package http1
