package money

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
	"umg/e2e/harness"
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
	g := harness.SharedDemo(t)
	quick, slow := harness.UniqueName("test/shared-quick"), harness.UniqueName("test/shared-slow")
	g.AddModels(t, harness.Model{ID: quick, UpstreamModel: "sim"}, harness.Model{ID: slow, UpstreamModel: "sim+pace=20ms", Provider: "meridian"})
	redis := redistest.Start(t)
	replicas := make([]harness.Replica, sharedReplicas)
	var starts sync.WaitGroup
	for i := range replicas {
		data, url := harness.DataDir(t), g.DatabaseURL(t)
		starts.Go(func() {
			var err error
			replicas[i], err = harness.TryReplica(url, g, "--data", data, "--redis-url", redis.Address, "--redis-timeout", "1s", "--redis-slot-ttl", "2s")
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
		p.StopAtEnd(t)
	}
	awaitShared(t, replicas, 1)

	keyHasItsLimitOverAll(t, g, replicas, quick)
	redisMayDie(t, g, replicas, redis, quick)
	keyHasItsLimitOverAll(t, g, replicas, quick)
	placesOfTheDeadAreFree(t, g, replicas, slow)
}

// awaitShared waits until every replica shares its limits, or none does.
func awaitShared(t *testing.T, replicas []harness.Replica, want int) {
	t.Helper()
	line := fmt.Sprintf("\numg_ratelimit_redis_up %d\n", want)
	for i, p := range replicas {
		for deadline := time.Now().Add(sharedPatience); !strings.Contains(p.CallOps(t, "/metrics").Body, line); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("replica %d does not come to %s%s", i, line, p.Log)
			}
		}
	}
}

// memberWithRights is a replica as a customer calls it.
func memberWithRights(c harness.Customer, p harness.Replica) *harness.Gateway {
	other := *p.Gateway
	other.APIKey = c.APIKey
	return &other
}

func keyHasItsLimitOverAll(t *testing.T, g *harness.Gateway, replicas []harness.Replica, id string) {
	t.Helper()
	c := g.NewCustomer(t, "shared-limit")
	c.DB(t).MustExec(`update api_keys set requests_per_minute = $2 where account_id = $1`, c.AccountID, sharedKeyMinute)
	var let, refused atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for i := range 2 * sharedReplicas {
		all.Go(func() {
			for range sharedKeyMinute / 2 {
				switch a := memberWithRights(c, replicas[i%sharedReplicas]).Call(t, "POST", harness.ChatPath, harness.ChatRequest(id, "echo: x"), "X-Error-Status", "standard"); a.Status {
				case http.StatusOK:
					let.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
					if a.Header.Get("X-Ratelimit-Limit-Requests") == "" || a.Header.Get("Retry-After-Ms") == "" {
						t.Errorf("a refusal says %v", a.Header)
					}
				default:
					t.Errorf("status %d: %s", a.Status, a.Body)
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

func redisMayDie(t *testing.T, g *harness.Gateway, replicas []harness.Replica, redis *redistest.Server, id string) {
	t.Helper()
	c := g.NewCustomer(t, "shared-outage")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var answered atomic.Int64
	var load sync.WaitGroup
	for _, p := range replicas {
		load.Go(func() {
			for ctx.Err() == nil {
				if a := memberWithRights(c, p).Call(t, "POST", harness.ChatPath, harness.ChatRequest(id, "echo: x"), "X-Error-Status", "standard"); a.Status != http.StatusOK {
					t.Errorf("status %d: %s", a.Status, a.Body)
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

func placesOfTheDeadAreFree(t *testing.T, g *harness.Gateway, replicas []harness.Replica, id string) {
	t.Helper()
	c := g.NewCustomer(t, "shared-places")
	doomed := replicas[sharedReplicas-1]
	memberWithRights(c, doomed).OpenStreams(t, sharedPlaces, harness.ChatRequest(id, "count to 900", `"stream":true`))
	try := func() harness.Response {
		return memberWithRights(c, replicas[0]).Call(t, "POST", harness.ChatPath, harness.ChatRequest(id, "count to 1"), "X-Error-Status", "standard")
	}
	if a := try(); a.Status != http.StatusTooManyRequests || a.Header.Get("X-Error-Code") != "max_concurrency_exceeded" {
		t.Errorf("a call beyond the places is answered with %d: %s", a.Status, a.Body)
	}
	doomed.Kill(t)
	for deadline := time.Now().Add(sharedPatience); ; time.Sleep(50 * time.Millisecond) {
		a := try()
		// A refusal for lack of credit is allowed, since the dead replica's calls still hold credit.
		if a.Status == http.StatusOK || a.Status == http.StatusPaymentRequired {
			return
		}
		if a.Status != http.StatusTooManyRequests || time.Now().After(deadline) {
			t.Fatalf("after the replica died: %d %s", a.Status, a.Body)
		}
	}
}
