package ratelimit_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"umg/app/ratelimit"
	"umg/app/ratelimit/redistest"
)

const (
	replicasCount = 3
	patience      = 30 * time.Second // A test waits at most this long for an event.
	pollEvery     = 200 * time.Microsecond
	redisWait     = time.Minute // The wait is long, because the machine may be busy.
	redisLease    = time.Minute
)

// world is where calls are counted: limiters, which are one and the same where nothing is shared, and a way to let time pass.
type world struct {
	replicas []*ratelimit.Limiter
	pass     func(d time.Duration)
	real     bool // Time passes by itself in a real world.
	accounts atomic.Int64
}

// account returns a new account.
func (w *world) account() string { return fmt.Sprintf("acc_%d", w.accounts.Add(1)) }

// worlds are all there are. In each the same laws hold.
func worlds() map[string]func(t *testing.T) *world {
	return map[string]func(t *testing.T) *world{
		"in process": func(*testing.T) *world {
			l, c := setup()
			return &world{replicas: []*ratelimit.Limiter{l, l, l}, pass: c.advance}
		},
		"shared in miniredis": func(t *testing.T) *world {
			t.Helper()
			m := miniredis.RunT(t)
			var passed clock
			m.SetTime(passed.now())
			m.ClockTTL(true)
			w := &world{replicas: replicas(t, "redis://"+m.Addr(), ratelimit.Shared{}, passed.now)}
			w.pass = func(d time.Duration) { passed.advance(d); m.SetTime(passed.now()) }
			return w
		},
		"shared in Redis": func(t *testing.T) *world {
			t.Helper()
			return &world{replicas: replicas(t, redistest.Start(t).Address, ratelimit.Shared{}, time.Now), pass: time.Sleep, real: true}
		},
	}
}

// inEveryWorld runs a law everywhere.
func inEveryWorld(t *testing.T, law func(t *testing.T, w *world)) {
	t.Helper()
	for name, made := range worlds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law(t, made(t))
		})
	}
}

// replicas are limiters that share, each with a clock an hour ahead of the one before.
func replicas(t *testing.T, address string, o ratelimit.Shared, now func() time.Time) []*ratelimit.Limiter {
	t.Helper()
	all := make([]*ratelimit.Limiter, replicasCount)
	for i := range all {
		o.Address, o.Replica = address, fmt.Sprintf("replica_%d", i)
		all[i], _ = replica(t, o, func() time.Time { return now().Add(time.Duration(i) * time.Hour) })
	}
	return all
}

// replica is a limiter that shares, and what ends its renewals.
func replica(t *testing.T, o ratelimit.Shared, now func() time.Time) (*ratelimit.Limiter, func()) {
	t.Helper()
	if o.Wait == 0 {
		o.Wait = redisWait
	}
	if o.Lease == 0 {
		o.Lease = redisLease
	}
	o.Log = slog.New(slog.DiscardHandler)
	l, err := ratelimit.Open(ratelimit.Options{Now: now}, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.Run(ctx)
	}()
	end := func() { cancel(); <-ended }
	t.Cleanup(end)
	eventually(t, "the replica shares", func() bool { return l.Stats().Up })
	return l, end
}

// eventually waits for what nothing signals.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(pollEvery) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come to it that %s", what)
		}
	}
}
