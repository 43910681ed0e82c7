package health_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/health"
	"umg/app/sse"
)

func TestAModelIsEjectedAfterSoManyFailuresInARowAndNoOtherModelWithIt(t *testing.T) {
	t.Parallel()
	m, _ := monitor()
	r := upstream()
	for range 4 {
		call(t, m, r, broken())
	}
	call(t, m, r, nil) // A success ends the row of failures.
	for range 4 {
		call(t, m, r, broken())
	}
	wantBlock(t, m, r, "")
	call(t, m, r, broken())
	wantBlock(t, m, r, health.Ejected)
	other := *r
	other.Model = "other"
	wantBlock(t, m, &other, "")
}

func TestAModelIsEjectedWhenHalfOfItsCallsFailButNotForAFewCalls(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	for range 9 { // The loop makes 18 calls.
		call(t, m, r, nil)
		call(t, m, r, broken())
	}
	wantBlock(t, m, r, "")
	c.advance(30 * time.Second) // The calls so far no longer count.
	for range 9 {
		call(t, m, r, nil)
		call(t, m, r, broken())
	}
	wantBlock(t, m, r, "")
	call(t, m, r, nil)
	call(t, m, r, broken())
	wantBlock(t, m, r, health.Ejected)
}

func TestOnlyFailuresOfTheProviderCount(t *testing.T) {
	t.Parallel()
	counted := map[provider.Class]bool{
		provider.ClassConnect: true, provider.ClassDNS: true, provider.ClassTLS: true, provider.ClassReset: true,
		provider.ClassFirstByte: true, provider.ClassIdle: true, provider.ClassTotal: true, provider.ClassServer: true,
		provider.ClassContent: true, provider.ClassTooLarge: true, provider.ClassRedirect: true, provider.ClassSetup: true,
		provider.ClassRefused: false, provider.ClassClient: false, provider.ClassEnded: false, provider.ClassRateLimited: false,
		provider.ClassCredential: false,
	}
	for class, counts := range counted {
		m, _ := monitor()
		r := upstream()
		for range 30 {
			try, block := m.Begin(r, true)
			if block != "" {
				t.Fatalf("%s: a forced attempt is blocked: %s", class, block)
			}
			try.End(&provider.Fault{Class: class, Status: 400}, 0)
		}
		if got := m.Blocked(r) == health.Ejected; got != counts {
			t.Errorf("after thirty faults of the class %s ejected is %v", class, got)
		}
	}
}

func TestAReplicaThatIsShortOfMemoryDoesNotBlameTheProvider(t *testing.T) {
	t.Parallel()
	m, _ := monitor()
	r := upstream()
	for range 30 {
		call(t, m, r, provider.NewFault(provider.ClassTooLarge, sse.ErrBudget))
	}
}

func TestAnEjectionDoublesToTenTimesAndShrinksAfterAsLongInHealth(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	eject(t, m, r)
	for _, times := range []int{1, 2, 4, 8, 10, 10} {
		c.advance(time.Duration(times)*ejection - time.Nanosecond)
		wantBlock(t, m, r, health.Ejected)
		c.advance(time.Nanosecond)
		call(t, m, r, broken()) // This call is the probe.
	}
	c.advance(10 * ejection)
	call(t, m, r, nil)
	c.advance(10*ejection + 8*ejection + 4*ejection) // The healthy time shortens the next ejection by three steps.
	eject(t, m, r)
	c.advance(4*ejection - time.Nanosecond)
	wantBlock(t, m, r, health.Ejected)
	c.advance(time.Nanosecond)
	wantBlock(t, m, r, "")
}

func TestAFailureThatCallersWaitedForEjectsForAsLongAsMayBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class  provider.Class
		waited time.Duration
		length time.Duration // Length counts from the start of the attempt.
	}{
		{provider.ClassServer, time.Second - 1, ejection + time.Second - 1},
		{provider.ClassServer, time.Second, 10 * ejection},
		{provider.ClassConnect, 5 * time.Second, 10 * ejection},
		{provider.ClassFirstByte, time.Minute, 10 * ejection},
		{provider.ClassFirstByte, 20 * ejection, 21 * ejection}, // The ejection has the first length, from the end of the attempt.
	} {
		m, clock := monitor()
		r := upstream()
		for range 4 {
			call(t, m, r, broken())
		}
		try, _ := m.Begin(r, false)
		clock.advance(c.waited)
		try.End(fault(c.class, 0), 0)
		clock.advance(c.length - c.waited - 1)
		wantBlock(t, m, r, health.Ejected)
		clock.advance(1)
		wantBlock(t, m, r, "")
	}
}

func TestAProbeThatIsSilentForLongHoldsOthersUpForTenSeconds(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	r.Timeouts.FirstByte = 5 * time.Minute
	eject(t, m, r)
	c.advance(ejection)
	silent, _ := m.Begin(r, false)
	c.advance(10*time.Second - 1)
	wantBlock(t, m, r, health.Ejected)
	c.advance(1)
	call(t, m, r, nil)
	silent.End(fault(provider.ClassFirstByte, 0), 0)
	wantBlock(t, m, r, "")
}

func TestAnswersThatBeganBeforeARowOfFailuresDoNotEndIt(t *testing.T) {
	t.Parallel()
	m, _ := monitor()
	r := upstream()
	var long []health.Try
	for range 4 {
		try, _ := m.Begin(r, false)
		long = append(long, try)
	}
	for _, try := range long {
		call(t, m, r, broken())
		try.End(nil, time.Millisecond)
	}
	call(t, m, r, broken())
	wantBlock(t, m, r, health.Ejected)

	// If several other attempts are pending, a success that began before the row of failures ends it.
	m, _ = monitor()
	first, _ := m.Begin(r, false)
	for range 4 {
		call(t, m, r, broken())
	}
	for range 6 {
		_, _ = m.Begin(r, false)
	}
	first.End(nil, time.Millisecond)
	call(t, m, r, broken())
	wantBlock(t, m, r, "")
}

func TestWhenAnEjectionEndsExactlyOneOfManyIsLetThrough(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	eject(t, m, r)
	c.advance(ejection)
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		probes []health.Try
	)
	for range 64 {
		wait.Go(func() {
			if try, block := m.Begin(r, false); block == "" {
				mu.Lock()
				defer mu.Unlock()
				probes = append(probes, try)
			}
		})
	}
	wait.Wait()
	if len(probes) != 1 {
		t.Fatalf("%d of 64 were let through", len(probes))
	}
	if got := m.Report().Upstreams[0].State; got != health.StateHalfOpen {
		t.Errorf("the state is %s", got)
	}
	probes[0].End(fault(provider.ClassClient, 0), 0) // The outcome says nothing about the route, so the next attempt probes.
	probe, block := m.Begin(r, false)
	if block != "" {
		t.Fatalf("after a probe without an outcome the block is %s", block)
	}
	wantBlock(t, m, r, health.Ejected)
	probe.End(nil, time.Second)
	wantBlock(t, m, r, "")
	if got := m.Report().Upstreams[0].State; got != health.StateClosed {
		t.Errorf("the state is %s", got)
	}
}

func TestAProbeThatAnswersLetsOthersThroughBeforeItHasEnded(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	eject(t, m, r)
	c.advance(ejection)
	probe, _ := m.Begin(r, false)
	probe.Answered()
	wantBlock(t, m, r, "")
	for range 4 {
		call(t, m, r, broken())
	}
	probe.End(fault(provider.ClassReset, 0), time.Second) // A reset after the answer counts like any failure.
	wantBlock(t, m, r, health.Ejected)
}

func TestAProbeThatIsSilentHoldsOthersUpForItsFirstByteAtMost(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	eject(t, m, r)
	c.advance(ejection)
	if _, block := m.Begin(r, false); block != "" {
		t.Fatal(block)
	}
	c.advance(r.Timeouts.FirstByte - time.Nanosecond)
	wantBlock(t, m, r, health.Ejected)
	c.advance(time.Nanosecond)
	wantBlock(t, m, r, "")
}

func TestAForcedAttemptGoesThroughAnEjectionAndEndsItWhenAllIsWell(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	eject(t, m, r)
	for range 20 { // Failures of forced attempts do not make the ejection longer.
		try, block := m.Begin(r, true)
		if block != "" {
			t.Fatal(block)
		}
		c.advance(time.Second)
		try.End(broken(), 0)
	}
	wantBlock(t, m, r, health.Ejected)
	c.advance(10 * time.Second)
	call(t, m, r, broken())
	try, _ := m.Begin(r, true)
	try.End(nil, time.Second)
	wantBlock(t, m, r, "")
}

func TestWhatBeganBeforeAnEjectionSaysNothingAboutTheTimeAfterIt(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	var early []health.Try
	for range 12 {
		try, _ := m.Begin(r, false)
		early = append(early, try)
	}
	eject(t, m, r)
	early[0].End(nil, time.Second)
	wantBlock(t, m, r, health.Ejected)
	c.advance(ejection)
	call(t, m, r, nil)
	for _, try := range early[1:] {
		try.End(broken(), 0)
	}
	wantBlock(t, m, r, "")
}

func TestAttemptsUnderManyHandsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	m := health.New(health.Options{Now: time.Now, Random: never})
	r := upstream("first", "second")
	r.Provider.Limits = catalog.ProviderLimits{Concurrency: 5}
	var (
		wait    sync.WaitGroup
		mu      sync.Mutex
		running int
		most    int
	)
	note := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		running += n
		most = max(most, running)
	}
	for hand := range 32 {
		wait.Go(func() {
			mine := *r
			mine.Model = fmt.Sprint("up", hand%3)
			for i := range 300 {
				try, block := m.Begin(&mine, i%2 == 0)
				if block != "" {
					try.End(broken(), 0) // A refused attempt has nothing to end.
					continue
				}
				note(1)
				_ = m.Report()
				note(-1)
				try.End([]*provider.Fault{nil, broken(), fault(provider.ClassRateLimited, 429), fault(provider.ClassCredential, 401)}[i%4], 1)
			}
		})
	}
	wait.Wait()
	if most > 5 {
		t.Errorf("%d attempts ran at once, where 5 may", most)
	}
	report := m.Report()
	if got := report.Providers[0].InFlight; got != 0 {
		t.Errorf("%d attempts of the provider never ended", got)
	}
	for _, u := range report.Upstreams {
		if u.InFlight != 0 {
			t.Errorf("%d attempts of %s never ended", u.InFlight, u.Model)
		}
	}
}
