package gateway

import (
	"context"
	"net/http"
	"time"

	"umg/app/dialect"
	"umg/app/provider"
)

// relay delivers the answer to the client while it arrives, except for its end. It delivers all frames of the buffer in one write, but
// hardly more than checkpointLagMax tokens or batchBytesMax bytes. An error of reading is a fault of the upstream, and an error of
// writing is a fault of the client.
func (p *pipeline) relay(ctx context.Context) error {
	if p.attempt.body != nil {
		return nil
	}
	for {
		a := p.attempt
		if fault := p.mayGoOn(ctx, a); fault != nil {
			return p.leave(a, p.deliverRest(a, fault))
		}
		p.response.truncated = p.funding.outOfCredit || !a.complete && p.funding.estimate.endless(a.stats.ContentBytes)
		over := a.complete || p.response.truncated
		if n := a.pendingBytes(); n >= batchBytesMax || n > 0 && (over || !a.frames.Buffered() || p.deliveryRoom(a) <= 0) {
			if err := p.deliver(a); err != nil {
				return p.leave(a, err)
			}
			if p.response.checkpointDue(a.wait.deliveredAt) {
				p.checkpoint(&a.stats, a.wait.deliveredAt)
			}
		}
		if over {
			return nil
		}
		if p.run(a) {
			continue
		}
		if err := a.step(); err != nil {
			if err = p.recoverStream(ctx, a.faultOf(err)); err != nil {
				return err
			}
		}
	}
}

// run passes the received frames that need no reading of their own. It reports false when there are none, or when the hold pays for hardly
// more than a run.
func (p *pipeline) run(a *attempt) bool {
	runner, ok := a.stream.(dialect.Runner)
	if !ok || !a.frames.Buffered() {
		return false
	}
	room := p.deliveryRoom(a)
	if f := &p.funding; f.sliceTokens > 0 && f.outputUsed(&a.stats)+room > f.fundedTokens {
		return false
	}
	if a.pending == nil {
		a.pending = getBuffer()
	}
	before := len(*a.pending)
	*a.pending = runner.Run(*a.pending, a.frames, dialect.RunLimit{
		Frames: room, ContentBytes: room * bytesPerToken, Bytes: batchBytesMax,
	})
	if len(*a.pending) == before {
		return false
	}
	a.stats, a.wait.deliveredAt = a.stream.Stats(), time.Time{}
	return true
}

// deliveryRoom is how many tokens may join the pending ones, so that no more than checkpointLagMax are ahead of the checkpoint.
func (p *pipeline) deliveryRoom(a *attempt) int64 {
	return checkpointLagMax - (p.funding.outputFunded(&a.stats) - p.response.checkpointTokens)
}

// mayGoOn returns why the answer cannot go on: its client has left, or its credit could not be extended.
func (p *pipeline) mayGoOn(ctx context.Context, a *attempt) *provider.Fault {
	if a.watch.readsOn() {
		return provider.NewFault(provider.ClassClient, errClientGone)
	}
	if a.complete {
		return nil
	}
	return p.funding.keepAhead(ctx, &a.stats)
}

// deliver sends the pending bytes of an attempt.
func (p *pipeline) deliver(a *attempt) error {
	var err error
	a.wait.deliveredAt, err = p.response.deliver(*a.pending, false)
	p.noteDelivered(*a.pending)
	a.clearPending()
	a.memory.release()
	if err != nil {
		return provider.NewFault(provider.ClassClient, err)
	}
	p.response.deliveredTokens = p.funding.outputFunded(&a.stats)
	return nil
}

// deliver sends bytes of a stream. It returns the time afterwards, or an error when the client does not read them. After the last bytes
// nothing can be sent.
func (r *response) deliver(p []byte, last bool) (time.Time, error) {
	if r.firstByte == 0 {
		r.firstByte = r.now().Sub(r.started)
		r.timing.stop()
	}
	return r.writer.send(http.StatusOK, eventStream, p, last)
}

// deliverRest delivers the bytes that arrived before a fault. It returns the fault, or an error when the client does not read.
func (p *pipeline) deliverRest(a *attempt, fault *provider.Fault) error {
	if a.pendingBytes() > 0 && fault.Class != provider.ClassClient {
		if err := p.deliver(a); err != nil {
			return err
		}
	}
	return fault
}

// checkpointDue reports whether the next checkpoint is due after a delivery.
func (r *response) checkpointDue(at time.Time) bool {
	fresh := r.deliveredTokens - r.checkpointTokens
	return fresh >= checkpointTokensMax || fresh > 0 && at.Sub(r.checkpointAt) >= checkpointInterval
}
