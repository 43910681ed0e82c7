package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app/gateway"
	"umg/billing"
)

// TestAnAnswerThatTheProviderFinishesAnywayIsReadToItsUsage leaves a provider that makes and charges the whole answer even when its
// connection is closed. The call is charged what that provider counted.
func TestAnAnswerThatTheProviderFinishesAnywayIsReadToItsUsage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more  string
		leave func(b *bench, s *sink, leave func())
	}{
		"before the first token": {streamed, nil},
		"before the whole body":  {"", nil},
		"by its connection": {streamed, func(_ *bench, s *sink, leave func()) {
			s.hook = func([]byte) error { leave(); return nil }
		}},
		"by a write": {streamed, func(_ *bench, s *sink, _ func()) {
			writes := 0
			s.hook = func([]byte) error {
				if writes++; writes > 1 {
					return errGone
				}
				return nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, startMoney)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			s := &sink{}
			if c.more == streamed { // The gateway sees that the client has left before the answer ends.
				b.fault("lasting", "pace=2ms")
			}
			if c.leave != nil {
				c.leave(b, s, leave)
			} else {
				b.control(http.MethodPost, "hold", nil)
				go func() {
					b.control(http.MethodGet, "waiting?at_least=1&timeout=5s", nil)
					leave()
					b.control(http.MethodPost, "release", nil)
				}()
			}
			r, err := b.gateway.Generate(ctx, b.call("test/lasting", "count to 60", c.more), s)
			if r.Reason != billing.ReasonClientLeftContinued || r.Estimated || r.Usage[3] != 60 || r.Cost != cost(r.Usage[0], 60) {
				t.Errorf("%v, report %+v", err, r)
			}
			b.settled(r.Cost)
		})
	}
}

func TestAnAnswerIsReadOnForALimitedTime(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney, func(o *gateway.Options) { o.ReadOn = 50 * time.Millisecond })
	b.fault("lasting", "stall-after=10t")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	s := &sink{hook: func([]byte) error { leave(); return nil }}
	r, err := b.gateway.Generate(ctx, b.call("test/lasting", "count to 60", streamed), s)
	must(t, err)
	if r.Reason != billing.ReasonClientLeft || !r.Estimated || r.Usage[3] != 10 || r.Cost == 0 {
		t.Errorf("report %+v", r)
	}
	if u := b.record(); !strings.Contains(u.Flags, "output_by_frames") || strings.Contains(u.Flags, "after_cancel_unknown") {
		t.Errorf("the record says %q", u.Flags)
	}
	b.settled(r.Cost)
}

func TestTheRecordSaysHowAnEarlyLeaverWasEstimated(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	b.fault("alpha", "stall-after=10t")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	s := &sink{hook: func([]byte) error { leave(); return nil }}
	r, err := b.gateway.Generate(ctx, b.call("test/one", "count to 60", streamed), s)
	must(t, err)
	if u := b.record(); r.Reason != billing.ReasonClientLeft || u.Flags != "input_by_size output_by_frames after_cancel_unknown" {
		t.Errorf("%s, the record says %q", r.Reason, u.Flags)
	}
}

// leftWaiting makes a call whose client leaves while the provider works on the answer.
func (b *bench) leftWaiting(prompt string) *gateway.Report {
	b.t.Helper()
	ctx, leave := context.WithCancel(b.t.Context())
	defer leave()
	b.control(http.MethodPost, "hold", nil)
	go func() {
		b.control(http.MethodGet, "waiting?at_least=1&timeout=5s", nil)
		leave()
	}()
	r, _ := b.gateway.Generate(ctx, b.call("test/patient", prompt, streamed), &sink{})
	b.control(http.MethodPost, "release", nil)
	return r
}
