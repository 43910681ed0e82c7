package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"umg/app"
	"umg/app/idempotency"
)

const keyHeader = "Idempotency-Key"

// How long a failed call waits until its Idempotency-Key is given up. A key that is not given up expires.
const (
	forgetMax      = 2 * time.Second
	forgetQuickMax = 200 * time.Millisecond // The database has just failed the call, whose caller has waited for it already.
)

// idempotencyKey is the Idempotency-Key of the request; empty for none.
func (x *call) idempotencyKey() string {
	return strings.Join(x.Request().Header.Values(keyHeader), ",")
}

// createOnce creates an object, once for each Idempotency-Key. The request with the key is described by describe: its operation, its
// body and the id of the object. create gets that id, or an empty one when there is no key, and returns the answer. A repeated request
// gets the answer of the first one; its claim is then returned too. The key of a request that failed can be used again.
func (a *API) createOnce(
	x *call, describe func(key string) idempotency.Request, create func(id string) ([]byte, error),
) (body []byte, replayed *idempotency.Claim, err error) {
	if len(x.Request().Header.Values(keyHeader)) == 0 {
		body, err = create("")
		return body, nil, err
	}
	if a.o.Idempotency == nil {
		return nil, nil, errors.New("api: Options.Idempotency is required for requests with an Idempotency-Key")
	}
	ctx, request := x.Request().Context(), describe(x.idempotencyKey())
	request.AccountID, request.Key = x.key.AccountID, x.idempotencyKey()
	claim, err := a.o.Idempotency.Begin(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	if claim.Answer != nil {
		x.Header().Set("Idempotency-Replayed", "true")
		return claim.Answer.Body, &claim, nil
	}
	if body, err = create(claim.ResultID); err != nil {
		return nil, nil, errors.Join(err, a.forget(ctx, claim, err))
	}
	kept := a.o.Idempotency.Keep(context.WithoutCancel(ctx), claim, idempotency.Answer{Status: http.StatusOK, Body: body})
	if kept != nil {
		x.log.Cause = kept // The object was created. A repeated request finds it by its id.
	}
	return body, nil, nil
}

// forget gives up the key of a call that created nothing because of cause.
func (a *API) forget(ctx context.Context, claim idempotency.Claim, cause error) error {
	most := forgetMax
	if app.AsError(cause).Code == "service_unavailable" {
		most = forgetQuickMax
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	return a.o.Idempotency.Forget(ctx, claim)
}
