package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app/ratelimit/redistest"
)

const (
	sharedReplicas = 3
	// sharedKeyMinute is the number of requests that a key may make in a minute.
	sharedKeyMinute = 20
	// sharedPlaces is the number of calls that an account may run at once.
	sharedPlaces   = 16
	sharedPatience = 30 * time.Second
)

// TestLimitsHoldOverReplicas runs three replicas on one database and one Redis. What a key may do it may do over all of them;
// a Redis that is killed and started again costs no call; and the places of a replica that is killed are free again.
func TestLimitsHoldOverReplicas(t *testing.T) {
	t.Parallel()
	g := running(t)
	quick, slow := once("test/shared-quick"), once("test/shared-slow")
	g.addModels(t, model{id: quick, upstream: "sim"}, model{id: slow, upstream: "sim+pace=20ms", provider: "meridian"})
	redis := redistest.Start(t)
	replicas := make([]production, sharedReplicas)
	var starts sync.WaitGroup
	for i := range replicas {
		data, url := dataDir(t), g.databaseURL(t)
		starts.Go(func() {
			var err error
			replicas[i], err = tryServe(url, g, "--data", data, "--redis-url", redis.Address, "--redis-timeout", "1s", "--redis-slot-ttl", "2s")
			if err != nil {
				t.Error(err)
			}
		})
	}
	starts.Wait()
	if t.Failed() {
		t.FailNow()
	}
	// The test kills the last replica.
	for _, p := range replicas[:sharedReplicas-1] {
		p.stopAtEnd(t)
	}
	awaitShared(t, replicas, 1)

	keyHasItsLimitOverAll(t, g, replicas, quick)
	redisMayDie(t, g, replicas, redis, quick)
	keyHasItsLimitOverAll(t, g, replicas, quick)
	placesOfTheDeadAreFree(t, g, replicas, slow)
}

// awaitShared waits until every replica shares its limits, or none does.
func awaitShared(t *testing.T, replicas []production, want int) {
	t.Helper()
	line := fmt.Sprintf("\numg_ratelimit_redis_up %d\n", want)
	for i, p := range replicas {
		for deadline := time.Now().Add(sharedPatience); !strings.Contains(p.ask(t, "/metrics").body, line); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("replica %d does not come to %s%s", i, line, p.log)
			}
		}
	}
}

// as is a replica as a customer calls it.
func (c customer) as(p production) *gateway {
	other := *p.gateway
	other.APIKey = c.APIKey
	return &other
}

func keyHasItsLimitOverAll(t *testing.T, g *gateway, replicas []production, id string) {
	t.Helper()
	c := g.newCustomer(t, "shared-limit")
	c.db(t).MustExec(`update api_keys set requests_per_minute = $2 where account_id = $1`, c.accountID, sharedKeyMinute)
	var let, refused atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for i := range 2 * sharedReplicas {
		all.Go(func() {
			for range sharedKeyMinute / 2 {
				switch a := c.as(replicas[i%sharedReplicas]).call(t, "POST", chatPath, ask(id, "echo: x"), "X-Error-Status", "standard"); a.status {
				case http.StatusOK:
					let.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
					if a.header.Get("X-Ratelimit-Limit-Requests") == "" || a.header.Get("Retry-After-Ms") == "" {
						t.Errorf("a refusal says %v", a.header)
					}
				default:
					t.Errorf("status %d: %s", a.status, a.body)
				}
			}
		})
	}
	all.Wait()
	came := int64(time.Since(begun).Seconds() * sharedKeyMinute / 60)
	if n := let.Load(); n < sharedKeyMinute || n > sharedKeyMinute+came || refused.Load() == 0 {
		t.Errorf("%d calls of a key with %d a minute were let through, %d refused", n, sharedKeyMinute, refused.Load())
	}
}

func redisMayDie(t *testing.T, g *gateway, replicas []production, redis *redistest.Server, id string) {
	t.Helper()
	c := g.newCustomer(t, "shared-outage")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var answered atomic.Int64
	var load sync.WaitGroup
	for _, p := range replicas {
		load.Go(func() {
			for ctx.Err() == nil {
				if a := c.as(p).call(t, "POST", chatPath, ask(id, "echo: x"), "X-Error-Status", "standard"); a.status != http.StatusOK {
					t.Errorf("status %d: %s", a.status, a.body)
					return
				}
				answered.Add(1)
			}
		})
	}
	redis.Kill(t)
	awaitShared(t, replicas, 0)
	without := answered.Load()
	for deadline := time.Now().Add(sharedPatience); answered.Load() < without+20 && !t.Failed(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("calls wait for a Redis that is gone")
		}
	}
	redis.Restart(t)
	awaitShared(t, replicas, 1)
	stop()
	load.Wait()
}

func placesOfTheDeadAreFree(t *testing.T, g *gateway, replicas []production, id string) {
	t.Helper()
	c := g.newCustomer(t, "shared-places")
	doomed := replicas[sharedReplicas-1]
	c.as(doomed).openStreams(t, sharedPlaces, ask(id, "count to 900", `"stream":true`))
	try := func() answer {
		return c.as(replicas[0]).call(t, "POST", chatPath, ask(id, "count to 1"), "X-Error-Status", "standard")
	}
	if a := try(); a.status != http.StatusTooManyRequests || a.header.Get("X-Error-Code") != "max_concurrency_exceeded" {
		t.Errorf("a call beyond the places is answered with %d: %s", a.status, a.body)
	}
	doomed.kill(t)
	for deadline := time.Now().Add(sharedPatience); ; time.Sleep(50 * time.Millisecond) {
		a := try()
		// A refusal for lack of credit is allowed, since the dead replica's calls still hold credit.
		if a.status == http.StatusOK || a.status == http.StatusPaymentRequired {
			return
		}
		if a.status != http.StatusTooManyRequests || time.Now().After(deadline) {
			t.Fatalf("after the replica died: %d %s", a.status, a.body)
		}
	}
}
