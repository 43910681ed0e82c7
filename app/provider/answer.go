package provider

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// BodyBytesMax bounds a JSON answer.
	BodyBytesMax = 32 << 20

	partBytes       = 16 << 10
	failureBytesMax = 64 << 10               // This bounds what is read of an error body.
	failureWaitMax  = 250 * time.Millisecond // This bounds the wait for an error body.
)

// Answer is an upstream's answer with status 200: a stream of frames, or a JSON body.
type Answer struct {
	Stream bool

	ctx    context.Context //nolint:containedctx // Its cause is why reading ended.
	target *target
	body   io.ReadCloser
	length int64
	// lateClose means that a timer may still close the answer.
	lateClose bool
}

// statusFault reads an error answer and closes it. It waits for the body only for failureWaitMax, because the status is known.
func (a *Answer) statusFault(resp *http.Response) *Fault {
	defer a.Close()
	timer := time.AfterFunc(failureWaitMax, a.Close)
	defer func() { a.lateClose = !timer.Stop() }()
	body, err := io.ReadAll(io.LimitReader(a.body, failureBytesMax))
	if err != nil && context.Cause(a.ctx) != nil {
		if f := FaultOf(a.ctx, err); f.Class == ClassClient || f.Class == ClassEnded {
			return f
		}
	}
	if resp.ContentLength < 0 || resp.ContentLength > failureBytesMax {
		_, _ = io.CopyN(io.Discard, a.body, 1) // Reading to the end lets the connection be used again.
	}
	return statusFault(resp.StatusCode, resp.Header, body, a.target)
}

// Read reads the body.
func (a *Answer) Read(p []byte) (int, error) { return a.body.Read(p) }

// Close ends the answer. The connection is used again only when the body was read to its end, or when the rest of it has arrived.
func (a *Answer) Close() { _ = a.body.Close() }

// Fault classifies an error of Read.
func (a *Answer) Fault(err error) *Fault { return FaultOf(a.ctx, err) }

// ReadPart appends a part of a JSON body to dst, which has the parts before: 16 KiB or somewhat more, or the rest. It reports the end of
// the body, which may have 32 MiB.
func (a *Answer) ReadPart(dst []byte) (_ []byte, ended bool, _ *Fault) {
	if a.length > BodyBytesMax {
		return dst, false, NewFault(ClassTooLarge, errTooLarge)
	}
	if room := int(max(a.length, 0)) + 512; len(dst) == 0 && cap(dst) < room { // The spare bytes let the last read reach the end.
		dst = make([]byte, 0, room)
	}
	for next := len(dst) + partBytes; len(dst) < next; {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := a.body.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > BodyBytesMax:
			return dst, false, NewFault(ClassTooLarge, errTooLarge)
		case errors.Is(err, io.EOF):
			return dst, true, nil
		case err != nil:
			return dst, false, a.Fault(err)
		}
	}
	return dst, false, nil
}

// ReadAll reads a whole JSON body.
func (a *Answer) ReadAll() (body []byte, f *Fault) {
	for ended := false; !ended && f == nil; {
		body, ended, f = a.ReadPart(body)
	}
	return body, f
}

var errTooLarge = errors.New("the answer is larger than 32 MiB")
