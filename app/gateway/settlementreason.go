package gateway

import (
	"context"
	"errors"

	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/provider/errorclass"
	"umg/billing"
)

// reason finds the row of the settlement table for the end of the call. Everything else about the charge follows from that row.
func (p *pipeline) reason(ctx context.Context, ended error) billing.Reason {
	delivered, stats := p.response.writer.hasDelivered(), p.stats()
	if ended != nil {
		return p.brokenReason(ended, delivered)
	}
	switch {
	case p.funding.outOfCredit:
		return billing.ReasonCreditRanOut
	case p.response.truncated:
		return billing.ReasonLengthEnforced
	case p.recovered > 0:
		return billing.ReasonRecovered
	case !stats.Reported && stats.ContentBytes == 0 && isFiltered(stats):
		return billing.ReasonFilteredUnanswered
	case !stats.Reported && stats.ContentBytes == 0:
		return billing.ReasonNoContent
	case !stats.Reported:
		return billing.ReasonUsageMissing
	case p.funding.implausible(stats):
		return billing.ReasonUsageImplausible
	}
	if c := p.charge(billing.RuleOf(billing.ReasonCompleted), stats); c.cost > p.funding.hold.Amount {
		return billing.ReasonOverrun
	}
	switch {
	case ctx.Err() != nil && provider.FaultOf(ctx, ctx.Err()).Class == provider.ClassClient:
		return billing.ReasonClientLeftAtEnd
	case isFiltered(stats):
		return billing.ReasonFiltered
	}
	return billing.ReasonCompleted
}

func isFiltered(stats *dialect.StreamStats) bool {
	return stats.Finish == string(llm.StopFilter) || stats.Finish == string(llm.StopRefusal)
}

// brokenReason is the reason of a call without an end.
func (p *pipeline) brokenReason(ended error, delivered bool) billing.Reason {
	class, refusedHere, ofRoute := provider.ClassReset, false, false
	if fault, ok := errors.AsType[*provider.Fault](ended); ok {
		// A fault with the retry Elsewhere is the gateway's own refusal, not an end of the answer.
		class, refusedHere, ofRoute = fault.Class, fault.Retry == provider.Elsewhere, fault.Meaning == errorclass.Route
	}
	switch class {
	case provider.ClassClient:
		return p.leftReason(delivered)
	case provider.ClassFirstByte, provider.ClassIdle, provider.ClassTotal:
		return pickReason(delivered, billing.ReasonTimedOut, billing.ReasonTimedOutUnanswered)
	case provider.ClassEnded:
		if refusedHere {
			return billing.ReasonRequestRefused
		}
		return pickReason(delivered, billing.ReasonStopped, billing.ReasonStoppedUnanswered)
	}
	switch {
	case delivered:
		return billing.ReasonUpstreamBrokeOff
	case errors.Is(ended, errEmpty):
		return billing.ReasonEmptyAnswer
	case class == provider.ClassRefused && !ofRoute:
		return billing.ReasonRequestRefused
	}
	return billing.ReasonUpstreamFailed
}

// leftReason is the reason of a call whose client has left.
func (p *pipeline) leftReason(delivered bool) billing.Reason {
	stats := p.stats()
	switch _, sound := p.funding.plausibleUsage(stats); {
	case stats.Finish != "" && stats.Reported && sound && p.attempt != nil && p.attempt.watch.readsOn():
		return billing.ReasonClientLeftContinued
	case stats.Finish != "" && stats.Reported && sound:
		return billing.ReasonClientLeftAtEnd
	case delivered:
		return billing.ReasonClientLeft
	case p.providerHadRequest || p.attempt != nil && p.attempt.answer != nil:
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

// implausible reports whether the upstream has reported a usage that is not sound.
func (f *funding) implausible(s *dialect.StreamStats) bool {
	_, sound := f.plausibleUsage(s)
	return s.Reported && !sound
}
