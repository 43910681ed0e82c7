package api

import (
	"net/http"
	"strconv"
	"time"
)

// processingHeader has the time until the answer began, in milliseconds. The catalog may give the header other names.
const processingHeader = "Processing-Ms"

// setServerTiming sets how long the answer took to begin: the time of the gateway itself, and the time spent waiting for providers.
// Neither contains the upload of the body. It returns the sum.
func (l *RequestLog) setServerTiming(h http.Header, now time.Time) time.Duration {
	said, took := l.appendServerTiming(nil, now)
	h["Server-Timing"] = []string{string(said)}
	return took
}

func (l *RequestLog) appendServerTiming(said []byte, now time.Time) ([]byte, time.Duration) {
	upstream := l.timing.Upstream(now) + l.created
	own := max(0, now.Sub(l.Started)-l.upload-upstream)
	said = appendMilliseconds(append(said, "gateway;dur="...), own)
	said = appendMilliseconds(append(said, ", upstream;dur="...), upstream)
	return said, own + upstream
}

// setTiming sets the headers about how long the answer took to begin, whose texts share their memory.
func (a *API) setTiming(x *call, h http.Header) {
	var short [80]byte
	said, took := x.log.appendServerTiming(short[:0], a.now())
	timing := len(said)
	text := string(strconv.AppendInt(said, took.Milliseconds(), 10))
	h["Server-Timing"] = x.headers.one(text[:timing])
	processing := x.headers.one(text[timing:])
	for _, name := range a.o.Catalog.Snapshot().Spellings(processingHeader) {
		h[name] = processing
	}
}

func appendMilliseconds(to []byte, d time.Duration) []byte {
	return strconv.AppendFloat(to, float64(d.Microseconds())/1000, 'f', -1, 64)
}

// setProcessingMs sets the same time as one number, under every name that the catalog gives the header.
func (a *API) setProcessingMs(h http.Header, took time.Duration) {
	said := []string{strconv.FormatInt(took.Milliseconds(), 10)}
	for _, name := range a.o.Catalog.Snapshot().Spellings(processingHeader) {
		h[name] = said
	}
}
