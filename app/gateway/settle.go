package gateway

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/provider"
	"umg/billing"
)

// settleMax is how long a client waits for its answer's end when the charge cannot be made durable.
const settleMax = 5 * time.Second

// settle makes the charge durable, as the row of the settlement table says on which the call has ended. It returns the
// error the call ends with.
func (r *run) settle(ctx context.Context, ended error) error {
	if r.cancel != nil && (ended != nil || r.cutShort || r.way.Cuts()) {
		r.cancel(nil) // The upstream's answer is not needed any more.
	}
	if r.cutShort && r.tally.Finish == "" {
		r.tally.Finish = "length" // The client gets the same finish reason.
	}
	if ended == nil && !r.out.hasDelivered() && ctx.Err() != nil {
		if fault := provider.FaultOf(ctx, ctx.Err()); fault.Class == provider.ClassClient {
			ended = fault
		}
	}
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleMax)
	defer cancel()
	r.extendHoldAtEnd(lasting, ended)
	r.rule = billing.RuleOf(r.reason(ctx, ended))
	r.bill = r.charge(r.rule)
	ended = r.keep(lasting, ended)
	err := r.gateway.o.CreditManager.Settle(lasting, r.hold, billing.Settlement{
		Cost: r.bill.cost, Delivered: r.out.hasDelivered() || r.left() && r.bill.charged, Record: r.record(r.rule, r.bill, ended),
	})
	r.settled = true
	if err == nil || ended != nil {
		return ended // The lease manager keeps a charge of what was delivered until it is durable.
	}
	if !r.out.hasDelivered() {
		r.rule = billing.RuleOf(billing.ReasonUnrecorded)
		r.bill = r.charge(r.rule)
		return err
	}
	r.rule = billing.RuleOf(billing.ReasonUnrecordedEnd)
	return unrecorded(err)
}

// left reports whether the call has ended because its client left. What it is charged then is kept until it is durable, as
// what was delivered is: there is no answer to keep back.
func (r *run) left() bool { return r.rule.Outcome == outcomeLeft }

const outcomeLeft = "client_left"

// settleAfterPanic settles the hold of a call that panicked at what was delivered, as after a crash of the process. The panic
// goes on, but neither the credit nor the space in the journal may stay reserved until the process ends.
func (r *run) settleAfterPanic(ctx context.Context) {
	if r.settled || r.hold.ID == "" {
		return
	}
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleMax)
	defer cancel()
	if e := r.more; e != nil { // The slice of a granted extension belongs to the hold.
		e.stop()
		_ = r.extended(<-e.answer)
	}
	delivered := r.out != nil && r.out.hasDelivered()
	r.rule = billing.RuleOf(pickReason(delivered, billing.ReasonCrashed, billing.ReasonCrashedUnanswered))
	r.bill = r.charge(r.rule)
	// The lease manager logs an error and keeps the settlement of what was delivered.
	_ = r.gateway.o.CreditManager.Settle(lasting, r.hold, billing.Settlement{
		Cost: r.bill.cost, Delivered: delivered, Record: r.record(r.rule, r.bill, nil),
	})
}

// unrecorded is the client's error when its answer cannot end because its charge is not durable.
func unrecorded(cause error) error {
	return app.Errorf(app.Unavailable, "service_unavailable",
		"The service cannot reach its store right now, so the answer cannot be completed. What was delivered is charged.").Because(cause)
}

func (r *run) record(rule billing.Rule, bill charge, ended error) billing.UsageRecord {
	u := billing.UsageRecord{
		RequestID: r.call.ID, AccountID: r.call.Principal.AccountID, KeyID: r.call.Principal.KeyID, Model: r.model.ID,
		Style: string(r.call.Style), RateCardID: r.model.RateCard.ID, EndUser: r.head.EndUser, FinishReason: r.tally.Finish,
		Streamed: r.head.Stream, Estimated: rule.Estimated, Outcome: rule.Outcome, Reason: string(rule.Reason),
		Usage: bill.readings(), Attempts: r.attempts, StartedAt: r.started, FirstByte: r.firstByte,
		Duration: r.gateway.o.Now().Sub(r.started), Trail: r.trail(),
	}
	if r.route != nil {
		u.Provider, u.UpstreamModel = r.route.Provider.ID, r.route.Model
	}
	if ended != nil {
		u.ErrorCode = errorOf(ended).Code
	}
	return u
}

// finish sends the end of the answer or its error. It returns an error only when nothing was sent.
func (r *run) finish(ended error) (*Report, error) {
	if ended != nil {
		e := errorOf(ended)
		if r.call.OnSettled != nil && r.answerKept {
			r.call.OnSettled()
		}
		if !r.out.hasBegun() {
			return r.report(e), e
		}
		batch := r.room()
		*batch = r.tellInStream((*batch)[:0], e)
		_, _ = r.out.send(http.StatusOK, eventStream, *batch) // A client that has left does not read it.
		return r.report(e), nil
	}
	if r.call.OnSettled != nil {
		r.call.OnSettled()
	}
	bill := r.shown()
	var err error
	if r.body != nil {
		err = r.finishBody(bill)
	} else {
		batch := r.room()
		*batch = r.stream.Finish((*batch)[:0], bill)
		if r.ranOut && r.style.AppendNotice != nil {
			*batch = r.style.AppendNotice(*batch, errRanOut(), r.call.ID)
		}
		if err = r.deliver(); err == nil && r.done {
			r.drain()
		}
	}
	if err != nil {
		r.rule = billing.RuleOf(billing.ReasonClientLeftAtEnd) // The charge stands, because the answer was complete.
		return r.report(errorOf(err)), nil
	}
	return r.report(nil), nil
}

// errRanOut tells why an answer ends before its time.
func errRanOut() *app.Error {
	e := app.Errorf(app.Unfunded, "insufficient_quota",
		"The credit ran out while the answer was streaming, so it ends here. Add credit on the billing page of the console (/console/billing).").
		Final()
	e.Doc = "/console/billing"
	return e
}

// tellInStream appends how the stream ends with an error: the stream of the answer, or one that never had any.
func (r *run) tellInStream(dst []byte, e *app.Error) []byte {
	if r.stream == nil {
		r.stream = r.style.NewStream(r.ask)
	}
	return r.stream.Fail(dst, e, r.call.ID, r.spent())
}

// spent is what the account pays for what the client has of an answer that ends with an error.
func (r *run) spent() *llm.Spent {
	if !r.bill.charged {
		return nil
	}
	return &llm.Spent{Usage: r.bill.usage, Cost: r.hold.Charge(r.bill.cost)}
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
