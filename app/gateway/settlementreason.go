package gateway

import (
	"context"
	"errors"

	"umg/app/llm"
	"umg/app/provider"
	"umg/billing"
)

// reason finds the row of the settlement table that the call has ended on. It decides on nothing: the row does.
func (r *run) reason(ctx context.Context, ended error) billing.Reason {
	delivered := r.out.hasDelivered()
	if ended != nil {
		return r.brokenReason(ended, delivered)
	}
	switch {
	case r.ranOut:
		return billing.ReasonCreditRanOut
	case r.cutShort:
		return billing.ReasonLengthEnforced
	case r.recovered > 0:
		return billing.ReasonRecovered
	case !r.tally.Reported && r.tally.ContentBytes == 0 && r.filtered():
		return billing.ReasonFilteredUnanswered
	case !r.tally.Reported && r.tally.ContentBytes == 0:
		return billing.ReasonNoContent
	case !r.tally.Reported:
		return billing.ReasonUsageMissing
	case r.implausible():
		return billing.ReasonUsageImplausible
	}
	cost, err := r.model.RateCard.Cost(readings(r.tally.Usage))
	switch {
	case err != nil || cost > r.payable():
		return billing.ReasonOverrun
	case ctx.Err() != nil && provider.FaultOf(ctx, ctx.Err()).Class == provider.ClassClient:
		return billing.ReasonClientLeftAtEnd
	case r.filtered():
		return billing.ReasonFiltered
	}
	return billing.ReasonCompleted
}

func (r *run) filtered() bool {
	return r.tally.Finish == string(llm.StopFilter) || r.tally.Finish == string(llm.StopRefusal)
}

// brokenReason is the reason of a call without an end.
func (r *run) brokenReason(ended error, delivered bool) billing.Reason {
	class, ours := provider.ClassReset, false
	if fault, ok := errors.AsType[*provider.Fault](ended); ok {
		// A fault with the retry Elsewhere is the gateway's own refusal, not an end of the answer.
		class, ours = fault.Class, fault.Retry == provider.Elsewhere
	}
	switch class {
	case provider.ClassClient:
		return r.leftReason(delivered)
	case provider.ClassFirstByte, provider.ClassIdle, provider.ClassTotal:
		return pickReason(delivered, billing.ReasonTimedOut, billing.ReasonTimedOutUnanswered)
	case provider.ClassEnded:
		if ours {
			return billing.ReasonRequestRefused
		}
		return pickReason(delivered, billing.ReasonStopped, billing.ReasonStoppedUnanswered)
	}
	switch {
	case delivered:
		return billing.ReasonUpstreamBrokeOff
	case errors.Is(ended, errEmpty):
		return billing.ReasonEmptyAnswer
	case class == provider.ClassRefused:
		return billing.ReasonRequestRefused
	}
	return billing.ReasonUpstreamFailed
}

// leftReason is the reason of a call whose client has left.
func (r *run) leftReason(delivered bool) billing.Reason {
	switch _, sound := r.believed(); {
	case r.tally.Finish != "" && r.tally.Reported && sound:
		return billing.ReasonClientLeftAtEnd
	case delivered:
		return billing.ReasonClientLeft
	case r.taken || r.answer != nil:
		return billing.ReasonClientLeftWaiting
	}
	return billing.ReasonClientLeftUnanswered
}

func pickReason(delivered bool, midway, unanswered billing.Reason) billing.Reason {
	if delivered {
		return midway
	}
	return unanswered
}
