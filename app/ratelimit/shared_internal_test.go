package ratelimit

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// delayMax is the most that a call may wait for a Redis that is in trouble. Time in these tests is the bubble's, so it is
// exact.
const delayMax = 50 * time.Millisecond

// trouble is a network on which Redis answers, refuses, never answers, or answers late.
type trouble struct {
	redis *miniredis.Miniredis

	mu    sync.Mutex
	state string
	delay time.Duration
	conns []net.Conn
	hold  func() // Hold runs once, just before a renewal reaches the server; nil does nothing.
}

// carry does what is to be done before a renewal, once.
func (n *trouble) carry() {
	n.mu.Lock()
	hold := n.hold
	n.hold = nil
	n.mu.Unlock()
	if hold != nil {
		hold()
	}
}

// holdNext has something done before the next renewal.
func (n *trouble) holdNext(hold func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hold = hold
}

func (n *trouble) held() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hold == nil
}

func (n *trouble) set(state string, delay time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state, n.delay = state, delay
	if state == "dead" {
		for _, c := range n.conns {
			_ = c.Close()
		}
		n.conns = nil
	}
}

func (n *trouble) now() (string, time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state, n.delay
}

var errRefused = errors.New("connection refused")

// dial makes a pipe to the server, with the trouble of the moment on its way back.
func (n *trouble) dial(_ context.Context, _, _ string) (net.Conn, error) {
	if state, _ := n.now(); state == "dead" {
		return nil, errRefused
	}
	far, err := n.redis.Dial()
	if err != nil {
		return nil, err
	}
	near, ours := net.Pipe()
	n.mu.Lock()
	n.conns = append(n.conns, near, ours, far)
	n.mu.Unlock()
	go func() {
		defer far.Close()
		p := make([]byte, 64<<10)
		for {
			k, err := ours.Read(p)
			if err != nil {
				return
			}
			if bytes.Contains(p[:k], []byte("renew")) && bytes.Contains(p[:k], []byte("{a}")) {
				n.carry()
			}
			if _, err := far.Write(p[:k]); err != nil {
				return
			}
		}
	}()
	go func() {
		defer ours.Close()
		p := make([]byte, 64<<10)
		for {
			k, err := far.Read(p)
			if err != nil {
				return
			}
			state, delay := n.now()
			if state == "hanging" {
				continue // A lost answer stays lost.
			}
			time.Sleep(delay)
			if _, err := ours.Write(p[:k]); err != nil {
				return
			}
		}
	}()
	return near, nil
}

// inTrouble runs a test in a bubble, with a limiter that shares through a network that can be put in trouble.
func inTrouble(t *testing.T, test func(t *testing.T, l *Limiter, n *trouble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &trouble{redis: miniredis.NewMiniRedis()}
		n.redis.ClockTTL(true)
		l, err := Open(Options{Now: time.Now}, Shared{
			Address: "redis://bubble:6379", Replica: "r", Log: slog.New(slog.DiscardHandler), dial: n.dial,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = l.Run(ctx) })
		settled(t, l, true)
		test(t, l, n)
		cancel()
		running.Wait()
		n.set("dead", 0)
		n.redis.Close()
		time.Sleep(time.Minute) // The client has no timer left after a minute.
	})
}

// settled waits until the limiter shares, or does not.
func settled(t *testing.T, l *Limiter, up bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); l.Stats().Up != up; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come to sharing: %t", up)
		}
	}
}

// TestNoCallWaitsForARedisInTrouble breaks Redis in several ways. No call waits too long, each has an answer, and the limits of the
// replica itself hold. The replica returns to a healthy Redis.
func TestNoCallWaitsForARedisInTrouble(t *testing.T) {
	t.Parallel()
	for state, delay := range map[string]time.Duration{"dead": 0, "hanging": 0, "slow": 100 * time.Millisecond} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			inTrouble(t, func(t *testing.T, l *Limiter, n *trouble) {
				const calls, most = 300, 250
				n.set(state, delay)
				var longest time.Duration
				let := 0
				for range calls {
					begun := time.Now()
					s, err := l.Take(Request{AccountID: "a", Model: "m", RequestsPerDay: most})
					longest = max(longest, time.Since(begun))
					if err == nil {
						let++
						s.Release(0)
					}
					time.Sleep(time.Millisecond)
				}
				if longest > delayMax {
					t.Errorf("a call waited %s", longest)
				}
				if let != most {
					t.Errorf("%d calls of %d were let through", let, most)
				}
				if st := l.Stats(); st.Up || st.Away != 1 || st.Late > lateInARowMax || st.Alone == 0 {
					t.Errorf("%+v", st)
				}
				n.set("", 0)
				settled(t, l, true)
				if _, err := l.Take(Request{AccountID: "b", Model: "m"}); err != nil || l.Stats().Leases != 1 {
					t.Errorf("afterwards: %v, %+v", err, l.Stats())
				}
			})
		})
	}
}

// TestManyCallsAtOnceDoNotWaitForEachOther has many calls wait for a Redis that hangs, each no longer than one call would.
func TestManyCallsAtOnceDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	inTrouble(t, func(t *testing.T, l *Limiter, n *trouble) {
		n.set("hanging", 0)
		var all sync.WaitGroup
		begun := time.Now()
		for range 500 {
			all.Go(func() {
				if _, err := l.Take(Request{AccountID: "a", Model: "m", Concurrency: 1000}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(begun); took > delayMax {
			t.Errorf("they took %s", took)
		}
		n.set("", 0)
		settled(t, l, true)
	})
}

// TestACallWhoseAnswerWasLateIsCountedOnce also checks that the call keeps its place and returns it once.
func TestACallWhoseAnswerWasLateIsCountedOnce(t *testing.T) {
	t.Parallel()
	inTrouble(t, func(t *testing.T, l *Limiter, n *trouble) {
		a := Request{AccountID: "a", Model: "m", RequestsPerDay: 10, TokensPerMinute: 1000, Tokens: 600}
		n.set("slow", 45*time.Millisecond)
		s, err := l.Take(a)
		if err != nil || l.Stats().Late != 1 {
			t.Fatalf("%v, %+v", err, l.Stats())
		}
		n.set("", 0)
		time.Sleep(100 * time.Millisecond)
		left := l.Peek([]Request{a})[0]
		if left.Account.Places.Remaining != 15 || left.Model.Daily.Remaining != 9 || left.Model.Tokens.Remaining > 402 {
			t.Errorf("while it runs %+v", left)
		}
		s.Release(100)
		s.Release(100)
		time.Sleep(100 * time.Millisecond)
		left = l.Peek([]Request{a})[0]
		if left.Account.Places.Remaining != 16 || left.Model.Daily.Remaining != 9 || left.Model.Tokens.Remaining < 900 {
			t.Errorf("after it %+v", left)
		}
	})
}

// TestALateAnswerToACallThatIsOverLeavesNothingTaken ends or refuses a call before its late answer arrives.
func TestALateAnswerToACallThatIsOverLeavesNothingTaken(t *testing.T) {
	t.Parallel()
	inTrouble(t, func(t *testing.T, l *Limiter, n *trouble) {
		a := Request{AccountID: "a", Model: "m", RequestsPerDay: 10}
		n.set("slow", 60*time.Millisecond)
		s, err := l.Take(a)
		if err != nil {
			t.Fatal(err)
		}
		s.Release(0)
		time.Sleep(200 * time.Millisecond)
		n.set("", 0)
		settled(t, l, true)
		time.Sleep(10 * time.Millisecond)
		if left := l.Peek([]Request{a})[0]; left.Account.Places.Remaining != 16 || left.Model.Daily.Remaining != 9 {
			t.Errorf("left is %+v", left)
		}
	})
}

// TestRedisThatComesBackEmptyLearnsWhatRuns proves that a replica writes its running calls to an empty Redis, also those
// that began while Redis was away.
func TestRedisThatComesBackEmptyLearnsWhatRuns(t *testing.T) {
	t.Parallel()
	inTrouble(t, func(t *testing.T, l *Limiter, n *trouble) {
		a := Request{AccountID: "a", Model: "m", Concurrency: 3, ModelConcurrency: 3}
		before, err := l.Take(a)
		if err != nil {
			t.Fatal(err)
		}
		n.set("dead", 0)
		n.redis.FlushAll()
		during, err := l.Take(a)
		if err != nil {
			t.Fatal(err)
		}
		n.set("", 0)
		settled(t, l, true)
		if left := l.Peek([]Request{a})[0]; left.Account.Places.Remaining != 1 || left.Model.Places.Remaining != 1 {
			t.Errorf("left is %+v", left)
		}
		before.Release(0)
		during.Release(0)
		time.Sleep(10 * time.Millisecond)
		if left := l.Peek([]Request{a})[0]; left.Account.Places.Remaining != 3 || left.Model.Places.Remaining != 3 {
			t.Errorf("afterwards left is %+v", left)
		}
	})
}

// TestARenewalThatComesLateTakesNoPlace ends a call before the renewal of its lease arrives.
func TestARenewalThatComesLateTakesNoPlace(t *testing.T) {
	t.Parallel()
	inTrouble(t, func(t *testing.T, l *Limiter, n *trouble) {
		a := Request{AccountID: "a", Model: "m", Concurrency: 1}
		s, err := l.Take(a)
		if err != nil {
			t.Fatal(err)
		}
		n.set("dead", 0)
		l.shared.fall(errRefused)
		n.holdNext(func() { s.Release(0) }) // The call ends after the leases were listed and before their renewal.
		n.set("", 0)
		settled(t, l, true)
		time.Sleep(10 * time.Millisecond)
		if left := l.Peek([]Request{a})[0]; left.Account.Places.Remaining != 1 || !n.held() {
			t.Errorf("left is %+v", left)
		}
	})
}
