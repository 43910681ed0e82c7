package ratelimit_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app/ratelimit"
)

// by is a call of an account on a model with a key that has limits of its own.
func by(k ratelimit.Key) ratelimit.Request {
	return ratelimit.Request{AccountID: "a", Model: "m", Key: k}
}

func TestAKeyIsCountedOverAllModelsAndApartFromOtherKeys(t *testing.T) {
	t.Parallel()
	l, c := setup()
	one := ratelimit.Key{ID: "key_1", RequestsPerMinute: 2}
	mustTake(t, l, by(one)).Release(0)
	other := by(one)
	other.Model = "other"
	mustTake(t, l, other).Release(0)
	e := refused(t, l, by(one), "rate_limit_exceeded")
	if !strings.Contains(e.Message, "2 requests per minute of this API key") || e.RetryAfter != 30*time.Second {
		t.Errorf("%v, retry after %s", e, e.RetryAfter)
	}
	mustTake(t, l, by(ratelimit.Key{ID: "key_2", RequestsPerMinute: 2})).Release(0)
	mustTake(t, l, by(ratelimit.Key{ID: "key_3"})).Release(0)
	elsewhere := by(one)
	elsewhere.AccountID = "b"
	mustTake(t, l, elsewhere).Release(0)
	c.advance(e.RetryAfter)
	mustTake(t, l, by(one)).Release(0)
	refused(t, l, by(one), "rate_limit_exceeded")
}

func TestAKeyRunsAsManyCallsAtOnceAsItMay(t *testing.T) {
	t.Parallel()
	l, _ := setup()
	k := ratelimit.Key{ID: "key_1", Concurrency: 2}
	first := mustTake(t, l, by(k))
	mustTake(t, l, by(k))
	e := refused(t, l, by(k), "max_concurrency_exceeded")
	if !strings.Contains(e.Message, "this API key may run 2 at a time") {
		t.Errorf("the message names neither key nor limit: %s", e.Message)
	}
	first.Release(0)
	first.Release(0) // A second Release returns nothing.
	mustTake(t, l, by(k))
	refused(t, l, by(k), "max_concurrency_exceeded")
}

func TestAKeysOwnConcurrencyDoesNotRaiseTheAccounts(t *testing.T) {
	t.Parallel()
	l, _ := setup()
	a := by(ratelimit.Key{ID: "key_1", Concurrency: 100})
	for range ratelimit.ConcurrencyStandard {
		mustTake(t, l, a)
	}
	if e := refused(t, l, a, "max_concurrency_exceeded"); !strings.Contains(e.Message, "this account may run 16") {
		t.Errorf("%s", e.Message)
	}
}

// TestACallIsCountedAgainstAllLimitsOrNone checks that no other limit counts what one limit refuses.
func TestACallIsCountedAgainstAllLimitsOrNone(t *testing.T) {
	t.Parallel()
	key := ratelimit.Key{ID: "key_1", RequestsPerMinute: 5, TokensPerMinute: 1000, Concurrency: 5}
	for what, c := range map[string]struct {
		spoil ratelimit.Request // Spoil uses up the limit that refuses.
		// Then is the request that the used-up limit must refuse.
		then ratelimit.Request
		code string
	}{
		"a key's requests": {
			ratelimit.Request{Key: ratelimit.Key{ID: "key_1", RequestsPerMinute: 1}}, ratelimit.Request{Key: ratelimit.Key{ID: "key_1", RequestsPerMinute: 1}},
			"rate_limit_exceeded",
		},
		"a key's tokens": {
			ratelimit.Request{Tokens: 1000, Key: ratelimit.Key{ID: "key_1", TokensPerMinute: 1000}},
			ratelimit.Request{Tokens: 1, Key: ratelimit.Key{ID: "key_1", TokensPerMinute: 1000}}, "rate_limit_exceeded",
		},
		"a model's requests": {
			ratelimit.Request{Model: "n", RequestsPerMinute: 1}, ratelimit.Request{Model: "n", RequestsPerMinute: 1, Tokens: 10, Key: key}, "rate_limit_exceeded",
		},
	} {
		l, _ := setup()
		mustTake(t, l, withAccount(c.spoil)).Release(c.spoil.Tokens)
		for range 10 {
			refused(t, l, withAccount(c.then), c.code)
		}
		if c.then.Model != "" { // The key has counted nothing.
			s := mustTake(t, l, by(key))
			if s.Requests().Remaining != 4 || s.Tokens().Remaining != 1000 {
				t.Errorf("%s: the key has %+v and %+v left", what, s.Requests(), s.Tokens())
			}
			continue
		}
		model := ratelimit.Request{AccountID: "a", Model: "m", RequestsPerMinute: 5, TokensPerMinute: 1000}
		if s := mustTake(t, l, model); s.Requests().Remaining != 4 || s.Tokens().Remaining != 1000 {
			t.Errorf("%s: the model has %+v and %+v left", what, s.Requests(), s.Tokens())
		}
	}
}

func withAccount(a ratelimit.Request) ratelimit.Request {
	a.AccountID = "a"
	if a.Model == "" {
		a.Model = "m"
	}
	return a
}

func TestHeadersShowTheTighterWindow(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		model, key       int64 // Model and key are requests per minute. Tokens per minute are ten times that.
		requests, tokens int64 // Requests and tokens are the limits in the headers.
	}{
		"the key's":          {100, 10, 10, 100},
		"the model's":        {10, 100, 10, 100},
		"only the key has":   {0, 7, 7, 70},
		"only the model has": {7, 0, 7, 70},
		"no limit at all":    {0, 0, 0, 0},
	} {
		l, _ := setup()
		s := mustTake(t, l, ratelimit.Request{
			AccountID: "a", Model: "m", RequestsPerMinute: c.model, TokensPerMinute: 10 * c.model, Tokens: 5,
			Key: ratelimit.Key{ID: "key_1", Concurrency: 3, RequestsPerMinute: c.key, TokensPerMinute: 10 * c.key},
		})
		if s.Requests().Limit != c.requests || s.Tokens().Limit != c.tokens ||
			c.requests > 0 && s.Requests().Remaining != c.requests-1 || c.tokens > 0 && s.Tokens().Remaining != c.tokens-5 {
			t.Errorf("%s: %+v, %+v", what, s.Requests(), s.Tokens())
		}
	}
}

// TestTheTighterWindowIsTheOneOfWhichLessIsLeft uses most of the larger window, which then has less left.
func TestTheTighterWindowIsTheOneOfWhichLessIsLeft(t *testing.T) {
	t.Parallel()
	l, _ := setup()
	a := ratelimit.Request{AccountID: "a", Model: "m", RequestsPerMinute: 10}
	for range 8 {
		mustTake(t, l, a).Release(0)
	}
	a.Key = ratelimit.Key{ID: "key_1", RequestsPerMinute: 5}
	if w := mustTake(t, l, a).Requests(); w.Limit != 10 || w.Remaining != 1 {
		t.Errorf("%+v", w)
	}
}

func TestTokensOfAKeyAreCorrectedToWhatWasUsed(t *testing.T) {
	t.Parallel()
	l, c := setup()
	a := by(ratelimit.Key{ID: "key_1", TokensPerMinute: 1000})
	a.Tokens = 600
	first := mustTake(t, l, a)
	if e := refused(t, l, a, "rate_limit_exceeded"); !strings.Contains(e.Message, "1000 tokens per minute of this API key") {
		t.Errorf("%s", e.Message)
	}
	first.Release(100)
	first.Release(100)
	second := mustTake(t, l, a)
	if w := second.Tokens(); w.Limit != 1000 || w.Remaining != 300 {
		t.Errorf("window %+v", w)
	}
	second.Release(2500) // A release overdraws the bucket by a minute at most.
	c.advance(time.Minute)
	refused(t, l, a, "rate_limit_exceeded")
	c.advance(36 * time.Second)
	mustTake(t, l, a)
}

// TestALargeCallIsCorrectedForModelAndKeyEach takes a call beyond the smaller limit. Model and key each correct what they counted.
func TestALargeCallIsCorrectedForModelAndKeyEach(t *testing.T) {
	t.Parallel()
	l, _ := setup()
	a := ratelimit.Request{
		AccountID: "a", Model: "m", TokensPerMinute: 10_000, Tokens: 5000, Key: ratelimit.Key{ID: "key_1", TokensPerMinute: 1000},
	}
	mustTake(t, l, a).Release(400)
	a.Tokens = 0
	if w := mustTake(t, l, a).Tokens(); w.Limit != 1000 || w.Remaining != 600 {
		t.Errorf("of the key is left %+v", w)
	}
	a.Key = ratelimit.Key{}
	if w := mustTake(t, l, a).Tokens(); w.Limit != 10_000 || w.Remaining != 9600 {
		t.Errorf("of the model is left %+v", w)
	}
}

func TestManyCallsOfOneKeyNeverExceedItAndAreAllGivenBack(t *testing.T) {
	t.Parallel()
	l, _ := setup()
	a := ratelimit.Request{AccountID: "a", Model: "m", Concurrency: 50, Key: ratelimit.Key{ID: "key_1", Concurrency: 3}}
	start := make(chan struct{})
	held := make(chan *ratelimit.Slot, 40)
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			<-start
			if s, err := l.Take(a); err == nil {
				held <- s
			}
		})
	}
	close(start)
	wg.Wait()
	close(held)
	if len(held) != 3 {
		t.Fatalf("%d run at once", len(held))
	}
	for s := range held {
		// Several goroutines end the same call, also more than once.
		for range 4 {
			wg.Go(func() { s.Release(0) })
		}
	}
	wg.Wait()
	for range 3 {
		mustTake(t, l, a)
	}
	refused(t, l, a, "max_concurrency_exceeded")
}

func TestCallsOfManyKeysAreCountedTogetherForTheirAccount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, c := setup()
		var running int
		slots := map[int]*ratelimit.Slot{}
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			n := rapid.IntRange(0, 9).Draw(t, "key")
			if s := slots[n]; s != nil {
				s.Release(1)
				delete(slots, n)
				running--
			} else if s, err := l.Take(ratelimit.Request{
				AccountID: "a", Model: "m", Concurrency: 6, Tokens: 1, Key: ratelimit.Key{ID: string(rune('a' + n)), Concurrency: 1},
			}); (err == nil) != (running < 6) {
				t.Fatalf("step %d: %d run, %v", i, running, err)
			} else if err == nil {
				slots[n] = s
				running++
			}
			c.advance(time.Second)
		}
	})
}
