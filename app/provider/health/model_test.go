package health_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/health"
)

// breakerModel is what a breaker shall do, told as plainly as possible: it keeps every outcome and looks at them all.
type breakerModel struct {
	set      catalog.Breaker
	now      time.Duration
	outcomes []outcome // Outcomes are those since the last change, if they count.
	begun    int
	row      []*openTry // Row has the latest failures in a row.
	ejected  bool
	until    time.Duration
	probe    *openTry
	length   time.Duration // Length is the remembered length of the last ejection.
	closedAt time.Duration
	changes  int
}

type outcome struct {
	at     time.Duration
	failed bool
}

type openTry struct {
	try     health.Try
	changes int
	probe   bool
	began   time.Duration
	number  int
}

const firstByteOfModel = 2 * time.Second

// Failures after so long are those that callers had to wait for. So many attempts in a row of failures may have no outcome before
// the answer of an earlier one ends the row.
const (
	waitedOfModel  = time.Second
	pendingOfModel = 5
)

func (b *breakerModel) blocked() bool {
	return b.ejected && (b.now < b.until || b.probe != nil && b.now < b.probe.began+firstByteOfModel)
}

// shorter is the length of the ejection before one of a length.
func (b *breakerModel) shorter(length time.Duration) time.Duration {
	if length <= b.set.Ejection {
		return 0
	}
	before := b.set.Ejection
	for 2*before < length {
		before *= 2
	}
	return before
}

func (b *breakerModel) eject(last *openTry, outpaced bool) {
	b.length = min(max(b.set.Ejection, 2*b.length), b.set.EjectionMax)
	if b.now-last.began >= waitedOfModel && !outpaced {
		b.length = b.set.EjectionMax
	}
	b.ejected, b.until, b.probe, b.row = true, max(last.began+b.length, b.now+b.set.Ejection), nil, nil
	b.changes++
}

// precedesRow reports whether an attempt began before a row of failures in which few attempts have no outcome.
func (b *breakerModel) precedesRow(o *openTry) bool {
	if len(b.row) == 0 {
		return false
	}
	first := b.row[0].number
	for _, failed := range b.row {
		first = min(first, failed.number)
	}
	return o.number < first && b.begun-first-len(b.row) < pendingOfModel
}

func (b *breakerModel) end(o *openTry, f *provider.Fault) {
	good := f == nil
	bad := f != nil && f.Class == provider.ClassServer
	outpaced := f != nil && f.Class == provider.ClassEnded
	if o.changes != b.changes {
		if good || bad { // These outcomes count for the failure rate.
			b.outcomes = append(b.outcomes, outcome{b.now, bad})
		}
		return
	}
	if good || bad {
		b.outcomes = append(b.outcomes, outcome{b.now, bad})
	}
	switch {
	case b.ejected && good:
		b.ejected, b.probe, b.closedAt, b.row, b.outcomes = false, nil, b.now, nil, nil
		b.changes++
	case b.ejected && o.probe:
		b.probe = nil
		if bad || outpaced {
			b.eject(o, outpaced)
		}
	case b.ejected:
	case good && !b.precedesRow(o):
		b.row = nil
	case bad, outpaced:
		b.row = append(b.row, o)
		if len(b.row) >= b.set.Failures || b.rate() {
			for healthy := b.now - b.closedAt; b.length > 0 && healthy >= b.length; b.length = b.shorter(b.length) {
				healthy -= b.length
			}
			b.eject(o, outpaced)
		}
	}
}

func (b *breakerModel) rate() bool {
	calls, failures := 0, 0
	for _, o := range b.outcomes {
		if o.at/(5*time.Second) > b.now/(5*time.Second)-6 {
			calls++
			if o.failed {
				failures++
			}
		}
	}
	return calls >= b.set.CallsMin && failures*100 >= calls*b.set.FailurePercent
}

func TestTheBreakerDoesWhatItsModelDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, c := monitor()
		r := upstream()
		r.Timeouts.FirstByte = firstByteOfModel
		r.Provider.Breaker = catalog.Breaker{
			Failures: rapid.IntRange(1, 4).Draw(t, "failures"), FailurePercent: rapid.IntRange(20, 100).Draw(t, "percent"),
			CallsMin: rapid.IntRange(3, 8).Draw(t, "calls min"), Ejection: time.Duration(rapid.IntRange(1, 10).Draw(t, "ejection")) * time.Second,
		}
		r.Provider.Breaker.EjectionMax = r.Provider.Breaker.Ejection + time.Duration(rapid.IntRange(0, 100).Draw(t, "ejection max"))*time.Second
		b := &breakerModel{set: r.Provider.Breaker}
		var open []*openTry
		outcomes := []*provider.Fault{nil, broken(), broken(), fault(provider.ClassClient, 0), fault(provider.ClassEnded, 0)}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				d := time.Duration(rapid.IntRange(0, 4000).Draw(t, "wait")) * time.Millisecond
				b.now += d
				c.advance(d)
			case 1:
				force := rapid.Bool().Draw(t, "force")
				blocked := b.blocked()
				try, block := m.Begin(r, force)
				if got := block != ""; got != (blocked && !force) {
					t.Fatalf("at %v with force %v Begin says %q, and the model blocked %v", b.now, force, block, blocked)
				}
				if block != "" {
					continue
				}
				b.begun++
				o := &openTry{try: try, changes: b.changes, began: b.now, probe: b.ejected && !blocked, number: b.begun}
				if o.probe {
					b.probe = o
				}
				open = append(open, o)
			default:
				if len(open) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				f := outcomes[rapid.IntRange(0, len(outcomes)-1).Draw(t, "outcome")]
				if f != nil && f.Class == provider.ClassEnded {
					open[i].try.Hedged(time.Second)
				}
				open[i].try.End(f, 0)
				b.end(open[i], f)
				open = append(open[:i], open[i+1:]...)
			}
			if got := m.Blocked(r) == health.Ejected || m.Blocked(r) == health.Slow; got != b.blocked() {
				t.Fatalf("at %v ejected is %v, in the model %v", b.now, got, b.blocked())
			}
		}
		if got := m.Report(); len(got.Upstreams) > 0 && got.Upstreams[0].InFlight != len(open) {
			t.Fatalf("%d attempts run, the report says %d", len(open), got.Upstreams[0].InFlight)
		}
	})
}

func TestPercentilesAreAtMostAnEighthTooLongAndForgetWhatWas(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	if _, known := m.FirstByteP95(r); known {
		t.Error("a percentile of nothing is known")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		try, _ := m.Begin(r, false)
		first := time.Duration(100+random.IntN(11)) * time.Millisecond
		if i%10 == 0 {
			first = 900 * time.Millisecond
		}
		try.End(nil, first)
	}
	p95, known := m.FirstByteP95(r)
	if !known || p95 < 900*time.Millisecond || p95 > 1013*time.Millisecond {
		t.Errorf("p95 is %v, known %v", p95, known)
	}
	if p50 := m.Report().Upstreams[0].FirstByteP50; p50 < 100*time.Millisecond || p50 > 124*time.Millisecond {
		t.Errorf("p50 is %v", p50)
	}
	c.advance(8 * time.Minute)
	for range 300 {
		call(t, m, r, nil)
	}
	if p95, _ = m.FirstByteP95(r); p95 > 2*time.Millisecond {
		t.Errorf("p95 is %v, though all was quick of late", p95)
	}
	c.advance(20 * time.Minute)
	if p95, known = m.FirstByteP95(r); known {
		t.Errorf("p95 of twenty minutes ago is %v", p95)
	}
}
