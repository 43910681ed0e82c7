package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"umg/app/dialect"
	"umg/app/provider"
	"umg/app/sse"
)

// errCut says that a stream ended before the answer did.
var errCut = errors.New("gateway: the stream ended before the answer did")

func getReader(source io.Reader, memory *sse.Budget) *sse.Reader {
	frames, _ := readers.Get().(*sse.Reader)
	frames.Reset(source, memory)
	return frames
}

// relay sends on the answer as it comes, everything but its end. Whatever is at hand is written together and flushed
// once, up to as many tokens as a mark may lack. An error of reading is the upstream's, one of writing is the client's;
// neither hides the other.
func (r *run) relay(ctx context.Context) error {
	if r.body != nil {
		return nil
	}
	for {
		if fault := r.fund(ctx); fault != nil {
			return r.keepRest(fault)
		}
		r.cutShort = r.ranOut || !r.done && r.endless(r.tally.ContentBytes)
		over := r.done || r.cutShort
		if n := r.pending(); n >= batchBytesMax || n > 0 && (over || !r.frames.Buffered() || r.outputEstimate()-r.seen >= markTokens) {
			if err := r.deliver(); err != nil {
				return err
			}
			r.progress()
		}
		if over {
			return nil
		}
		if err := r.step(); err != nil {
			if err = r.recoverStream(ctx, r.faultOf(err)); err != nil {
				return err
			}
		}
	}
}

// extend asks for another slice, beside the stream.
func (r *run) extend(ctx context.Context) *holdExtension {
	e := &holdExtension{hold: r.hold, answer: make(chan error, 1)}
	paid, more, err := r.nextSlice()
	e.paid = paid
	ctx, e.stop = context.WithCancel(ctx)
	if err != nil {
		e.answer <- err
		return e
	}
	credit := r.gateway.o.CreditManager
	// goroutine: the extension owns it; it ends with the answer of the credit manager or when the extension is stopped.
	go func() { e.answer <- extendHold(ctx, credit, &e.hold, more) }()
	return e
}

// keepRest delivers what came before an error.
func (r *run) keepRest(fault *provider.Fault) error {
	if r.pending() > 0 && fault.Class != provider.ClassClient {
		if err := r.deliver(); err != nil {
			return err
		}
	}
	return fault
}

// step reads one frame and passes it through the dialect.
func (r *run) step() error {
	broken := r.nextFrame()
	if broken != nil {
		r.frame = sse.Frame{} // An empty frame marks the end of the stream.
	} else if r.came = true; len(r.frame.Raw) >= largeBytes {
		if fault := r.reserveResponseMemory(len(r.frame.Raw)); fault != nil {
			return fault
		}
	}
	var (
		step dialect.Step
		err  error
	)
	batch := r.room()
	if *batch, step, err = r.stream.Frame(*batch, r.frame); len(*batch) == 0 {
		r.clear()
	}
	r.tally = r.stream.Tally()
	switch {
	case err != nil:
		return err
	case r.ends(broken) && (step == dialect.Done && r.tally.Ended || broken != nil && (r.tally.Ended || r.tally.Whole)):
		r.done = true // A connection that breaks after a whole answer does no harm.
	case broken != nil && !errors.Is(broken, io.EOF):
		return broken
	case broken != nil, step == dialect.Done:
		return errCut
	}
	return nil
}

// ends reports whether an answer that has an end can be taken for whole, whose stream has broken so, if at all. That of an
// upstream which says in every frame that it has ended must end properly.
func (r *run) ends(broken error) bool {
	return broken == nil || !r.tally.Doubtful || errors.Is(broken, io.EOF)
}

// nextFrame reads a frame, under the eyes of the watch when it is not at hand.
func (r *run) nextFrame() (err error) {
	waits := !r.frames.Buffered()
	if waits {
		if fault := r.await(); fault != nil {
			return fault
		}
	}
	r.sent = time.Time{}
	r.frame, err = r.frames.Next()
	if waits {
		r.watch.came()
		r.noteFirstByte()
	}
	return err
}

// await starts the watch's timer for the next frame. It returns the fault of an upstream that has sent no content for
// too long.
func (r *run) await() *provider.Fault {
	if r.sent.IsZero() { // After any other event than a flush, the wait begins now.
		r.sent = r.gateway.o.Now()
	}
	r.quiet.note(r.sent, &r.tally)
	limit, cause := r.patience()
	if left, shorter := r.quietLeft(r.sent, limit); shorter {
		limit, cause = left, r.quietCause()
		if left <= 0 { // An upstream that never pauses gives the watch no time to fire.
			return provider.TimedOut(cause)
		}
	}
	r.watch.wait(r.sent, limit, cause)
	return nil
}

// patience is how long the next frame may take, and what is wrong when it does not come.
func (r *run) patience() (time.Duration, error) {
	switch {
	case r.tally.Doubtful:
		return r.route.Timeouts.Idle, provider.ErrIdle
	case r.tally.Last, r.tally.Whole: // The answer is whole, though the connection may stay open.
		return r.gateway.o.Silence, provider.ErrIdle
	case r.tally.Ended: // Only the end of the connection is still to come.
		return drainMax, provider.ErrIdle
	case !r.came:
		return r.route.Timeouts.FirstByte, provider.ErrFirstByte
	}
	return r.route.Timeouts.Idle, provider.ErrIdle
}

// deliver sends the batch.
func (r *run) deliver() error {
	if r.firstByte == 0 {
		r.firstByte = r.gateway.o.Now().Sub(r.started)
		r.call.Timing.stop()
	}
	var err error
	r.sent, err = r.out.send(http.StatusOK, eventStream, *r.batch)
	r.note(*r.batch)
	r.clear()
	r.answered.giveBack()
	if err != nil {
		return provider.NewFault(provider.ClassClient, err)
	}
	r.seen = r.outputEstimate()
	return nil
}

// drain reads what may still come behind the end of an answer, so that its connection can be used again. An upstream
// that does not end its answer loses the connection.
func (r *run) drain() {
	if r.frames == nil || !r.answer.Stream || r.way.Cuts() {
		return
	}
	r.watch.wait(r.gateway.o.Now(), drainMax, provider.ErrIdle)
	_, _ = r.frames.Next() // The frame is the end, or one that the answer does not need.
	r.watch.came()
}
