package gateway

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/sse"
)

// recoveriesMax is how often another route may go on with one answer.
const recoveriesMax = 2

// recovery is what it takes to let another route go on with a stream that is cut. Only streams have one that another
// route, or a fallback model, is left for.
type recovery struct {
	transcript *translate.Transcript // The transcript is what the client already has.
	base       dialect.StreamStats   // Base is the tally of the transcript.
	request    *llm.Request
	tries      int
	going      bool  // Another route is being tried, or has resumed the answer.
	prefilled  bool  // That route got the beginning of the answer as a prefix.
	room       int64 // Room is how many bytes the transcript may take.
}

// Bounds of what is kept of a stream so that another route can go on with it.
const (
	keptBodyBytesMax = 4 << 20 // A longer request is never kept.
	// keptSmallBytes is the length up to which a request is kept while there is any room. A longer one is kept only while
	// keptFreeBytes are free.
	keptSmallBytes = 32 << 10
	keptFreeBytes  = keptStandard / 2
	// transcriptBytes are reserved for a transcript when it begins, and each time that it has grown beyond its room.
	transcriptBytes = 4 << 10
	// transcriptFactor is the room that a transcript needs over its contents, since its buffers grow ahead.
	transcriptFactor  = 2
	transcriptRoomMax = translate.TranscriptBytesMax * transcriptFactor
)

// keepBody returns a copy of the request to keep while its answer streams, and begins to note what the client is sent,
// where another route may have to go on with the answer. It returns nil where none can, and where there is no room. Of
// several choices no one can say which of them the other would give.
func (r *run) keepBody() []byte {
	size := int64(len(r.call.Body))
	switch {
	case !r.head.Stream || r.head.Choices != 1 || r.model.OnCut != catalog.CutRecover || !r.plan.more() && !r.mayFallOn():
		return nil
	case size > keptBodyBytesMax, size > keptSmallBytes && r.gateway.o.Kept.Left() < keptFreeBytes,
		!r.kept.take(size + transcriptBytes):
		return nil
	}
	r.recovery = &recovery{transcript: translate.NewTranscript(r.style, r.ask), room: transcriptBytes}
	return bytes.Clone(r.call.Body)
}

// note notes what the client was sent, where that is of use. A transcript that no other stream can go on with, and one
// that there is no room for, is given up together with the request.
func (r *run) note(sent []byte) {
	v := r.recovery
	if v == nil || r.settled {
		return
	}
	v.transcript.Add(sent)
	size := int64(v.transcript.Size()) * transcriptFactor
	for size > v.room && v.room < transcriptRoomMax && r.kept.take(transcriptBytes) {
		v.room += transcriptBytes
	}
	if v.transcript.Lost() || size > v.room {
		r.recovery, r.call.Body = nil, nil
		r.kept.giveBack()
	}
}

// recoverStream delivers what came before a fault, and lets another route go on with the answer if that can be.
func (r *run) recoverStream(ctx context.Context, cut *provider.Fault) error {
	if err := r.keepRest(cut); err != error(cut) || !r.recoverable(cut) { //nolint:errorlint // it is that very fault or another
		return err
	}
	v := r.recovery
	failed, route, tally := r.stream, r.route, r.tally
	v.base = dialect.StreamStats{Usage: tally.Usage, ContentBytes: tally.ContentBytes, ContentFrames: tally.ContentFrames}
	v.tries++
	v.going = true
	r.stream, r.tally, r.frame, r.sent = nil, v.base, sse.Frame{}, r.gateway.o.Now()
	if err := r.openNextRoute(ctx, cut, r.buildResumeRequest); err != nil {
		r.stream, r.route, r.tally = failed, route, tally // The client gets the error in the stream that it already reads.
		return err
	}
	failed.Close()
	r.recovered++
	return nil
}

// recoverable reports whether another route may go on with the answer.
func (r *run) recoverable(cut *provider.Fault) bool {
	v := r.recovery
	if v == nil || v.tries == recoveriesMax || r.ranOut || cut.Retry == provider.Nowhere && !r.outlasts(cut) {
		return false
	}
	if v.request == nil {
		if v.request = r.original; v.request == nil {
			v.request, _ = r.style.Read(r.call.Body)
		}
	}
	return v.request != nil && !v.request.LogProbs && v.transcript.Whole()
}

// buildResumeRequest finds the way on which a route goes on with the answer: with its beginning in the request where the provider
// takes that, and else all over again.
func (r *run) buildResumeRequest(route *catalog.Route) error {
	v := r.recovery
	v.prefilled = false
	if err := r.buildRequest(route); err != nil {
		return err
	}
	v.prefilled = slices.Contains(route.Provider.Prefill, route.Style) && r.way.Prefill(v.transcript, v.request)
	return nil
}

// attemptOn tries a route that is to go on with the answer. One that refuses to be given its beginning may still give it
// all over again.
func (r *run) attemptOn(ctx context.Context) *provider.Fault {
	v := r.recovery
	fault := r.attempt(ctx, r.route)
	if fault == nil || fault.Class != provider.ClassRefused || !v.prefilled || r.attempts == attemptsMax+r.attemptsMore {
		return fault
	}
	r.opened(fault)
	r.release()
	v.prefilled = false
	if r.buildRequest(r.route) != nil {
		return fault
	}
	r.attempts++
	return r.attempt(ctx, r.route)
}

// newStream is the stream of the attempt, towards a client that has nothing of the answer or a part of it.
func (r *run) newStream() (dialect.Stream, error) {
	v := r.recovery
	if v == nil || !v.going {
		return r.way.NewStream(r.ask), nil
	}
	ask := r.ask
	ask.Request = v.request
	s, ok := r.way.Continue(ask, v.transcript, v.base)
	if !ok {
		return nil, translate.ErrOtherAnswer
	}
	return s, nil
}

// undo forgets what an attempt has counted that did not answer.
func (r *run) undo() {
	if v := r.recovery; v != nil && v.going {
		r.tally = v.base
		return
	}
	r.tally, r.marked = dialect.StreamStats{}, 0
}

// differs reports whether a stream could not go on with the answer of another, which is no fault of its provider.
func differs(err error) bool { return errors.Is(err, translate.ErrOtherAnswer) }
