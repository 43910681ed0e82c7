package ratelimit_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/ratelimit"
)

// ledger is what a gate must hold, as simply as it can be said. Time stands still.
type ledger struct{ places, requests, tokens, mostPlaces, mostRequests, mostTokens int64 }

func newLedger(t *rapid.T, name string) *ledger {
	l := &ledger{
		mostPlaces: rapid.Int64Range(1, 6).Draw(t, name+" places"), mostRequests: rapid.Int64Range(2, 12).Draw(t, name+" requests"),
		mostTokens: rapid.Int64Range(5, 20).Draw(t, name+" tokens"),
	}
	l.requests, l.tokens = l.mostRequests, l.mostTokens
	return l
}

func (l *ledger) need(tokens int64) int64 { return min(tokens, l.mostTokens) }

// refuses are the codes with which a call is refused.
func (l *ledger) refuses(tokens int64) (codes []string) {
	if l.places >= l.mostPlaces {
		codes = append(codes, "max_concurrency_exceeded")
	}
	if l.requests < 1 || l.tokens < l.need(tokens) {
		codes = append(codes, "rate_limit_exceeded")
	}
	return codes
}

func (l *ledger) take(tokens int64) {
	l.places++
	l.requests--
	l.tokens -= l.need(tokens)
}

func (l *ledger) end(tokens, used int64) {
	l.places--
	l.tokens = min(l.mostTokens, l.tokens+l.need(tokens)-used)
}

func (l *ledger) room() ratelimit.Remaining {
	return ratelimit.Remaining{
		Places:   ratelimit.Window{Limit: l.mostPlaces, Remaining: l.mostPlaces - l.places},
		Requests: ratelimit.Window{Limit: l.mostRequests, Remaining: l.requests},
		Tokens:   ratelimit.Window{Limit: l.mostTokens, Remaining: max(0, l.tokens)},
	}
}

// call is one that runs.
type call struct {
	slot   *ratelimit.Slot
	tokens int64
}

// TestCallsAreCountedInAllTheirLimitsOrInNone counts calls in their account, model and key, whichever replica they reach. A refused
// call has the reason. A call ends once, however often it is released, and is corrected by what it has used.
func TestCallsAreCountedInAllTheirLimitsOrInNone(t *testing.T) {
	t.Parallel()
	inEveryWorld(t, func(t *testing.T, w *world) {
		rapid.Check(t, func(t *rapid.T) {
			account, model, key := newLedger(t, "account"), newLedger(t, "model"), newLedger(t, "key")
			ask := ratelimit.Request{
				AccountID: w.account(), Model: "m", Concurrency: int(account.mostPlaces), ModelConcurrency: int(model.mostPlaces),
				Account:           ratelimit.Account{RequestsPerMinute: account.mostRequests, TokensPerMinute: account.mostTokens},
				RequestsPerMinute: model.mostRequests, TokensPerMinute: model.mostTokens,
			}
			keyed := ratelimit.Key{ID: "k", Concurrency: int(key.mostPlaces), RequestsPerMinute: key.mostRequests, TokensPerMinute: key.mostTokens}
			var running []call
			for range rapid.IntRange(1, 12).Draw(t, "steps") {
				l := w.replicas[rapid.IntRange(0, len(w.replicas)-1).Draw(t, "replica")]
				if len(running) > 0 && rapid.IntRange(0, 2).Draw(t, "end") == 0 {
					c := running[0]
					running = running[1:]
					used := rapid.Int64Range(0, min(c.tokens, 5)).Draw(t, "used") // Another test covers an overdraft.
					for range rapid.IntRange(1, 2).Draw(t, "releases") {
						c.slot.Release(used)
					}
					for _, one := range []*ledger{account, model, key} {
						one.end(c.tokens, used)
					}
					agrees(t, w.replicas[rapid.IntRange(0, len(w.replicas)-1).Draw(t, "seen by")], ask, account, model)
					continue
				}
				ask.Tokens, ask.Key = rapid.Int64Range(0, 8).Draw(t, "tokens"), keyed
				var want []string // A replica refuses what it can without Redis, so it may report another reason first.
				for _, one := range []*ledger{account, model, key} {
					want = append(want, one.refuses(ask.Tokens)...)
				}
				s, err := l.Take(ask)
				if got := codeOf(err); err == nil && len(want) > 0 || err != nil && !slices.Contains(want, got) {
					t.Fatalf("%+v: %q, want %q with %+v, %+v, %+v", ask, got, want, account, model, key)
				}
				if err == nil {
					for _, one := range []*ledger{account, model, key} {
						one.take(ask.Tokens)
					}
					running = append(running, call{s, ask.Tokens})
				}
				if left := min(account.requests, model.requests, key.requests); s.Requests().Remaining < left || err == nil &&
					s.Requests().Remaining > left {
					t.Fatalf("%d requests are left, and it is said %+v", left, s.Requests())
				}
				agrees(t, w.replicas[rapid.IntRange(0, len(w.replicas)-1).Draw(t, "seen by")], ask, account, model)
			}
			for _, c := range running {
				c.slot.Release(0)
			}
		})
	})
}

// agrees compares what a replica says is left with the ledgers. The end of a call need not be known at once.
func agrees(t *rapid.T, l *ratelimit.Limiter, ask ratelimit.Request, account, model *ledger) {
	want := ratelimit.Headroom{Account: account.room(), Model: model.room()}
	for deadline := time.Now().Add(patience); ; time.Sleep(pollEvery) {
		got := l.Peek([]ratelimit.Request{ask})[0]
		for _, room := range []*ratelimit.Remaining{&got.Account, &got.Model} {
			room.Requests.Reset, room.Tokens.Reset = 0, 0
		}
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left is %+v, want %+v", got, want)
		}
	}
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*app.Error](err); ok {
		return e.Code
	}
	return ""
}

// flood calls from many goroutines over all replicas at once, and counts what was let through and how many of it ran at once.
func (w *world) flood(a ratelimit.Request, calls int) (let, highest int64) {
	const goroutines = 64
	var running, most, through atomic.Int64
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			for range calls {
				s, err := w.replicas[i%len(w.replicas)].Take(a)
				if err != nil {
					continue
				}
				through.Add(1)
				n := running.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				runtime.Gosched() // Other goroutines get to take places here.
				running.Add(-1)
				s.Release(0)
			}
		})
	}
	all.Wait()
	return through.Load(), most.Load()
}

func TestManyCallsOverAllReplicasNeverPassALimit(t *testing.T) {
	t.Parallel()
	inEveryWorld(t, func(t *testing.T, w *world) {
		const requests, places = 100, 7
		a := ratelimit.Request{AccountID: w.account(), Model: "m", RequestsPerDay: requests, Concurrency: 1000}
		if let, _ := w.flood(a, 3); let != requests {
			t.Errorf("%d of %d requests were let through", let, requests)
		}
		b := ratelimit.Request{AccountID: w.account(), Model: "m", Concurrency: 1000, Key: ratelimit.Key{ID: "k", Concurrency: places}}
		if let, highest := w.flood(b, 4); highest > places || let < places {
			t.Errorf("%d ran at once of %d, %d in all", highest, places, let)
		}
		for i, l := range w.replicas {
			for _, one := range []ratelimit.Request{a, b} {
				eventually(t, fmt.Sprintf("all places are free for replica %d", i), func() bool {
					return l.Peek([]ratelimit.Request{one})[0].Account.Places.Remaining == 1000
				})
			}
		}
	})
}

// TestNoMoreThanTheRateOverTimeOverAllReplicas lets no more pass than what was saved up and what refilled, over all replicas.
func TestNoMoreThanTheRateOverTimeOverAllReplicas(t *testing.T) {
	t.Parallel()
	inEveryWorld(t, func(t *testing.T, w *world) {
		rapid.Check(t, func(t *rapid.T) {
			const perMinute = 60_000 // The rate is a thousand a second, because real time passes slowly.
			a := ratelimit.Request{AccountID: w.account(), Model: "m", TokensPerMinute: perMinute, Tokens: perMinute / 20}
			var let int64
			var passed time.Duration
			begun := time.Now()
			for i := range rapid.IntRange(1, 30).Draw(t, "calls") {
				if s, err := w.replicas[i%len(w.replicas)].Take(a); err == nil {
					let += a.Tokens
					s.Release(a.Tokens)
				}
				step := time.Duration(rapid.Int64Range(0, int64(100*time.Microsecond)).Draw(t, "step"))
				passed += step
				w.pass(step)
			}
			if w.real {
				passed = time.Since(begun)
			}
			if most := perMinute + int64(float64(perMinute)*passed.Minutes()); let > most {
				t.Fatalf("%d of %d passed in %s", let, most, passed)
			}
		})
	})
}

// TestAnOverdraftIsPaidBackByWaiting blocks an account until an overdraft has refilled, which takes at most two minutes.
func TestAnOverdraftIsPaidBackByWaiting(t *testing.T) {
	t.Parallel()
	inEveryWorld(t, func(t *testing.T, w *world) {
		a := ratelimit.Request{AccountID: w.account(), Model: "m", TokensPerMinute: 60_000_000, Tokens: 1_000_000}
		s, err := w.replicas[0].Take(a)
		if err != nil {
			t.Fatal(err)
		}
		s.Release(60_500_000)
		for i, l := range w.replicas {
			eventually(t, "the overdraft is known", func() bool { return l.Peek([]ratelimit.Request{a})[0].Model.Tokens.Remaining == 0 })
			if _, err := l.Take(a); codeOf(err) != "rate_limit_exceeded" {
				t.Errorf("replica %d lets a call through: %v", i, err)
			}
		}
		w.pass(510 * time.Millisecond)
		a.Tokens = 1000
		eventually(t, "half a second has paid for half a million", func() bool {
			s, err := w.replicas[2].Take(a)
			if err == nil {
				s.Release(1000)
			}
			return err == nil
		})
	})
}

// TestALimitThatChangesKeepsItsShareEverywhere also checks that a new limit begins full.
func TestALimitThatChangesKeepsItsShareEverywhere(t *testing.T) {
	t.Parallel()
	inEveryWorld(t, func(t *testing.T, w *world) {
		a := ratelimit.Request{AccountID: w.account(), Model: "m", RequestsPerDay: 10}
		for range 5 {
			s, err := w.replicas[0].Take(a)
			if err != nil {
				t.Fatal(err)
			}
			s.Release(0)
		}
		a.RequestsPerDay, a.RequestsPerMinute = 20, 3
		if left := w.replicas[1].Peek([]ratelimit.Request{a})[0].Model; left.Daily.Remaining != 10 || left.Requests.Remaining != 3 {
			t.Errorf("left is %+v", left)
		}
	})
}

func TestARefusalTellsWhatIsLeftAndHowLongToWait(t *testing.T) {
	t.Parallel()
	inEveryWorld(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct {
			ask  ratelimit.Request
			says string
		}{
			"account": {ratelimit.Request{Account: ratelimit.Account{RequestsPerMinute: 2}}, "The 2 requests per minute of this account are used up"},
			"model":   {ratelimit.Request{RequestsPerMinute: 2}, "The 2 requests per minute for m are used up"},
			"key":     {ratelimit.Request{Key: ratelimit.Key{ID: "k", RequestsPerMinute: 2}}, "The 2 requests per minute of this API key are used up"},
		} {
			c.ask.AccountID, c.ask.Model = w.account(), "m"
			for i := range 3 {
				s, err := w.replicas[i].Take(c.ask)
				if (err == nil) != (i < 2) {
					t.Fatalf("%s, call %d: %v", name, i, err)
				}
				if left := s.Requests(); left.Limit != 2 || left.Remaining != int64(max(0, 1-i)) || left.Reset <= 0 || left.Reset > time.Minute {
					t.Errorf("%s, call %d: left is %+v", name, i, left)
				}
				if err == nil {
					continue
				}
				e := app.AsError(err)
				if want := fmt.Sprintf("%s. Try again in 30 s.", c.says); e.Message != want || e.RetryAfter != 30*time.Second {
					t.Errorf("%q after %s, want %q", e.Message, e.RetryAfter, want)
				}
			}
		}
	})
}
