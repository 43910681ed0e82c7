package ratelimit_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/ratelimit"
)

type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1_800_000_000, c.nanos.Load()) }
func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

func setup() (*ratelimit.Limiter, *clock) {
	c := &clock{}
	return ratelimit.New(ratelimit.Options{Now: c.now}), c
}

func mustTake(t *testing.T, l *ratelimit.Limiter, a ratelimit.Request) *ratelimit.Slot {
	t.Helper()
	s, err := l.Take(a)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func refused(t *testing.T, l *ratelimit.Limiter, a ratelimit.Request, code string) *app.Error {
	t.Helper()
	_, err := l.Take(a)
	e := app.AsError(err)
	if e == nil || e.Kind != app.Exhausted || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	if e.RetryAfter <= 0 || e.RetryAfter > time.Minute {
		t.Errorf("retry after %s", e.RetryAfter)
	}
	return e
}

func TestSixteenCallsRunAtOnce(t *testing.T) {
	t.Parallel()
	l, _ := setup()
	a := ratelimit.Request{AccountID: "acc_1", Model: "m"}
	slots := make([]*ratelimit.Slot, 16)
	for i := range slots {
		slots[i] = mustTake(t, l, a)
	}
	e := refused(t, l, a, "max_concurrency_exceeded")
	if !strings.Contains(e.Message, "16") {
		t.Errorf("the message does not name the limit: %s", e.Message)
	}
	refused(t, l, ratelimit.Request{AccountID: "acc_1", Model: "other"}, "max_concurrency_exceeded")
	mustTake(t, l, ratelimit.Request{AccountID: "acc_2", Model: "m"})
	mustTake(t, l, ratelimit.Request{AccountID: "acc_1", Model: "m", Concurrency: 200}).Release(0)
	slots[3].Release(0)
	slots[3].Release(0)
	mustTake(t, l, a)
	refused(t, l, a, "max_concurrency_exceeded")
}

func TestAModelMayAllowFewerCalls(t *testing.T) {
	t.Parallel()
	l, _ := setup()
	a := ratelimit.Request{AccountID: "a", Model: "m", ModelConcurrency: 2}
	mustTake(t, l, a)
	mustTake(t, l, a)
	if e := refused(t, l, a, "max_concurrency_exceeded"); !strings.Contains(e.Message, "2 at a time") || !strings.Contains(e.Message, " m:") {
		t.Errorf("the message names neither model nor limit: %s", e.Message)
	}
	mustTake(t, l, ratelimit.Request{AccountID: "a", Model: "other", ModelConcurrency: 2})
}

func TestRequestsPerMinute(t *testing.T) {
	t.Parallel()
	l, c := setup()
	a := ratelimit.Request{AccountID: "a", Model: "m", RequestsPerMinute: 3}
	for i := range 3 {
		s := mustTake(t, l, a)
		if w := s.Requests(); w.Limit != 3 || w.Remaining != int64(2-i) || w.Reset != time.Duration(i+1)*20*time.Second {
			t.Errorf("after request %d: %+v", i, w)
		}
		if w := s.Tokens(); w != (ratelimit.Window{}) {
			t.Errorf("tokens are not limited, but %+v", w)
		}
		s.Release(0)
	}
	e := refused(t, l, a, "rate_limit_exceeded")
	if e.RetryAfter != 20*time.Second || !strings.Contains(e.Message, "3 requests per minute") {
		t.Errorf("%v, retry after %s", e, e.RetryAfter)
	}
	mustTake(t, l, ratelimit.Request{AccountID: "a", Model: "other", RequestsPerMinute: 3})
	c.advance(e.RetryAfter)
	mustTake(t, l, a).Release(0)
	refused(t, l, a, "rate_limit_exceeded")
}

func TestRequestsPerDay(t *testing.T) {
	t.Parallel()
	l, c := setup()
	a := ratelimit.Request{AccountID: "a", Model: "m", RequestsPerMinute: 100, RequestsPerDay: 48}
	for range 48 {
		mustTake(t, l, a).Release(0)
	}
	c.advance(20 * time.Minute) // The limit per minute has recovered by then.
	e := refused(t, l, a, "rate_limit_exceeded")
	if !strings.Contains(e.Message, "48 requests per day") || e.RetryAfter != time.Minute {
		t.Errorf("%v, retry after %s", e, e.RetryAfter)
	}
	for i := range 1000 { // Other accounts come and go, and the account must not be forgotten.
		mustTake(t, l, ratelimit.Request{AccountID: fmt.Sprint(i), Model: "m"}).Release(0)
	}
	refused(t, l, a, "rate_limit_exceeded")
	c.advance(10 * time.Minute)
	mustTake(t, l, a)
	refused(t, l, a, "rate_limit_exceeded")
}

func TestTokensAreCorrectedToWhatWasUsed(t *testing.T) {
	t.Parallel()
	l, c := setup()
	a := ratelimit.Request{AccountID: "a", Model: "m", TokensPerMinute: 1000, Tokens: 600}
	first := mustTake(t, l, a)
	refused(t, l, a, "rate_limit_exceeded")
	first.Release(100) // The model has 900 tokens left.
	second := mustTake(t, l, a)
	if w := second.Tokens(); w.Limit != 1000 || w.Remaining != 300 {
		t.Errorf("window %+v", w)
	}
	second.Release(2500) // The release overdraws the bucket by a minute at most.
	e := refused(t, l, a, "rate_limit_exceeded")
	if e.RetryAfter != time.Minute {
		t.Errorf("retry after %s", e.RetryAfter)
	}
	c.advance(time.Minute)
	refused(t, l, a, "rate_limit_exceeded")
	c.advance(36 * time.Second)
	mustTake(t, l, a)
}

func TestACallLargerThanAMinuteNeedsAFullOne(t *testing.T) {
	t.Parallel()
	l, c := setup()
	a := ratelimit.Request{AccountID: "a", Model: "m", TokensPerMinute: 1000, Tokens: 5000}
	mustTake(t, l, a).Release(1000)
	refused(t, l, a, "rate_limit_exceeded")
	c.advance(time.Minute)
	mustTake(t, l, a)
}

func TestARefusalTakesNothing(t *testing.T) {
	t.Parallel()
	l, _ := setup()
	full := ratelimit.Request{AccountID: "a", Model: "m", RequestsPerMinute: 2, TokensPerMinute: 100, Tokens: 200}
	mustTake(t, l, full).Release(200)
	for range 5 {
		refused(t, l, full, "rate_limit_exceeded")
	}
	small := full
	small.Tokens = 0
	small.TokensPerMinute = 0
	mustTake(t, l, small)
	refused(t, l, small, "rate_limit_exceeded")
}

func TestALimitThatChangesKeepsItsShare(t *testing.T) {
	t.Parallel()
	l, _ := setup()
	a := ratelimit.Request{AccountID: "a", Model: "m", RequestsPerMinute: 10}
	for range 5 {
		mustTake(t, l, a).Release(0)
	}
	a.RequestsPerMinute = 20
	if w := mustTake(t, l, a).Requests(); w.Remaining != 9 {
		t.Errorf("half of twenty less one, but %+v", w)
	}
}

func TestIdleAccountsAreForgotten(t *testing.T) {
	t.Parallel()
	l, c := setup()
	held := mustTake(t, l, ratelimit.Request{AccountID: "busy", Model: "m", Concurrency: 1})
	for round := range 20 {
		for i := range 2000 {
			mustTake(t, l, ratelimit.Request{AccountID: fmt.Sprintf("acc_%d_%d", round, i), Model: "m"}).Release(0)
		}
		c.advance(3 * time.Minute)
	}
	if n := l.Accounts(); n > 4000 {
		t.Errorf("%d accounts are remembered of 2000 in use", n)
	}
	refused(t, l, ratelimit.Request{AccountID: "busy", Model: "m", Concurrency: 1}, "max_concurrency_exceeded")
	held.Release(0)
	mustTake(t, l, ratelimit.Request{AccountID: "busy", Model: "m", Concurrency: 1})
}

func TestNeverMoreAtOnceThanAllowed(t *testing.T) {
	t.Parallel()
	l, _ := setup()
	var running, most, let atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 200 {
				s, err := l.Take(ratelimit.Request{AccountID: "a", Model: "m", Concurrency: 7})
				if err != nil {
					continue
				}
				let.Add(1)
				n := running.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				running.Add(-1)
				s.Release(0)
			}
		})
	}
	wg.Wait()
	if most.Load() > 7 || let.Load() == 0 {
		t.Errorf("%d ran at once, %d in all", most.Load(), let.Load())
	}
	for range 7 {
		mustTake(t, l, ratelimit.Request{AccountID: "a", Model: "m", Concurrency: 7})
	}
}

// TestNoMoreThanTheRateOverTime lets at most two minutes' worth pass in any minute: what was saved up and what refilled.
func TestNoMoreThanTheRateOverTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, c := setup()
		rate := rapid.Int64Range(1, 100).Draw(t, "rate")
		var let int64
		var passed time.Duration
		for range rapid.IntRange(1, 300).Draw(t, "calls") {
			if s, err := l.Take(ratelimit.Request{AccountID: "a", Model: "m", RequestsPerMinute: rate}); err == nil {
				let++
				s.Release(0)
			}
			step := time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(t, "step"))
			passed += step
			c.advance(step)
		}
		if float64(let) > float64(rate)*(1+passed.Minutes())+1e-6 {
			t.Fatalf("%d of %d a minute passed in %s", let, rate, passed)
		}
	})
}

func BenchmarkTakeAndRelease(b *testing.B) {
	l := ratelimit.New(ratelimit.Options{Now: time.Now})
	a := ratelimit.Request{AccountID: "a", Model: "m", Concurrency: 1000, RequestsPerMinute: 1 << 40, TokensPerMinute: 1 << 40, Tokens: 100}
	b.ReportAllocs()
	for b.Loop() {
		s, err := l.Take(a)
		if err != nil {
			b.Fatal(err)
		}
		s.Release(120)
	}
}
