package page

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-h/templ"

	"umg/views"
)

// stream runs a stream against made-up looks in made-up time, and says what was written and how long it lasted.
func stream(t *testing.T, change func(*eventStream)) (written string, lasted time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		s := eventStream{
			every: time.Second, left: make(chan struct{}), there: func(context.Context) bool { return true },
			poll:  func(context.Context) (views.LiveEvent, bool, error) { return views.LiveEvent{}, false, nil },
			write: func(text string) error { _, err := b.WriteString(text); return err },
		}
		change(&s)
		began := time.Now()
		s.run(t.Context())
		written, lasted = b.String(), time.Since(began)
	})
	return written, lasted
}

func TestALiveStreamEndsByItself(t *testing.T) {
	t.Parallel()
	if written, lasted := stream(t, func(*eventStream) {}); lasted != streamAgeMax || strings.Count(written, heartbeat) < 39 || strings.Contains(written, "data:") {
		t.Errorf("a quiet one lasted %s with %d beats", lasted, strings.Count(written, heartbeat))
	}
	looks := 0
	if _, lasted := stream(t, func(s *eventStream) { s.there = func(context.Context) bool { looks++; return looks < 4 } }); lasted != 3*time.Second {
		t.Errorf("one whose reader left lasted %s", lasted)
	}
	fails := errors.New("away")
	if _, lasted := stream(t, func(s *eventStream) {
		s.poll = func(context.Context) (views.LiveEvent, bool, error) { return views.LiveEvent{}, false, fails }
	}); lasted != pollFailuresMax*time.Second {
		t.Errorf("one whose looks fail lasted %s", lasted)
	}
	if _, lasted := stream(t, func(s *eventStream) { s.write = func(string) error { return fails } }); lasted != 0 {
		t.Errorf("a stream without a reader lasted %s", lasted)
	}
	if _, lasted := stream(t, func(s *eventStream) {
		left := newEventStreams()
		s.left = left.left
		time.AfterFunc(5*time.Second, left.leave)
	}); lasted != 5*time.Second {
		t.Errorf("one of a server that leaves lasted %s", lasted)
	}
}

func TestALiveEventIsOneEventWhateverIsInIt(t *testing.T) {
	t.Parallel()
	looks := 0
	written, _ := stream(t, func(s *eventStream) {
		s.poll = func(context.Context) (views.LiveEvent, bool, error) {
			looks++
			return views.LiveEvent{ID: "7", HTML: templ.Raw("<p>one\r\nid: 9\rdata: x\n\n</p>")}, looks == 2, nil
		}
	})
	if want := "id: 7\ndata: <p>one\ndata: id: 9\ndata: data: x\ndata: \ndata: </p>\n\n"; strings.Count(written, want) != 1 || !strings.HasPrefix(written, streamPreamble) {
		t.Errorf("written %q", written)
	}
	if f := eventFrame("a\nb", "x"); f != "data: x\n\n" {
		t.Errorf("an id of two lines: %q", f)
	}
}

func TestLiveStreamsAreBounded(t *testing.T) {
	t.Parallel()
	l := newEventStreams()
	for range streamsPerUserMax {
		if !l.take("one") {
			t.Fatal("refused too soon")
		}
	}
	if l.take("one") || !l.take("two") {
		t.Error("one reader takes what is another's")
	}
	l.give("one")
	if !l.take("one") {
		t.Error("what was given back cannot be taken")
	}
	l.leave()
	l.leave()
	if l.take("three") {
		t.Error("a stream begins on a server that leaves")
	}
	for range streamsPerUserMax {
		l.give("one")
	}
	l.give("two")
	if l.all != 0 || len(l.byUser) != 0 {
		t.Errorf("left over: %d, %v", l.all, l.byUser)
	}
}
