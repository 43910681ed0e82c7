package api

import (
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"umg/app"
	"umg/app/requestbody"
)

// jsonTimeMax is how long a body of JSON may take.
const jsonTimeMax = 120 * time.Second

// FileTimeMax is how long a body that holds a file may take: 20 MiB over a line of 600 kbit/s.
const FileTimeMax = 300 * time.Second

// PageTimeMax is how long any other form of a page may take.
const PageTimeMax = jsonTimeMax

// readAll takes the whole body into memory: the upstream must be handed an in-memory body, and no rule can be checked
// on half of one. Memory grows with what has come, whatever was declared.
func (a *API) readAll(x *call, timeMax time.Duration) (*requestbody.Body, error) {
	r := x.Request()
	bytesMax := min(a.o.BodyBytesMax, a.o.Gate.BodyBytesMax())
	if r.ContentLength > bytesMax {
		return nil, tooLarge(bytesMax)
	}
	if x.place != nil && r.ContentLength > requestbody.BytesMin {
		if err := x.place.Declare(requestbody.BufferFor(r.ContentLength)); err != nil {
			return nil, a.explainBody(x, err, bytesMax, timeMax)
		}
	}
	began := a.now()
	source := r.Body
	if r.ContentLength < 0 {
		source = http.MaxBytesReader(x.Connection(), source, bytesMax)
	}
	x.paced.Begin(x.Connection(), source, began, timeMax)
	b := &x.body
	b.Begin(a.bodies, x.place)
	read, err := b.Fill(&x.paced, r.ContentLength)
	x.bodyBytes += read
	x.log.upload += a.now().Sub(began)
	if err == nil {
		_ = r.Body.Close() // Without Close, net/http reads on when it writes the head of the response.
		return b, nil
	}
	b.Release()
	return nil, a.explainBody(x, err, bytesMax, timeMax)
}

// explainBody returns the client's error for a body that was not read to its end. It closes the connection after the
// answer unless the connection has ended.
func (a *API) explainBody(x *call, err error, bytesMax int64, timeMax time.Duration) error {
	var network *net.OpError
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return tooLarge(bytesMax)
	}
	timely := !errors.Is(err, os.ErrDeadlineExceeded)
	if timely && errors.As(err, &network) {
		return app.Errorf(app.Canceled, "client_left", "The connection closed before the body was complete.").Because(err)
	}
	x.Header().Set("Connection", "close")
	if !timely {
		return app.Errorf(app.Invalid, "request_timeout",
			"The body came slower than %d bytes per second, or took longer than %d seconds. Send the request again.",
			requestbody.RateMin, timeMax/time.Second)
	}
	if e, ok := errors.AsType[*app.Error](err); ok { // The replica has no memory left for the body.
		x.log.unread = true
		a.endBody(x)
		return e
	}
	return app.Errorf(app.Invalid, "invalid_body",
		"The body could not be read: its framing (Content-Length or chunks) is broken.").Because(err)
}

func tooLarge(limit int64) *app.Error {
	return app.Errorf(app.TooLarge, "request_too_large", "The body is larger than %d bytes; send a smaller one.", limit)
}
