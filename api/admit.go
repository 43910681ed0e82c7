package api

import (
	"io"
	"net/http"
	"time"

	"umg/app"
	"umg/app/gateway"
	"umg/app/ratelimit"
	"umg/billing"
)

const (
	skippedBytesMax = 64 << 10             // So many bytes of a refused call's body are read and dropped.
	skipMax         = 2 * time.Millisecond // The server waits so long for them to arrive.
	streamPeekMax   = 250 * time.Millisecond
	delayedMax      = 1024 // So many refused calls may wait for their delayed answer at once.
)

// work is what the request wants.
func (x *call) work() gateway.Work {
	w := x.route.work
	switch {
	case x.route.Method == http.MethodGet:
		return gateway.ReadWork
	case w == gateway.TextWork || w == gateway.VideoWork:
		if dry, err := x.dryRun(); dry || err != nil {
			return gateway.CheckWork
		}
	}
	return w
}

// admit lets the request in before its body is read. What it took is given back when the request ends.
func (a *API) admit(x *call) error {
	w := x.work()
	if x.key.Frozen && (w == gateway.TextWork || w == gateway.VideoWork) {
		return billing.Frozen()
	}
	admitted, window, err := a.o.Gateway.Admit(x.Request().Context(), gateway.AdmissionRequest{
		ID: x.log.RequestID, Work: w, Principal: x.principal(), Key: x.keyLimits(), LimitFactor: x.key.LimitFactor,
		BodyBytes: x.Request().ContentLength, Space: &x.admitted,
	})
	if err != nil {
		gateway.SetLimitHeaders(x.Header(), window, ratelimit.Window{})
		return err
	}
	x.admission = admitted
	return nil
}

// slot is what the request took in the limits of calls; nil for a request that is no call.
func (x *call) slot() *ratelimit.Slot {
	if x.admission == nil {
		return nil
	}
	return x.admission.Slot
}

// delayRefusal waits before the answer to a refused request where the account has had many refusals already. It holds no place
// then.
func (a *API) delayRefusal(x *call) {
	delay := a.o.Gateway.RefusalDelay(x.key.AccountID)
	if delay == 0 {
		return
	}
	defer a.delayed.Add(-1)
	if a.delayed.Add(1) > delayedMax {
		return
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.Request().Context().Done():
	}
}

// refuseUnread answers a request that was refused before its body was read. On the chat route a key may want its errors in the form
// of the answer that it waits for, which is in the body. A small body is read for that, and others are answered with the
// true status, which every client understands.
func (a *API) refuseUnread(x *call, err error) error {
	r := x.Request()
	switch {
	case r.ContentLength == 0:
	case x.route.Family == ChatFamily && a.documented(x.exchange, x.log) && r.ContentLength > 0 && r.ContentLength <= skippedBytesMax:
		small, complete := a.peekBody(x)
		x.log.unread = !complete
		x.log.streams = complete && asksForStream(small)
	default:
		x.log.unread = true
		a.endBody(x)
	}
	return a.writeError(x.exchange, x.log, err)
}

// peekBody reads a small body, if it comes at once. Otherwise its connection ends with the answer.
func (a *API) peekBody(x *call) (small []byte, complete bool) {
	r := x.Request()
	x.bounded = true
	controller := http.NewResponseController(x.Connection())
	_ = controller.SetReadDeadline(a.now().Add(streamPeekMax))
	small, err := io.ReadAll(io.LimitReader(r.Body, skippedBytesMax))
	if err != nil {
		x.Header()["Connection"] = []string{"close"}
		return nil, false
	}
	_ = controller.SetReadDeadline(time.Time{})
	return small, true
}

// endBody ends the wait for the body of a refused request. It skips a small one that is there already, so that the connection can
// be used again; any other connection ends with the answer.
func (a *API) endBody(x *call) {
	r := x.Request()
	if r.ContentLength == 0 || r.ProtoMajor != 1 {
		return
	}
	x.bounded = true
	until := a.now()
	if r.ContentLength > 0 && r.ContentLength <= skippedBytesMax && x.bodyBytes == 0 {
		until = until.Add(skipMax)
	} else {
		x.Header()["Connection"] = []string{"close"}
	}
	_ = http.NewResponseController(x.Connection()).SetReadDeadline(until)
}

const dryRunHeader = "X-Dry-Run"

// dryRun reports whether only the price is asked for.
func (x *call) dryRun() (bool, error) {
	switch x.Request().Header.Get(dryRunHeader) {
	case "":
		return false, nil
	case "1", "true":
		return true, nil
	}
	return false, app.Errorf(app.Invalid, "invalid_value", "X-Dry-Run must be 1, or absent.").At(dryRunHeader)
}
