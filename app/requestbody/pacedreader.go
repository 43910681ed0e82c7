package requestbody

import (
	"errors"
	"io"
	"net/http"
	"time"

	"umg/app"
)

const (
	graceTime = 5 * time.Second // A body may be slow for so long before its rate counts.
	stepBytes = 32 << 10        // The deadline of the body moves after so much progress.
)

// RateMin is the least rate of a body after the grace time, in bytes per second.
const RateMin = 16 << 10

// Pace bounds a request body in size and in time: a grace, from then on a rate, and a time for all of it. Where it fails the
// connection cannot be used again.
func Pace(w http.ResponseWriter, body io.ReadCloser, bytesMax int64, timeMax time.Duration, now app.Clock) io.ReadCloser {
	return &PacedReader{ReadCloser: http.MaxBytesReader(w, body, bytesMax), connection: w, started: now(), timeMax: timeMax}
}

// PacedReader reads a request body that must come in time.
type PacedReader struct {
	io.ReadCloser

	connection http.ResponseWriter
	started    time.Time
	timeMax    time.Duration
	read       int64
	next       int64
}

// Begin begins to read a body.
func (p *PacedReader) Begin(w http.ResponseWriter, body io.ReadCloser, started time.Time, timeMax time.Duration) {
	*p = PacedReader{ReadCloser: body, connection: w, started: started, timeMax: timeMax}
}

// HasBegun reports whether the body was read, so that its reads are bounded.
func (p *PacedReader) HasBegun() bool { return p.next != 0 }

// Read moves the read deadline on as bytes arrive, and takes it away at the end of the body: left behind, it would
// later look like a client that leaves. After a failure it stays, as the server still tries to drain the connection.
func (p *PacedReader) Read(b []byte) (int, error) {
	if p.read >= p.next {
		patience := graceTime + time.Duration(p.read)*time.Second/RateMin
		p.move(p.started.Add(min(patience, p.timeMax)))
		p.next = p.read + stepBytes
	}
	n, err := p.ReadCloser.Read(b)
	p.read += int64(n)
	if errors.Is(err, io.EOF) {
		p.move(time.Time{})
	}
	return n, err
}

func (p *PacedReader) move(deadline time.Time) {
	_ = http.NewResponseController(p.connection).SetReadDeadline(deadline)
}
