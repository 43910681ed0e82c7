package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"umg/app"
	"umg/app/dialect"
	"umg/app/provider"
	"umg/billing"
)

const (
	settleMax      = 5 * time.Second // a client waits as long for its answer's end when the store is away
	settleRetryMin = 50 * time.Millisecond
)

// outcome is how a call ended.
type outcome string

const (
	outcomeSucceeded  outcome = "succeeded"
	outcomeRefused    outcome = "refused"
	outcomeFailed     outcome = "failed"
	outcomeTimedOut   outcome = "timed_out"
	outcomeCut        outcome = "cut"
	outcomeClientLeft outcome = "client_left"
)

// outcomeOf is the outcome of a call that ended with err, after content was sent or before.
func outcomeOf(err error, delivered bool) outcome {
	if err == nil {
		return outcomeSucceeded
	}
	if fault, ok := errors.AsType[*provider.Fault](err); ok {
		switch fault.Class {
		case provider.ClassClient:
			return outcomeClientLeft
		case provider.ClassFirstByte, provider.ClassIdle, provider.ClassTotal:
			return outcomeTimedOut
		}
	}
	if delivered {
		return outcomeCut
	}
	return outcomeFailed
}

// settle makes the charge durable. A whole answer is charged whole; one that broke off is charged with what the
// client was sent; nothing sent is nothing charged. It returns the error the call ends with.
func (r *run) settle(ctx context.Context, ended error) error {
	if r.cancel != nil && (ended != nil || r.cutShort || r.way.Cuts()) {
		r.cancel(nil) // the upstream need not go on
	}
	if r.cutShort && r.tally.Finish == "" {
		r.tally.Finish = "length" // as the client is told
	}
	var err error
	if ended == nil || r.out.hasDelivered() {
		if err = r.charge(r.done); err != nil {
			ended = errors.Join(ended, err)
		}
	}
	r.outcome = outcomeOf(ended, r.out.hasDelivered())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleMax)
	defer cancel()
	s := billing.Settlement{Cost: r.bill.cost, Record: r.record(ended)}
	if err = r.commit(ctx, s); err == nil {
		return ended
	}
	if !r.out.hasDelivered() {
		r.bill = billed{} // a body is not sent when its charge is not durable, and a charge it may have left is undone
		s.Cost, s.Undelivered = 0, true
	}
	if ended == nil {
		ended = err
		if r.out.hasDelivered() {
			ended = unrecorded(err)
		}
		r.outcome = outcomeOf(ended, r.out.hasDelivered())
	}
	s.Record = r.record(ended)
	r.gateway.o.Ledger.SettleLater(r.hold, s)
	return ended
}

// commit tries again while the store is away, so that its restart costs nobody an answer.
func (r *run) commit(ctx context.Context, s billing.Settlement) error {
	for wait := settleRetryMin; ; wait *= 2 {
		err := r.gateway.o.Ledger.Settle(ctx, r.hold, s)
		if err == nil || app.KindOf(err) != app.Unavailable {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// unrecorded is what a client is told whose answer cannot end because its charge is not durable.
func unrecorded(cause error) error {
	return app.Errorf(app.Unavailable, "service_unavailable",
		"The service cannot reach its store right now, so the answer cannot be completed. What was delivered is charged.").Because(cause)
}

func (r *run) record(ended error) billing.UsageRecord {
	u := billing.UsageRecord{
		RequestID: r.call.ID, AccountID: r.call.Principal.AccountID, KeyID: r.call.Principal.KeyID, Model: r.model.ID,
		Style: string(r.call.Style), RateCardID: r.model.RateCard.ID, EndUser: r.head.EndUser, FinishReason: r.tally.Finish,
		Streamed: r.head.Stream, Estimated: r.bill.estimated, Outcome: string(r.outcome), Usage: r.bill.readings(),
		Attempts: r.attempts, StartedAt: r.started, FirstByte: r.firstByte, Duration: r.gateway.o.Now().Sub(r.started),
	}
	if r.route != nil {
		u.Provider, u.UpstreamModel = r.route.Provider.ID, r.route.Model
	}
	if ended != nil {
		u.ErrorCode = errorOf(ended).Code
	}
	return u
}

// finish sends the end: of the answer, or of what came of it. An error is returned only when nothing was sent.
func (r *run) finish(ended error) (*Report, error) {
	if ended != nil {
		e := errorOf(ended)
		if !r.out.hasBegun() {
			return r.report(e), e
		}
		batch := r.room()
		*batch = r.tellInStream((*batch)[:0], e)
		_, _ = r.out.send(http.StatusOK, eventStream, *batch) // a client that left does not read it
		return r.report(e), nil
	}
	bill := dialect.Bill{
		Usage: r.bill.usage, Estimated: r.bill.estimated, Cost: r.hold.Charge(r.bill.cost), CutShort: r.cutShort,
	}
	var err error
	if r.body != nil {
		err = r.finishBody(bill)
	} else {
		batch := r.room()
		*batch = r.stream.Finish((*batch)[:0], bill)
		if err = r.deliver(); err == nil && r.done {
			r.drain()
		}
	}
	if err != nil {
		r.outcome = outcomeClientLeft // the charge stands: the answer was whole
		return r.report(errorOf(err)), nil
	}
	return r.report(nil), nil
}

// tellInStream appends how the stream ends with an error: the stream of the answer, or one that never had any.
func (r *run) tellInStream(dst []byte, e *app.Error) []byte {
	if r.stream == nil {
		r.stream = r.style.NewStream(r.ask)
	}
	return r.stream.Fail(dst, e, r.call.ID)
}

func (r *run) finishBody(bill dialect.Bill) error {
	batch := r.room()
	*batch = r.body.Append((*batch)[:0], bill)
	r.out.header["Content-Length"] = []string{strconv.Itoa(len(*batch))}
	r.firstByte = r.gateway.o.Now().Sub(r.started)
	if _, err := r.out.send(http.StatusOK, jsonType, *batch); err != nil {
		return provider.NewFault(provider.ClassClient, err)
	}
	return nil
}
