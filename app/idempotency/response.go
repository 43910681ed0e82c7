package idempotency

import (
	"context"
	"time"
)

// endTimeMax bounds the wait for the store at the end of a response, as the end of its charge waits too.
const endTimeMax = 5 * time.Second

// Response is the response to a request with a key that is still being made. A whole answer is stored before its charge is durable. When
// the process crashes before the answer is stored, nothing was charged and a repetition runs the request again. When it crashes later, a
// repetition gets the stored answer and is not charged again. A nil Response belongs to a request without a key; its methods do nothing.
type Response struct {
	service *Service
	claim   Claim
	// ended means that the key has its answer or is free, and err is why that is not so.
	ended bool
	err   error
}

// NewResponse returns the response to the request of a claim that has no answer yet.
func (s *Service) NewResponse(c Claim) *Response { return &Response{service: s, claim: c} }

// Store stores a whole answer, before the charge for it is durable.
func (r *Response) Store(ctx context.Context, body []byte) error {
	if r == nil {
		return nil
	}
	return r.service.Prepare(ctx, r.claim, Answer{Status: statusOK, Body: body})
}

// Finish gives the key its answer, once the charge is durable and before the client has the whole answer, so that a repetition which
// follows at once gets that answer.
func (r *Response) Finish(ctx context.Context) {
	if r != nil && !r.ended {
		r.end(ctx, r.service.Finish)
	}
}

// Forget releases the key of a request that made nothing.
func (r *Response) Forget(ctx context.Context) {
	if r != nil && !r.ended {
		r.end(ctx, r.service.Forget)
	}
}

// Leave leaves the key as a crash does, because it is unknown what the request has made.
func (r *Response) Leave() {
	if r != nil && !r.ended {
		r.ended = true
		r.service.Leave(r.claim)
	}
}

// Err returns why the key did not get its answer or was not released. It does once the claim has ended by itself.
func (r *Response) Err() error {
	if r == nil {
		return nil
	}
	return r.err
}

func (r *Response) end(ctx context.Context, how func(context.Context, Claim) error) {
	r.ended = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeMax)
	defer cancel()
	r.err = how(ctx, r.claim)
}
