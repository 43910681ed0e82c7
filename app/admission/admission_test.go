package admission

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"umg/app"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBodiesAreBoundForAnAccountAndForAll grows bodies until the bounds refuse them, and ends the calls.
func TestBodiesAreBoundForAnAccountAndForAll(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 10, BodyBytesMax: 100, AccountBytesMax: 60})
	first, err := enter(g, "a", true)
	if err != nil {
		t.Fatal(err)
	}
	second, err := enter(g, "a", true)
	if err != nil {
		t.Fatal(err)
	}
	other, err := enter(g, "b", true)
	if err != nil {
		t.Fatal(err)
	}
	grow := func(p *Place, n int64, code string) {
		t.Helper()
		err := p.Grow(n)
		if e, ok := errors.AsType[*app.Error](err); (err == nil) != (code == "") || ok && (e.Code != code || e.RetryAfter < time.Second) {
			t.Errorf("%d bytes more: %v, want %q", n, err, code)
		}
	}
	grow(first, 40, "")
	grow(second, 20, "")
	grow(second, 1, "body_bytes_exceeded")
	grow(other, 41, "overloaded")
	grow(other, 40, "")
	if err := other.Declare(61); err == nil {
		t.Error("a body may declare more than an account may hold")
	}
	if g.BodyBytes() != 100 || g.RefusedBodies() != 1 || g.RefusedAccountBodies() != 2 {
		t.Errorf("%d bytes are held, %d and %d calls refused", g.BodyBytes(), g.RefusedBodies(), g.RefusedAccountBodies())
	}
	first.Shrink() // its body is not needed any more, and it runs on
	grow(second, 40, "")
	for _, p := range []*Place{first, second, other} {
		p.Leave()
	}
	if g.BodyBytes() != 0 || len(g.shard("a").bytes) != 0 || len(g.shard("b").bytes) != 0 {
		t.Errorf("%d bytes are held after all calls have ended", g.BodyBytes())
	}
	if small := New(Options{MemoryMax: 80 << 20}); small.o.BodyBytesMax != 20<<20 || small.BodyBytesMax() != 10<<20 {
		t.Errorf("of 80 MiB bodies may hold %d, those of an account %d", small.o.BodyBytesMax, small.BodyBytesMax())
	}
	if usual := New(Options{}); usual.BodyBytesMax() != 64<<20 {
		t.Errorf("an account may hold %d", usual.BodyBytesMax())
	}
}

// enter takes a place for a known caller and returns how to give it back.
func enter(g *Controller, account string, paid bool) (*Place, error) {
	p, err := g.Enter(false)
	if err != nil {
		return nil, err
	}
	if err := p.Admit(account, paid, false); err != nil {
		p.Leave()
		return nil, err
	}
	return &p, nil
}

// fill takes n places for accounts that pay, each its own.
func fill(t *testing.T, g *Controller, n int) []*Place {
	t.Helper()
	var all []*Place
	for i := range n {
		p, err := enter(g, string(rune('a'+i)), true)
		if err != nil {
			t.Fatalf("place %d: %v", i, err)
		}
		all = append(all, p)
	}
	return all
}

func wantRefusal(t *testing.T, what string, err error) {
	t.Helper()
	e, ok := errors.AsType[*app.Error](err)
	if !ok || e.Kind != app.Unavailable || e.Code != "overloaded" || e.NoRetry || e.RetryAfter < waitMin || e.RetryAfter > 2*waitMin {
		t.Errorf("%s: %+v", what, err)
	}
}

func TestTrialCallsLeaveRoomForThoseThatPayAndThoseForLooking(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 10})
	in := fill(t, g, 8)
	_, err := enter(g, "trial", false)
	wantRefusal(t, "a trial call beyond eight of ten places", err)
	in = append(in, fill(t, g, 2)...)
	_, err = enter(g, "z", true)
	wantRefusal(t, "a paid call without a place", err)
	look, err := g.Enter(true)
	if err != nil {
		t.Fatalf("a look at a full replica: %v", err)
	}
	if err := look.Admit("trial", false, true); err != nil {
		t.Errorf("a trial account's look at a full replica: %v", err)
	}
	_, err = g.Enter(true)
	wantRefusal(t, "a look beyond the places of looks", err)
	look.Leave()
	for _, p := range in {
		p.Leave()
	}
	if g.InFlight() != 0 || len(fill(t, g, 10)) != 10 {
		t.Error("places were lost")
	}
	if g.RefusedFull() != 3 || g.RefusedTrial() != 1 {
		t.Errorf("%d refused for want of a place, %d of trials", g.RefusedFull(), g.RefusedTrial())
	}
}

func TestOneAccountCannotTakeAllPlaces(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 10})
	var in []*Place
	for range 5 {
		p, err := enter(g, "greedy", true)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, p)
	}
	_, err := enter(g, "greedy", true)
	wantRefusal(t, "more than half of the places", err)
	if _, err := enter(g, "modest", true); err != nil {
		t.Errorf("another account: %v", err)
	}
	in[0].Leave()
	in[0].Leave() // a place is given back once
	if _, err := enter(g, "greedy", true); err != nil {
		t.Errorf("with a place given back: %v", err)
	}
	if g.InFlight() != 6 || g.RefusedCrowd() != 1 {
		t.Errorf("%d in flight, %d refused", g.InFlight(), g.RefusedCrowd())
	}
}

func TestMemoryRefusesTrialsFirstAndLooksLast(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 100, MemoryMax: 1_000_000})
	for _, c := range []struct {
		held              int64
		trial, paid, look bool
	}{{920_000, true, true, true}, {920_001, false, true, true}, {950_001, false, false, true}, {980_001, false, false, false}, {0, true, true, true}} {
		g.Look(Sample{Held: c.held})
		for what, got := range map[string]struct {
			let bool
			do  func() (Place, error)
		}{
			"trial": {c.trial, func() (Place, error) { return placeOf(enter(g, "t", false)) }},
			"paid":  {c.paid, func() (Place, error) { return placeOf(enter(g, "p", true)) }},
			"look":  {c.look, func() (Place, error) { return g.Enter(true) }},
		} {
			p, err := got.do()
			if (err == nil) != got.let {
				t.Errorf("%d bytes held: %s: %v", c.held, what, err)
			}
			p.Leave()
		}
	}
}

func placeOf(p *Place, err error) (Place, error) {
	if err != nil {
		return Place{}, err
	}
	return *p, nil
}

// passed is how many of a hundred calls are let in.
func passed(g *Controller, paid bool) (n int) {
	for range 100 {
		if p, err := enter(g, "x", paid); err == nil {
			n++
			p.Leave()
		}
	}
	return n
}

func TestLatenessShedsTrialsBeforeThoseThatPayAndEndsByItself(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 1000, Busy: 10, LateMax: 10 * time.Millisecond})
	fill(t, g, 10)
	late := Sample{Queued: 60 * time.Millisecond, Waited: 1000}
	for range patience - 1 {
		g.Look(late)
	}
	if passed(g, false) != 100 {
		t.Error("a short time of lateness rejects calls")
	}
	for looks := 0; passed(g, false) > 0; looks++ {
		if looks > 20 {
			t.Fatalf("after a second of lateness %d of a hundred trial calls pass", passed(g, false))
		}
		if passed(g, true) != 100 {
			t.Fatal("a paid call is refused while trial calls pass")
		}
		g.Look(late)
	}
	for range 40 {
		g.Look(late)
	}
	if n := passed(g, true); n < 1 || n > 20 {
		t.Errorf("after two more seconds %d of a hundred paid calls pass: it must be few, and never none", n)
	}
	if passed(g, false) != 0 {
		t.Error("trial calls pass while paid ones are refused")
	}
	if n := looked(g); n < 10 || n > 50 {
		t.Errorf("after long lateness %d of a hundred looks pass: it must be a part", n)
	}
	looks := 0
	for ; passed(g, false) < 100 && looks < 1000; looks++ {
		g.Look(Sample{Queued: time.Millisecond, Waited: 1000})
	}
	if took := time.Duration(looks) * lookEvery; took > 4*time.Second {
		t.Errorf("everybody is let in again after %v", took)
	}
	if g.RefusedLate() == 0 {
		t.Error("the collection was not counted")
	}
}

func TestLatenessThatCallsDoNotCauseRefusesNoCall(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 1000, Busy: 10, LateMax: 10 * time.Millisecond})
	in := fill(t, g, 9)
	for range 100 {
		g.Look(Sample{Queued: time.Second, Waited: 1000})
	}
	if passed(g, false) != 100 {
		t.Error("a few calls on a busy machine are refused")
	}
	in = append(in, fill(t, g, 1)...)
	for range 100 {
		g.Look(Sample{Queued: time.Second, Waited: waitsSeenMin - 1})
	}
	if passed(g, false) != 100 {
		t.Error("calls are rejected though almost none waited")
	}
	_ = in
}

func TestRefusedClientsAreSpreadOverASecond(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 1})
	var waits []time.Duration
	for range 100 {
		waits = append(waits, g.wait())
	}
	slices.Sort(waits)
	for i := 1; i < len(waits); i++ {
		if gap := waits[i] - waits[i-1]; gap > 50*time.Millisecond || gap == 0 {
			t.Errorf("two clients return %v apart", gap)
		}
	}
}

func TestAGateSuitsItsMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ memory, files, want int64 }{
		{0, 0, callsMax}, {64 << 20, 0, 256}, {1 << 20, 0, callsMin}, {1 << 50, 0, callsMax}, {0, 20_000, 6666}, {64 << 20, 256, 85}, {0, 12, callsMin},
	} {
		if got := inFlightDefault(c.memory, c.files); got != c.want {
			t.Errorf("%d bytes and %d files: %d calls, want %d", c.memory, c.files, got, c.want)
		}
	}
	g := New(Options{Cores: 64})
	if g.o.Busy != 64*busyPerCore || g.InFlightMax() < callsMin || g.o.LateMax != lateMaxDefault {
		t.Errorf("the settings are %+v", g.o)
	}
}

func TestALimitOfAContainerIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	none, old, good := file("none", "max\n"), file("old", "9223372036854771712\n"), file("good", "536870912\n")
	for _, c := range []struct {
		files []string
		want  int64
	}{{nil, 0}, {[]string{filepath.Join(dir, "nowhere")}, 0}, {[]string{none, old}, 0}, {[]string{none, good}, 512 << 20}} {
		if got := container(c.files); got != c.want {
			t.Errorf("%v: %d", c.files, got)
		}
	}
}

// TestTheMemoryOfTheMachineIsKnown reads it from the kernel.
func TestTheMemoryOfTheMachineIsKnown(t *testing.T) {
	t.Parallel()
	if got := machineFile("/proc/meminfo").total(); got < 64<<20 || got > 1<<50 {
		t.Errorf("the machine has %d bytes", got)
	}
	if got := machineFile(filepath.Join(t.TempDir(), "nowhere")).total(); got != 0 {
		t.Errorf("without the file, the machine has %d bytes", got)
	}
}

// The runtime's own figures: the live heap is most of what is held, and goroutines that must queue for a processor are late.
func TestAReadingSeesMemoryAndQueues(t *testing.T) { //nolint:paralleltest // counts the allocations of the process
	p := newProbe()
	first := p.read()
	if first.Held <= 0 || first.Held > 4<<30 {
		t.Errorf("%d bytes are held", first.Held)
	}
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {})
	}
	all.Wait()
	if r := p.read(); r.Waited == 0 || r.Late < 0 {
		t.Errorf("a thousand goroutines ran, and the reading is %+v", r)
	}
	if n := testing.AllocsPerRun(100, func() { p.read() }); n > 0 {
		t.Errorf("a reading allocates %v times", n)
	}
}

func histogram() *metrics.Float64Histogram {
	return &metrics.Float64Histogram{Counts: make([]uint64, 3), Buckets: []float64{0, 0.001, 0.01, math.Inf(1)}}
}

func TestLatenessIsWhereNineOfTenWaitsLie(t *testing.T) {
	t.Parallel()
	p := &probe{}
	h := histogram()
	p.lateness(h)
	h.Counts[0], h.Counts[1], h.Counts[2] = 90, 10, 0
	if late, queued, n := p.lateness(h); late != time.Millisecond || queued != time.Millisecond || n != 100 {
		t.Errorf("%v and %v of %d", late, queued, n)
	}
	h.Counts[0], h.Counts[1], h.Counts[2] = 90+40, 10+40, 20
	if late, queued, n := p.lateness(h); late < time.Hour || queued != 10*time.Millisecond || n != 100 {
		t.Errorf("%v and %v of %d", late, queued, n)
	}
	if late, queued, n := p.lateness(h); late != 0 || queued != 0 || n != 0 {
		t.Errorf("of nothing new: %v and %v of %d", late, queued, n)
	}
}

func TestAWatchedGateLooksUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{InFlightMax: 10})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()
		time.Sleep(3 * lookEvery)
		synctest.Wait()
		if g.Held() == 0 {
			t.Error("the process was not measured")
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// Where memory refuses everybody nothing is allocated any more, and no collection would come by itself.
func TestAFullMemoryIsCollectedWhileNoCallIsAdmitted(t *testing.T) { //nolint:paralleltest // looks at the heap of the process
	big := make([]byte, 256<<20)
	runtime.GC()
	held := newProbe().read().Held
	g := New(Options{InFlightMax: 10, MemoryMax: held})
	runtime.KeepAlive(big)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	shut := false
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		p, err := g.Enter(false)
		p.Leave()
		if shut = shut || err != nil; shut && err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("was shut: %v, and stays so", shut)
		}
	}
	cancel()
	<-ended
}

func TestPlacesAreNeverLostWhateverRuns(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 20})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 2000 {
				p, err := g.Enter(n%5 == 0)
				if err == nil {
					_ = p.Admit(string(rune('a'+i%3)), n%2 == 0, n%5 == 0)
				}
				p.Leave()
				if i == 0 { // only one goroutine takes samples
					g.Look(Sample{Queued: time.Duration(n) * time.Millisecond, Waited: 100})
				}
			}
		})
	}
	all.Wait()
	if g.InFlight() != 0 {
		t.Errorf("%d places are lost", g.InFlight())
	}
	for i := range g.accounts {
		if len(g.accounts[i].calls) > 0 {
			t.Errorf("accounts are left: %v", g.accounts[i].calls)
		}
	}
}

// BenchmarkAdmission is what every call pays, and what a refusal costs the gate.
func BenchmarkAdmission(b *testing.B) {
	for name, max := range map[string]int64{"let in": 1000, "refused": 1} {
		b.Run(name, func(b *testing.B) {
			g := New(Options{InFlightMax: max})
			if max == 1 {
				_, _ = g.Enter(false)
			}
			b.ReportAllocs()
			for b.Loop() {
				p, err := g.Enter(false)
				if err == nil {
					_ = p.Admit("acct_01", true, false)
				}
				p.Leave()
			}
		})
	}
}
