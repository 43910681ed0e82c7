package gateway

import (
	"bytes"
	"context"
	"slices"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/provider"
)

// recoveriesMax is how often one answer may be continued by another route.
const recoveriesMax = 2

// Bounds of the memory that is kept for a stream so that another route can continue it.
const (
	keptBodyBytesMax = 4 << 20 // A longer request is never kept.
	// A request of up to keptSmallBytes is kept while there is any space. A longer one is kept only while keptFreeBytes are free.
	keptSmallBytes = 32 << 10
	keptFreeBytes  = keptStandard / 2
	// transcriptBytes are reserved for a transcript when it begins, and each time that it has grown beyond its space.
	transcriptBytes = 4 << 10
	// transcriptFactor is the ratio of the memory of a transcript to its contents, since its buffers have spare capacity.
	transcriptFactor   = 2
	transcriptSpaceMax = translate.TranscriptBytesMax * transcriptFactor
)

// recovery is the state that another route needs to continue a cut stream. A call has one only while there is another route or
// fallback model for its stream.
type recovery struct {
	transcript *translate.Transcript // The transcript is the part of the answer that the client already has.
	memory     memoryReservation     // Memory is that of the transcript and of the request.
	reserved   int64                 // Reserved is how many bytes the transcript may take.
	base       dialect.StreamStats   // Base is the statistics of the transcript.
	request    *llm.Request
	tries      int
	prefilled  bool // The request of the route that resumes the answer has the beginning of the answer.
}

// startRecovery begins to record the delivered answer, and returns a copy of the request to keep, so that another route can
// continue the answer. It returns nil when there is no such route or no memory. A stream of several choices cannot be continued,
// since a route would not know which choice it continues.
func (p *pipeline) startRecovery() []byte {
	size, budget := int64(len(p.request.Body)), p.gateway.o.Kept
	memory := memoryReservation{budget: budget}
	switch {
	case p.head.Allowed().RunsTools(): // The other route would run the tools again, and both have fees.
		return nil
	case !p.head.Stream || p.head.Choices != 1 || p.model.OnCut != catalog.CutRecover || !p.plan.hasMore() && !p.mayResumeElsewhere():
		return nil
	case size > keptBodyBytesMax, size > keptSmallBytes && budget.Left() < keptFreeBytes, !memory.take(size + transcriptBytes):
		return nil
	}
	p.recovery = &recovery{transcript: translate.NewTranscript(p.dialect, p.options), memory: memory, reserved: transcriptBytes}
	return bytes.Clone(p.request.Body)
}

// noteDelivered adds delivered bytes to the transcript, if there is one. It gives up the recovery when no route can continue the
// transcript any more, or when there is no memory for it.
func (p *pipeline) noteDelivered(sent []byte) {
	v := p.recovery
	if v == nil {
		return
	}
	v.transcript.Add(sent)
	size := int64(v.transcript.Size()) * transcriptFactor
	for size > v.reserved && v.reserved < transcriptSpaceMax && v.memory.take(transcriptBytes) {
		v.reserved += transcriptBytes
	}
	if v.transcript.Unusable() || size > v.reserved {
		p.endRecovery()
	}
}

// endRecovery gives up the transcript and the kept request, if there are any.
func (p *pipeline) endRecovery() {
	if p.recovery != nil {
		p.recovery.memory.release()
		p.recovery, p.request.Body = nil, nil
	}
}

// recoverStream delivers the bytes that arrived before a fault, and lets another route continue the answer if possible. It tries
// routes that this call has not tried yet, each once, first those of the model and then those of the fallback models. They are bound
// by the same limits as any attempt: health, credentials, the provider's retry budget, attemptsMax and the timeout of the call. On
// success the attempt of the call is that of the other route, whose first content is pending. Otherwise it is still the cut attempt,
// and the error is the fault of the cut or the reason why the call has ended.
func (p *pipeline) recoverStream(ctx context.Context, cut *provider.Fault) error {
	failed, v := p.attempt, p.recovery
	if err := p.deliverRest(failed, cut); err != error(cut) || !p.recoverable(cut) { //nolint:errorlint // It is that very fault or another.
		return err
	}
	v.base = dialect.StreamStats{
		Usage: failed.stats.Usage, ContentBytes: failed.stats.ContentBytes, ContentFrames: failed.stats.ContentFrames,
	}
	v.tries++
	p.endAttempt(failed, cut)
	failed.disconnect()
	if err := p.resumedRoutes().open(ctx); err != nil && !p.resumeElsewhere(ctx) {
		p.attempt = failed // The client gets the error in the stream that it already reads.
		if ctx.Err() == nil && !p.expired() {
			return cut
		}
		return err
	}
	failed.close()
	p.recovered++
	return nil
}

// recoverable reports whether another route may continue the answer.
func (p *pipeline) recoverable(cut *provider.Fault) bool {
	v := p.recovery
	if v == nil || v.tries == recoveriesMax || p.funding.outOfCredit || cut.Retry == provider.Nowhere && !p.hasTimeAfter(cut) {
		return false
	}
	if v.request == nil {
		if v.request = p.builder.decoded; v.request == nil {
			v.request, _ = p.dialect.Read(p.request.Body)
		}
	}
	return v.request != nil && !v.request.LogProbs && v.transcript.Resumable()
}

// prefill puts the beginning of the answer into the request if the provider supports that. Otherwise the route makes the whole answer
// again, and the gateway drops the part that the client already has.
func (v *recovery) prefill(route *catalog.Route, x *translate.Exchange) {
	v.prefilled = slices.Contains(route.Provider.Prefill, route.Style) && x.Prefill(v.transcript, v.request)
}

// tryResume tries to continue the answer on a route. When the provider refuses a request with the beginning of the answer, it tries
// again with the plain request.
func (l *routeLoop) tryResume(ctx context.Context, a *attempt) *provider.Fault {
	v := l.resume
	fault := l.tryOnce(a)
	if fault == nil || fault.Class != provider.ClassRefused || !v.prefilled || l.attempts == attemptsMax+l.fallbacks.attemptsMore {
		return fault
	}
	if a.endWait(fault) {
		l.trace.add(a)
	}
	v.prefilled = false
	exchange, err := l.builder.build(a.route, l.funding.estimate.output)
	if err != nil {
		return fault
	}
	again := l.newAttempt(candidate{a.route, exchange}, a.health) // Health counts the two as one.
	again.startedAt, a.active = a.startedAt, false
	a.close()
	l.attempt = again
	l.attempts++
	again.bind(ctx, l.attempts)
	return l.tryOnce(again)
}
