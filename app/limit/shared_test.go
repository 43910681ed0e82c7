package limit_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app/limit"
	"umg/app/limit/redistest"
)

// A replica that dies leaves its places to the others when its leases end, while those of the living stay taken.
func TestPlacesOfADeadReplicaAreFreeAgain(t *testing.T) {
	t.Parallel()
	o := limit.Shared{Address: redistest.Start(t).Address, Lease: 600 * time.Millisecond}
	o.Replica = "mortal"
	mortal, kill := replica(t, o, time.Now)
	o.Replica = "living"
	living, _ := replica(t, o, time.Now)
	a := limit.Ask{AccountID: "a", Model: "m", Concurrency: 3}
	for _, l := range []*limit.Limiter{mortal, mortal, living} {
		if _, err := l.Take(a); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(2 * o.Lease) // renewals hold them all
	if _, err := living.Take(a); codeOf(err) != "max_concurrency_exceeded" {
		t.Fatalf("before the death: %v", err)
	}
	kill()
	left := func() int64 { return living.Peek([]limit.Ask{a})[0].Account.Places.Remaining }
	eventually(t, "two places are free", func() bool { return left() == 2 })
	time.Sleep(2 * o.Lease)
	if left() != 2 {
		t.Errorf("%d places are left, but one call runs", left())
	}
}

// A real server that is frozen, thawed, killed and started again under load costs no call, and the limits hold afterwards.
func TestARealRedisMayFreezeAndDieUnderLoad(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	all := replicas(t, server.Address, limit.Shared{Wait: 20 * time.Millisecond}, time.Now)
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
				s, err := l.Take(limit.Ask{AccountID: "a", Model: "m", Concurrency: 64})
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
