package gateway

import (
	"context"

	"umg/app/provider"
)

// relay sends on the answer as it comes, everything but its end. Whatever is at hand is written together and flushed
// once, up to as many tokens as a checkpoint may lack. An error of reading is the upstream's, one of writing is the client's;
// neither hides the other.
func (p *pipeline) relay(ctx context.Context) error {
	if p.attempt.body != nil {
		return nil
	}
	for {
		a := p.attempt
		if !a.complete {
			if fault := p.funding.keepAhead(ctx, &a.stats); fault != nil {
				return p.deliverRest(a, fault)
			}
		}
		p.response.truncated = p.funding.outOfCredit || !a.complete && p.funding.estimate.endless(a.stats.ContentBytes)
		over := a.complete || p.response.truncated
		if n := a.pendingBytes(); n >= batchBytesMax || n > 0 && (over || !a.frames.Buffered() ||
			p.funding.outputFunded(&a.stats)-p.response.deliveredTokens >= checkpointTokensMax) {
			if err := p.deliver(a); err != nil {
				return err
			}
			if p.response.checkpointDue(a.waitSince) {
				p.checkpoint(&a.stats, a.waitSince)
			}
		}
		if over {
			return nil
		}
		if err := a.step(); err != nil {
			if err = p.recoverStream(ctx, a.faultOf(err)); err != nil {
				return err
			}
		}
	}
}

// deliver sends what is pending of an attempt.
func (p *pipeline) deliver(a *attempt) error {
	var err error
	a.waitSince, err = p.response.deliver(*a.pending)
	p.noteDelivered(*a.pending)
	a.clearPending()
	a.memory.release()
	if err != nil {
		return provider.NewFault(provider.ClassClient, err)
	}
	p.response.deliveredTokens = p.funding.outputFunded(&a.stats)
	return nil
}

// deliverRest delivers what came before a fault. It returns the fault, or the error of a client that does not read.
func (p *pipeline) deliverRest(a *attempt, fault *provider.Fault) error {
	if a.pendingBytes() > 0 && fault.Class != provider.ClassClient {
		if err := p.deliver(a); err != nil {
			return err
		}
	}
	return fault
}
