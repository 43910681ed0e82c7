package page

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

const nextBytesMax = 2000

// RequestedPage returns the page that a request is about, with its query: its own address or, for a form or a part of a page, the
// address of the page that it was sent from.
func RequestedPage(r *http.Request) string {
	if IsRead(r) && !forScript(r) {
		return SafeNext(r.URL.RequestURI())
	}
	from, err := url.Parse(r.Referer())
	if err != nil {
		return ConsolePath
	}
	return SafeNext(from.RequestURI())
}

// RetryPath returns the path that a "try again" link leads to: the page itself or, for a form or a part of a page, the page that it
// was sent from.
func RetryPath(r *http.Request) string {
	if IsRead(r) && !forScript(r) {
		return r.URL.Path
	}
	from, err := url.Parse(r.Referer())
	if err != nil {
		return ConsolePath
	}
	return SafeNext(from.Path)
}

// IsRead reports whether a request only reads.
func IsRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// forScript reports whether a script of an open page sent the request.
func forScript(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// SafeNext returns the address that a form may lead to afterwards: a page of the console with its query, and nothing else that a
// stranger put into a link. It encodes the parsed query again, so that the result can only be a query.
func SafeNext(next string) string {
	u, err := url.Parse(next)
	if err != nil || len(next) > nextBytesMax || u.Scheme != "" || u.Host != "" || u.User != nil || strings.Contains(next, `\`) ||
		(u.Path != ConsolePath && !strings.HasPrefix(u.Path, ConsolePath+"/")) || path.Clean(u.Path) != u.Path {
		return ConsolePath
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || len(query) == 0 {
		return u.EscapedPath()
	}
	return u.EscapedPath() + "?" + query.Encode()
}
