package api

import (
	"umg/app"
	"umg/app/gateway"
	"umg/app/idempotency"
)

// textOnce is a text call under an Idempotency-Key. A stream cannot be replayed: once it has begun, its key answers 422 for a day.
type textOnce struct {
	x        *call
	response *idempotency.Response // The response is nil without a key.
	replayed bool                  // The answer of the first request was sent.
	noted    bool                  // The result of the call was recorded.
	made     bool                  // Something was charged, or a whole answer was delivered.
}

// claimText claims the Idempotency-Key of a text call, if it has one. A repeated call gets the stored answer.
func (a *API) claimText(x *call, body []byte) (*textOnce, error) {
	o := &x.once
	*o = textOnce{x: x}
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
	if claim.Answer == nil {
		o.response = a.o.Idempotency.NewResponse(claim)
		return o, nil
	}
	asked := x.textCall(body)
	// Another key of the account may have made the first call, so the permission of this one is checked.
	if err := a.o.Gateway.Permit(&asked); err != nil {
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

// recordResult records the result of the call. A call that was not answered may be repeated under its key: it cost nothing, or its
// client left a provider that worked on it. A whole answer was stored before.
func (o *textOnce) recordResult(r *gateway.Report, err error) {
	o.noted, o.made = true, err == nil && (r.Err == nil || r.Cost > 0)
}

// end completes the key with its answer, or releases the key when there is none. The cost of a call that panicked is
// unknown, so its key is left as after a crash.
func (o *textOnce) end() {
	ctx := o.x.Request().Context()
	switch {
	case !o.noted:
		o.response.Leave()
	case o.made:
		o.response.Finish(ctx)
	default:
		o.response.Forget(ctx)
	}
	if err := o.response.Err(); err != nil {
		o.x.log.Cause = err
	}
}
