package gateway

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
)

// recordingWriter is a client that keeps what it was sent, until it leaves.
type recordingWriter struct {
	status int
	header http.Header
	text   strings.Builder
	left   bool
}

var errLeft = errors.New("the client has left")

func (w *recordingWriter) Begin(status int, contentType string, h http.Header) error {
	w.status, w.header = status, h.Clone()
	w.header.Set("Content-Type", contentType)
	return nil
}

func (w *recordingWriter) Write(p []byte) error {
	if w.left {
		return errLeft
	}
	_, err := w.text.Write(p)
	return err
}

func (w *recordingWriter) Flush() error { return nil }

// begun is a response to a client of the chat style.
func begun(stream bool, timing *Timing) (*response, *recordingWriter) {
	style, _ := dialect.Of(llm.Chat)
	c := &call{
		gateway: &Gateway{o: Options{Now: time.Now, KeepAlive: time.Minute}}, request: Call{Timing: timing}, started: time.Now(),
		dialect: style, head: dialect.Head{Stream: stream},
	}
	r, w := &response{}, &recordingWriter{}
	r.begin(c, w, http.Header{"X-One": {"1"}})
	return r, w
}

func TestAResponseHasItsHeadersUntilItBegins(t *testing.T) {
	t.Parallel()
	r, w := begun(true, nil)
	defer r.deadlines.close()
	r.removeHeaders(http.Header{"X-One": nil})
	r.setHeaders(http.Header{"X-Two": {"2"}})
	r.setHeader("X-Three", "3")
	if r.writer.hasBegun() || r.writer.hasDelivered() {
		t.Error("it has begun before anything was sent")
	}
	if _, err := r.deliver([]byte("data: x\n\n"), false); err != nil {
		t.Fatal(err)
	}
	r.setHeader("X-Three", "4") // It is too late for that.
	if w.status != http.StatusOK || len(w.header) != 3 || w.header.Get("X-Two") != "2" || w.header.Get("X-Three") != "3" ||
		w.header.Get("Content-Type") != eventStream {
		t.Errorf("%d, %v", w.status, w.header)
	}
	if !r.writer.hasDelivered() || w.text.String() != "data: x\n\n" {
		t.Errorf("%q", w.text.String())
	}
}

func TestTheFirstDeliveryEndsTheWaitForTheProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		timing := &Timing{}
		r, _ := begun(true, timing)
		defer r.deadlines.close()
		timing.begin(time.Now())
		time.Sleep(3 * time.Second)
		timing.end(time.Now())
		for range 2 {
			if _, err := r.deliver([]byte("data: x\n\n"), false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		timing.begin(time.Now())
		time.Sleep(time.Second)
		if r.firstByte != 3*time.Second || timing.Upstream(time.Now()) != 3*time.Second {
			t.Errorf("the first byte came after %s, and %s were waited", r.firstByte, timing.Upstream(time.Now()))
		}
	})
}

func TestACheckpointIsDueByTokensOrByTime(t *testing.T) {
	t.Parallel()
	at := time.Now()
	for _, c := range []struct {
		delivered int64
		after     time.Duration
		want      bool
	}{
		{10, time.Hour, false}, {11, 0, false}, {11, checkpointInterval, true}, {10 + checkpointTokensMax - 1, 0, false}, {10 + checkpointTokensMax, 0, true},
	} {
		r := &response{deliveredTokens: c.delivered, checkpointTokens: 10, checkpointAt: at}
		if got := r.checkpointDue(at.Add(c.after)); got != c.want {
			t.Errorf("%d tokens, %s later: due is %t", c.delivered, c.after, got)
		}
	}
}

func TestAResponseEndsItsStream(t *testing.T) {
	t.Parallel()
	style, _ := dialect.Of(llm.Chat)
	next := func() (*response, *recordingWriter) {
		r, w := begun(true, nil)
		t.Cleanup(r.deadlines.close)
		return r, w
	}
	r, w := next()
	notice := func(dst []byte) []byte { return append(dst, "data: notice\n\n"...) }
	if err := r.finishStream(style.NewStream(llm.ResponseOptions{}), llm.Charge{}, notice); err != nil || !strings.Contains(w.text.String(), "data: notice") {
		t.Errorf("%q, %v", w.text.String(), err)
	}
	if err := r.finishStream(style.NewStream(llm.ResponseOptions{}), llm.Charge{}, nil); !errors.Is(err, errWriterClosed) {
		t.Errorf("a second end: %v", err)
	}
	r, w = next()
	r.fail(style.NewStream(llm.ResponseOptions{}), app.Errorf(app.Upstream, "upstream_error", "The provider failed."), "req_1", &llm.Charge{Cost: app.Dollar})
	if text := w.text.String(); !strings.Contains(text, "The provider failed.") || !strings.Contains(text, "req_1") {
		t.Errorf("%q", text)
	}
	r, w = next()
	w.left = true
	if err := r.finishStream(style.NewStream(llm.ResponseOptions{}), llm.Charge{}, nil); !errors.Is(err, errLeft) {
		t.Errorf("a client that has left: %v", err)
	}
}

// TestADurationIsWrittenAsTheLibraryWritesIt compares both for durations of all sizes.
func TestADurationIsWrittenAsTheLibraryWritesIt(t *testing.T) {
	t.Parallel()
	for _, unit := range []time.Duration{1, time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second, time.Minute} {
		for n := range time.Duration(2500) {
			if d := time.Duration(int(n)-5) * unit; string(appendDuration(nil, d)) != d.String() {
				t.Fatalf("%s is written %s", d, appendDuration(nil, d))
			}
		}
	}
}
