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

// recoveriesMax is how often another route may go on with one answer.
const recoveriesMax = 2

// Bounds of what is kept of a stream so that another route can go on with it.
const (
	keptBodyBytesMax = 4 << 20 // A longer request is never kept.
	// keptSmallBytes is the length up to which a request is kept while there is any space. A longer one is kept only while
	// keptFreeBytes are free.
	keptSmallBytes = 32 << 10
	keptFreeBytes  = keptStandard / 2
	// transcriptBytes are reserved for a transcript when it begins, and each time that it has grown beyond its space.
	transcriptBytes = 4 << 10
	// transcriptFactor is the space that a transcript needs over its contents, since its buffers grow ahead.
	transcriptFactor   = 2
	transcriptSpaceMax = translate.TranscriptBytesMax * transcriptFactor
)

// recovery is what it takes to let another route go on with a stream that is cut. Only streams have one that another
// route, or a fallback model, is left for.
type recovery struct {
	transcript *translate.Transcript // The transcript is what the client already has.
	memory     memoryReservation     // Memory is that of the transcript and of the request.
	reserved   int64                 // Reserved is how many bytes the transcript may take.
	base       dialect.StreamStats   // Base is the statistics of the transcript.
	request    *llm.Request
	tries      int
	prefilled  bool // The route that resumes the answer got its beginning as a prefix.
}

// releaseBody drops the request once its answer has begun, but for a copy where another route may have to go on with the
// answer.
func (p *pipeline) releaseBody() {
	p.request.Body = p.startRecovery()
	p.builder.decoded = nil
	p.attempt.exchange.Forget()
	p.builder.memory.release()
	if p.request.OnBodyReleased != nil {
		p.request.OnBodyReleased()
	}
}

// startRecovery returns a copy of the request to keep while its answer streams, and begins to record what is delivered,
// where another route may have to go on with the answer. It returns nil where none can, and where there is no memory. A stream
// of several choices cannot go on, since another route does not know which of them it would continue.
func (p *pipeline) startRecovery() []byte {
	size, budget := int64(len(p.request.Body)), p.gateway.o.Kept
	memory := memoryReservation{budget: budget}
	switch {
	case !p.head.Stream || p.head.Choices != 1 || p.model.OnCut != catalog.CutRecover || !p.plan.hasMore() && !p.mayResumeElsewhere():
		return nil
	case size > keptBodyBytesMax, size > keptSmallBytes && budget.Left() < keptFreeBytes, !memory.take(size + transcriptBytes):
		return nil
	}
	p.recovery = &recovery{transcript: translate.NewTranscript(p.dialect, p.options), memory: memory, reserved: transcriptBytes}
	return bytes.Clone(p.request.Body)
}

// noteDelivered records what was delivered, where that is of use. A transcript that no other stream can go on with, and one
// that there is no memory for, is given up together with the request.
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

// recoverStream delivers what came before a fault, and lets another route go on with the answer if that can be. It asks routes
// that this call has not asked yet, each once, within the bounds of every attempt: health, credentials, the provider's retry
// budget, attemptsMax and the time the whole call may take. After the routes of the model come those of the fallback models that
// may go on with the answer. Afterwards the attempt of the call is that of the other route, whose first content is pending. Else
// it is still the one that was cut, and the error is the fault of the cut, or the reason why the call itself is over.
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

// recoverable reports whether another route may go on with the answer.
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

// prefill puts the beginning of the answer into the request where the provider takes that. Else the route is asked for the whole
// answer, and what the client already has is dropped from it.
func (v *recovery) prefill(route *catalog.Route, x *translate.Exchange) {
	v.prefilled = slices.Contains(route.Provider.Prefill, route.Style) && x.Prefill(v.transcript, v.request)
}

// tryResume tries a route that is to go on with the answer. One that refuses to be given its beginning may still answer from the
// start.
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
