package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/provider"
	"umg/billing"
)

// watcher is a client and a lease manager in one, so that a test can compare what was delivered with the checkpoints.
type watcher struct {
	book
	frames    int64
	unmarked  int64
	gap       int64
	tooEarly  bool
	delivered bool
}

func (w *watcher) Begin(int, string, http.Header) error { return nil }
func (w *watcher) Flush() error                         { return nil }

func (w *watcher) Write(p []byte) error {
	n := int64(bytes.Count(p, []byte(`"content":" word"`)))
	w.frames += n
	w.unmarked += n
	w.gap = max(w.gap, w.unmarked)
	return nil
}

func (w *watcher) Progress(h billing.Hold, s billing.Settlement) {
	w.book.Progress(h, s)
	w.delivered = s.Delivered
	w.unmarked = w.frames - s.Record.Usage[meter.OutputTokens]
	w.tooEarly = w.tooEarly || w.unmarked < 0
}

// TestMarksFollowWhatIsDeliveredClosely delivers some frames one by one and then the others at once: those of one write have one mark.
func TestMarksFollowWhatIsDeliveredClosely(t *testing.T) {
	t.Parallel()
	for _, single := range []int{0, 20, 31, 32} {
		w := &watcher{}
		p := relayed(t, &Gateway{o: Options{Now: time.Now, CreditManager: w}}, bytes.NewReader(nil), w)
		text := stream(1000)
		head := bytes.Index(text, []byte(frame)) + single*len(frame)
		p.attempt.read(io.MultiReader(iotest.OneByteReader(bytes.NewReader(text[:head])), bytes.NewReader(text[head:])))
		p.head.TextTokens, p.head.TextBytes = 100, 400
		if err := p.funding.price(&p.head, p.model); err != nil {
			t.Fatal(err)
		}
		if err := p.relay(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.close()
		if w.frames != 1000 || w.tooEarly || w.gap > 64 || len(w.marks) < 16 || !w.delivered {
			t.Errorf("%d alone: %d frames, %d of them unmarked at most, %d marks, too early %t", single, w.frames, w.gap, len(w.marks), w.tooEarly)
		}
		last := w.marks[len(w.marks)-1]
		if u := last.Record; u.Reason != "crashed" || u.Outcome != "cut" || !u.Estimated || u.Usage[meter.InputTokens] != 101 || last.Cost == 0 {
			t.Errorf("the last mark is %+v", last)
		}
	}
}

func TestTheFirstMarkCostsNothing(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	g := &Gateway{o: Options{Now: time.Now, CreditManager: w}}
	p := relayed(t, g, bytes.NewReader(nil), w)
	p.checkpoint(p.stats(), time.Time{})
	p.close()
	if s := w.marks[0]; s.Cost != 0 || s.Delivered || s.Record.Reason != "crashed_unanswered" || s.Record.Outcome != "failed" || s.Record.Usage != (meter.Counts{}) {
		t.Errorf("%+v", s)
	}
}

func BenchmarkMark(b *testing.B) {
	g := &Gateway{o: Options{Now: time.Now, CreditManager: &closed{}}}
	p := relayed(b, g, bytes.NewReader(nil), &discardSink{})
	p.attempt.stats = dialect.StreamStats{ContentBytes: 5000, ContentFrames: 1000}
	b.ReportAllocs()
	for b.Loop() {
		p.checkpoint(p.stats(), time.Time{})
	}
	p.close()
}

// closed is a lease manager that keeps nothing.
type closed struct{ book }

func (*closed) Progress(billing.Hold, billing.Settlement) {}

func TestAMarkAllocatesNothing(t *testing.T) {
	g := &Gateway{o: Options{Now: time.Now, CreditManager: &closed{}}}
	p := relayed(t, g, bytes.NewReader(nil), &discardSink{})
	defer p.close()
	p.attempt.stats = dialect.StreamStats{ContentBytes: 5000, ContentFrames: 1000}
	if n := testing.AllocsPerRun(100, func() { p.checkpoint(p.stats(), time.Time{}) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestNoUsageWhateverCostsMoreThanItsHold settles calls whose upstreams claim anything, in any state, with any hold.
func TestNoUsageWhateverCostsMoreThanItsHold(t *testing.T) {
	t.Parallel()
	g := &Gateway{o: Options{Now: time.Now, CreditManager: &book{}}}
	faults := []error{
		nil, nil, nil, provider.NewFault(provider.ClassClient, nil), provider.NewFault(provider.ClassIdle, nil), provider.NewFault(provider.ClassReset, nil),
		provider.NewFault(provider.ClassContent, errEmpty), provider.NewRefusal(app.Errorf(app.Invalid, "x", "x")),
		&provider.Fault{Class: provider.ClassEnded, Err: app.Errorf(app.Unavailable, "x", "x")},
	}
	rapid.Check(t, func(t *rapid.T) {
		p := relayed(new(testing.T), g, bytes.NewReader(nil), &discardSink{})
		defer p.close()
		count := rapid.OneOf(rapid.Int64Range(0, 10_000), rapid.Int64Range(0, 1<<31), rapid.Int64())
		u := llm.Usage{
			Input: count.Draw(t, "input"), CacheRead: count.Draw(t, "read"), CacheWrite: count.Draw(t, "write"), Output: count.Draw(t, "output"),
			Reasoning: count.Draw(t, "reasoning"),
		}
		p.attempt.stats = dialect.StreamStats{
			Usage: u, Reported: rapid.Bool().Draw(t, "reported") && u.Valid(), ContentBytes: rapid.Int64Range(0, 1<<40).Draw(t, "bytes"),
			ContentFrames: rapid.Int64Range(0, 1<<30).Draw(t, "frames"), Finish: rapid.SampledFrom([]string{"", "stop", "content_filter"}).Draw(t, "finish"),
		}
		p.head.TextBytes = rapid.Int64Range(0, 1<<30).Draw(t, "prompt")
		p.head.BodyBytes, p.head.TextTokens = p.head.TextBytes, p.head.TextBytes/rapid.Int64Range(2, 40).Draw(t, "bytes a token")
		if err := p.funding.price(&p.head, p.model); err != nil {
			t.Fatal(err)
		}
		p.funding.hold.Amount = app.Amount(rapid.Int64Range(int64(p.funding.estimate.min), int64(p.funding.estimate.want)).Draw(t, "hold"))
		p.funding.bound()
		p.response.truncated = rapid.Bool().Draw(t, "cut short")
		p.funding.outOfCredit = p.response.truncated && rapid.Bool().Draw(t, "ran out")
		p.response.writer.delivered = rapid.Bool().Draw(t, "delivered")
		p.providerHadRequest = rapid.Bool().Draw(t, "taken")
		ended := rapid.SampledFrom(faults).Draw(t, "ended")
		rule := billing.RuleOf(p.reason(context.Background(), ended))
		charge := p.funding.charge(rule, p.stats())
		paid := p.funding.hold.Charge(charge.cost)
		switch {
		case paid < 0 || paid > p.funding.hold.Amount || charge.cost < 0:
			t.Errorf("%s of %s are paid by %s", paid, p.funding.hold.Amount, rule.Reason)
		case rule.Charge == billing.ChargeDelivered && !p.attempt.stats.Reported && u.InputTotal() <= p.funding.estimate.input && charge.cost > p.funding.hold.Amount:
			t.Errorf("%s are counted for %s by %s", charge.cost, p.funding.hold.Amount, rule.Reason)
		case rule.Charge == billing.ChargeNothing && (charge.cost != 0 || charge.meters() != meter.Counts{}):
			t.Errorf("%+v by %s", charge, rule.Reason)
		case ended != nil && !p.response.writer.delivered && charge.cost != 0 && rule.Outcome != outcomeLeft:
			t.Errorf("nothing delivered costs %s by %s", charge.cost, rule.Reason)
		case strings.HasSuffix(string(rule.Reason), "_unanswered") && paid != 0:
			t.Errorf("%s by %s", paid, rule.Reason)
		}
	})
}

func TestAClientThatLeavesBehindTheUsageLeavesAtTheEnd(t *testing.T) {
	t.Parallel()
	g := &Gateway{o: Options{Now: time.Now, CreditManager: &book{}}}
	p := relayed(t, g, bytes.NewReader(nil), &discardSink{})
	defer p.close()
	p.response.writer.delivered, p.funding.hold.Amount = true, app.Dollar
	p.attempt.stats = dialect.StreamStats{ContentBytes: 9, ContentFrames: 3, Finish: "stop", Reported: true, Usage: llm.Usage{Input: 9, Output: 3}}
	gone, leave := context.WithCancel(t.Context())
	leave()
	left := provider.NewFault(provider.ClassClient, nil)
	if got, cut := p.reason(gone, nil), p.reason(gone, left); got != billing.ReasonClientLeftAtEnd || cut != got {
		t.Errorf("%s, and %s where the last mark is missing", got, cut)
	}
	p.attempt.stats.Reported = false
	if got := p.reason(gone, left); got != billing.ReasonClientLeft {
		t.Errorf("%s before the usage", got)
	}
}
