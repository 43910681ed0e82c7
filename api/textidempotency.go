package api

import (
	"context"
	"net/http"
	"time"

	"umg/app"
	"umg/app/gateway"
	"umg/app/idempotency"
)

// keyEndMax bounds the wait for the store behind a call, as the end of its answer waits too.
const keyEndMax = 5 * time.Second

// textOnce is a text call under an Idempotency-Key. All of its methods do nothing for a call without a key. A whole
// answer is stored before its charge is durable. When the process crashes before the answer is stored, nothing was
// charged and a repetition runs the request again. When it crashes later, a repetition gets the stored answer and is not
// charged again. A stream cannot be replayed: once it has begun, its key answers 422 for a day.
type textOnce struct {
	api      *API
	x        *call
	claim    *idempotency.Claim // The claim is nil without a key.
	replayed bool               // The answer of the first request was sent.
	noted    bool               // The result of the call was recorded.
	closed   bool               // The key has its answer, or is free.
	made     bool               // Something was charged, or a whole answer was delivered.
}

// claimText claims the Idempotency-Key of a text call, if it has one. A repeated call gets the stored answer.
func (a *API) claimText(x *call, body []byte) (*textOnce, error) {
	o := &textOnce{api: a, x: x}
	if len(x.Request().Header.Values(keyHeader)) == 0 || a.o.Idempotency == nil {
		return o, nil
	}
	claim, err := a.o.Idempotency.Begin(x.Request().Context(), idempotency.Request{
		AccountID: x.key.AccountID, Key: x.idempotencyKey(), Operation: x.route.Operation, Body: body, ResultID: x.log.RequestID,
		Fresh: true, Stream: asksForStream(body),
	})
	if err != nil {
		return nil, err
	}
	o.claim = &claim
	if claim.Answer == nil {
		return o, nil
	}
	asked := x.textCall(body, nil)
	if err := a.o.Gateway.Permit(&asked); err != nil { // another key of the account may have made the first call
		return nil, err
	}
	o.replayed = true
	x.log.Result.Outcome = "replayed"
	h := x.Header()
	h.Set("Idempotency-Replayed", "true")
	h["X-Generation-Id"] = []string{claim.ResultID}
	if len(claim.Answer.Body) == 0 {
		return nil, app.Errorf(app.Unprocessable, "idempotent_stream_completed",
			"The answer to the first request with this Idempotency-Key was a stream, or too large to be kept, and cannot be sent again. "+
				"GET /v1/generation?id=%s says what it cost. Use a new key to ask again.", claim.ResultID).At(keyHeader).Final()
	}
	extendWrite(x.Connection(), a.now())
	return o, x.Blob(claim.Answer.Status, jsonType, claim.Answer.Body)
}

// keeper returns the function that the gateway calls with a whole answer. It is nil without a key.
func (o *textOnce) keeper() func(context.Context, []byte) error {
	if o.claim == nil {
		return nil
	}
	return func(ctx context.Context, answer []byte) error {
		return o.api.o.Idempotency.Prepare(ctx, *o.claim, idempotency.Answer{Status: http.StatusOK, Body: answer})
	}
}

// kept returns the function that the gateway calls when the charge is durable. It is nil without a key. The key has its
// answer before the client has the whole of it, so that a repetition which follows at once gets that answer.
func (o *textOnce) kept() func() {
	if o.claim == nil {
		return nil
	}
	return func() { o.close(o.api.o.Idempotency.Finish) }
}

// recordResult records the result of the call. A call that was not answered may be repeated under its key: it cost nothing, or its
// client left a provider that worked on it. A whole answer was stored before.
func (o *textOnce) recordResult(r *gateway.Report, err error) {
	o.noted, o.made = true, err == nil && (r.Err == nil || r.Cost > 0)
}

// end completes the key with its answer, or releases the key when there is none. The cost of a call that panicked is
// unknown, so its key is left as after a crash.
func (o *textOnce) end() {
	switch {
	case o.claim == nil || o.closed:
	case !o.noted:
		o.api.o.Idempotency.Leave(*o.claim)
	case o.made:
		o.close(o.api.o.Idempotency.Finish)
	default:
		o.close(o.api.o.Idempotency.Forget)
	}
}

func (o *textOnce) close(how func(context.Context, idempotency.Claim) error) {
	o.closed = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.x.Request().Context()), keyEndMax)
	defer cancel()
	if err := how(ctx, *o.claim); err != nil {
		o.x.log.Cause = err // the key is free, or has its prepared answer, once the claim has ended by itself
	}
}
