package ratelimit_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app/ratelimit"
	"umg/app/ratelimit/redistest"
)

// TestPlacesOfADeadReplicaAreFreeAgain waits for the leases of a dead replica. The places of living replicas stay taken.
func TestPlacesOfADeadReplicaAreFreeAgain(t *testing.T) {
	t.Parallel()
	o := ratelimit.Shared{Address: redistest.Start(t).Address, Lease: 600 * time.Millisecond}
	o.Replica = "mortal"
	mortal, kill := replica(t, o, time.Now)
	o.Replica = "living"
	living, _ := replica(t, o, time.Now)
	a := ratelimit.Request{AccountID: "a", Model: "m", Concurrency: 3}
	for _, l := range []*ratelimit.Limiter{mortal, mortal, living} {
		if _, err := l.Take(a); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(2 * o.Lease) // Renewals keep all places.
	if _, err := living.Take(a); codeOf(err) != "max_concurrency_exceeded" {
		t.Fatalf("before the death: %v", err)
	}
	kill()
	left := func() int64 { return living.Peek([]ratelimit.Request{a})[0].Account.Places.Remaining }
	eventually(t, "two places are free", func() bool { return left() == 2 })
	time.Sleep(2 * o.Lease)
	if left() != 2 {
		t.Errorf("%d places are left, but one call runs", left())
	}
}

// TestARealRedisMayFreezeAndDieUnderLoad freezes, kills and restarts a real server. No call fails, and the limits hold afterwards.
func TestARealRedisMayFreezeAndDieUnderLoad(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	all := replicas(t, server.Address, ratelimit.Shared{Wait: 20 * time.Millisecond}, time.Now)
	up := func(want bool) {
		t.Helper()
		for _, l := range all {
			eventually(t, "replicas notice what became of Redis", func() bool { return l.Stats().Up == want })
		}
	}
	var stop atomic.Bool
	var load sync.WaitGroup
	for _, l := range all {
		load.Go(func() {
			for !stop.Load() {
				s, err := l.Take(ratelimit.Request{AccountID: "a", Model: "m", Concurrency: 64})
				if err != nil {
					t.Error(err)
					return
				}
				s.Release(0)
				time.Sleep(100 * time.Microsecond)
			}
		})
	}
	server.Freeze(t)
	up(false)
	server.Thaw(t)
	up(true)
	server.Kill(t)
	up(false)
	server.Restart(t)
	up(true)
	stop.Store(true)
	load.Wait()
}

// TestLimitsHoldAsSoonAsRedisIsBack spends the whole limit at each replica while Redis is away: from the moment it is back
// all replicas together let the rate through, although Redis has forgotten everything and its buckets are full.
func TestLimitsHoldAsSoonAsRedisIsBack(t *testing.T) {
	t.Parallel()
	const perMinute = 600
	asks := map[string]ratelimit.Request{
		"requests": {AccountID: "requests", Model: "m", RequestsPerMinute: perMinute},
		"tokens":   {AccountID: "tokens", Model: "m", Tokens: 1, TokensPerMinute: perMinute},
		"account":  {AccountID: "account", Model: "m", Account: ratelimit.Account{RequestsPerMinute: perMinute}},
		"key":      {AccountID: "key", Model: "m", Key: ratelimit.Key{ID: "k", RequestsPerMinute: perMinute}},
	}
	let := func(l *ratelimit.Limiter, a ratelimit.Request) bool {
		s, err := l.Take(a)
		if err == nil {
			s.Release(a.Tokens)
		}
		return err == nil
	}
	server := redistest.Start(t)
	all := replicas(t, server.Address, ratelimit.Shared{Wait: time.Second}, time.Now)
	server.Kill(t)
	for _, l := range all {
		eventually(t, "replicas notice that Redis is away", func() bool { let(l, ratelimit.Request{AccountID: "other", Model: "m"}); return !l.Stats().Up })
	}
	for name, a := range asks {
		for i, l := range all {
			alone := 0
			for let(l, a) {
				alone++
			}
			if alone < perMinute {
				t.Fatalf("%s: replica %d let %d calls through alone, want its whole limit of %d", name, i, alone, perMinute)
			}
		}
	}
	server.Restart(t)
	for _, l := range all {
		eventually(t, "replicas share again", func() bool { return l.Stats().Up })
	}
	from, through := time.Now(), map[string]int{}
	for time.Since(from) < 4*time.Second {
		for name, a := range asks {
			for _, l := range all {
				if let(l, a) {
					through[name]++
				}
			}
		}
		time.Sleep(pollEvery)
	}
	// In addition to the rate, what refilled between the last call alone and the first shared one may be there.
	most := int(perMinute*time.Since(from).Minutes()) + perMinute*int(3*time.Second)/int(time.Minute)
	for name := range asks {
		if n := through[name]; n == 0 || n > most {
			t.Errorf("%s: %d calls in %s after Redis was back, want 1 to %d", name, n, time.Since(from), most)
		}
	}
}
