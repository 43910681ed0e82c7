package ratelimit_test

import (
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/ratelimit"
)

// TestAnAdmittedCallIsCountedOnce admits calls and then counts them against their model, wherever limits are kept.
func TestAnAdmittedCallIsCountedOnce(t *testing.T) {
	t.Parallel()
	inEveryWorld(t, func(t *testing.T, w *world) {
		const places, requests, tokens = 3, 5, 1000
		l := w.replicas[0]
		a := ratelimit.Request{
			AccountID: w.account(), Model: "m", Concurrency: places, RequestsPerDay: requests, TokensPerMinute: tokens, Tokens: 10,
			Key: ratelimit.Key{ID: "k", Concurrency: places},
		}
		peek := func() ratelimit.Headroom { return l.Peek([]ratelimit.Request{a})[0] }
		var slots []*ratelimit.Slot
		for range places {
			s, err := l.Admit(a)
			if err != nil {
				t.Fatal(err)
			}
			slots = append(slots, s)
		}
		if _, err := l.Admit(a); codeOf(err) != "max_concurrency_exceeded" {
			t.Errorf("beyond the places: %v", err)
		}
		for i, s := range slots {
			if err := s.Join(a); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		eventually(t, "all calls are counted", func() bool { return peek().Account.Places.Remaining == 0 })
		if left := peek().Model; left.Daily.Remaining != requests-places || left.Tokens.Remaining < tokens-10*places {
			t.Errorf("of the model is left %+v", left)
		}
		slots[0].Release(500)
		slots[0].Release(0)
		eventually(t, "a place is free, and what the call used is counted", func() bool {
			left := peek()
			return left.Account.Places.Remaining == 1 && left.Model.Tokens.Remaining < tokens-400
		})
		slots[1].Withdraw()
		eventually(t, "a withdrawn call is counted nowhere", func() bool {
			left := peek()
			return left.Account.Places.Remaining == 2 && left.Model.Daily.Remaining == requests-places+1
		})
		slots[2].Release(10)
		last, err := l.Admit(a)
		if err != nil {
			t.Fatal(err)
		}
		a.Tokens = tokens + 1 // The model has fewer tokens left.
		if err := last.Join(a); codeOf(err) != "rate_limit_exceeded" {
			t.Errorf("more tokens than are left: %v", err)
		}
		last.Release(0)
		eventually(t, "all places are free", func() bool { return peek().Account.Places.Remaining == places })
	})
}

func TestAdmittedRequestsOfAccountAndKeyAreBound(t *testing.T) {
	t.Parallel()
	l, c := setup()
	a := ratelimit.Request{AccountID: "a", Account: ratelimit.Account{RequestsPerMinute: 10}, Key: ratelimit.Key{ID: "k", RequestsPerMinute: 2}}
	for left := range 2 {
		s, err := l.Admit(a)
		if err != nil || s.Requests() != (ratelimit.Window{Limit: 2, Remaining: int64(1 - left), Reset: s.Requests().Reset}) {
			t.Fatalf("%+v, %v", s.Requests(), err)
		}
		s.Release(0)
	}
	s, err := l.Admit(a)
	if e := app.AsError(err); e == nil || !strings.Contains(e.Message, "2 requests per minute of this API key") || e.RetryAfter != 30*time.Second ||
		s.Requests().Remaining != 0 {
		t.Errorf("%v, %+v left", err, s.Requests())
	}
	a.Key = ratelimit.Key{}
	for range 8 { // The refused call was not counted.
		s, err := l.Admit(a)
		if err != nil {
			t.Fatal(err)
		}
		s.Release(0)
	}
	if _, err := l.Admit(a); codeOf(err) != "rate_limit_exceeded" {
		t.Errorf("beyond the account's requests: %v", err)
	}
	c.advance(6 * time.Second)
	if _, err := l.Admit(a); err != nil {
		t.Error(err)
	}
	if refused := l.Stats().RefusedRequests; refused != 2 {
		t.Errorf("%d refusals are counted", refused)
	}
}

func TestARateCountsRequestsAndBytesOfOneClassAndAccount(t *testing.T) {
	t.Parallel()
	l, c := setup()
	r := ratelimit.Rate{Requests: 4, Bytes: 100}
	count := func(bytes int64) error {
		t.Helper()
		_, err := l.Count("a", ratelimit.Checks, r, bytes)
		return err
	}
	if err := count(60); err != nil {
		t.Fatal(err)
	}
	if e := app.AsError(count(60)); e == nil || e.Code != "rate_limit_exceeded" || e.RetryAfter != 12*time.Second {
		t.Errorf("more bytes than are left: %v", e)
	}
	l.Correct("a", ratelimit.Checks, 40-60) // Only 40 bytes arrived.
	if err := count(60); err != nil {
		t.Error(err)
	}
	if err := count(1000); codeOf(err) != "rate_limit_exceeded" {
		t.Errorf("a body that is larger than a minute's bytes needs all of them: %v", err)
	}
	c.advance(time.Minute)
	if err := count(1000); err != nil {
		t.Errorf("a minute later: %v", err)
	}
	l.Correct("a", ratelimit.Checks, -100)
	for range 3 {
		if err := count(0); err != nil {
			t.Fatal(err)
		}
	}
	window, err := l.Count("a", ratelimit.Checks, r, 0)
	if codeOf(err) != "rate_limit_exceeded" || window.Limit != 4 || window.Remaining != 0 {
		t.Errorf("%v, %+v left", err, window)
	}
	for _, other := range []struct {
		account string
		class   ratelimit.Class
	}{{"b", ratelimit.Checks}, {"a", ratelimit.Reads}} {
		if _, err := l.Count(other.account, other.class, r, 1); err != nil {
			t.Errorf("%+v: %v", other, err)
		}
	}
	if stats := l.Stats(); stats.RefusedChecks != 3 || stats.RefusedReads != 0 {
		t.Errorf("%+v", stats)
	}
	l.Correct("acc_unknown", ratelimit.Checks, 1)
}
