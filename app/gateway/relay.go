package gateway

import (
	"errors"
	"io"
	"net/http"

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
// once. An error of reading is the upstream's, one of writing is the client's; neither hides the other.
func (r *run) relay() error {
	if r.body != nil {
		return nil
	}
	for {
		r.cutShort = !r.done && r.endless(r.tally.ContentBytes)
		over := r.done || r.cutShort
		if len(*r.batch) >= batchBytesMax || len(*r.batch) > 0 && (over || !r.frames.Buffered()) {
			if err := r.deliver(); err != nil {
				return err
			}
		}
		if over {
			return nil
		}
		if err := r.step(); err != nil {
			return r.keepRest(r.faultOf(err))
		}
	}
}

// keepRest delivers what came before an error.
func (r *run) keepRest(fault *provider.Fault) error {
	if len(*r.batch) > 0 && fault.Class != provider.ClassClient {
		if err := r.deliver(); err != nil {
			return err
		}
	}
	return fault
}

// step reads one frame and passes it through the dialect.
func (r *run) step() error {
	if !r.frames.Buffered() {
		limit, cause := r.route.Timeouts.Idle, provider.ErrIdle
		if !r.came {
			limit, cause = r.route.Timeouts.FirstByte, provider.ErrFirstByte
		}
		r.watch.wait(limit, cause)
		defer r.watch.came()
	}
	frame, err := r.frames.Next()
	over := errors.Is(err, io.EOF)
	if over {
		frame = sse.Frame{} // says so to the stream
	} else if err != nil {
		return err
	}
	r.came = true
	var step dialect.Step
	*r.batch, step, err = r.stream.Frame(*r.batch, frame)
	r.tally = r.stream.Tally()
	if err == nil && (over || step == dialect.Done) {
		if r.done = r.tally.Ended || over && r.tally.Whole; !r.done {
			return errCut
		}
	}
	return err
}

// deliver sends the batch.
func (r *run) deliver() error {
	if r.firstByte == 0 {
		r.firstByte = r.gateway.o.Now().Sub(r.started)
	}
	err := r.out.send(http.StatusOK, eventStream, *r.batch)
	*r.batch = (*r.batch)[:0]
	if err != nil {
		return provider.NewFault(provider.ClassClient, err)
	}
	return nil
}

// drain reads what may still come behind the end of an answer, so that its connection can be used again. An upstream
// that does not end its answer loses the connection.
func (r *run) drain() {
	if r.frames == nil || !r.answer.Stream || r.way.Cuts() {
		return
	}
	r.watch.wait(drainMax, provider.ErrIdle)
	_, _ = r.frames.Next() // the end, or something nobody asked for
	r.watch.came()
}
