//go:build bench

package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lib/pq"

	"umg/e2e/harness"
)

const (
	benchJobs = 1000
	// benchPoll is the time between two polls of a job, as in production at an age of 80 s.
	benchPoll   = 10 * time.Second
	benchWindow = time.Minute
	// statusRate is the number of clients' status requests a second.
	statusRate   = 500
	statusWindow = 20 * time.Second
	statusGoal   = 5 * time.Millisecond
	floodLarge   = 10_000
	walkLarge    = 10_000
	walkChanges  = 500
	walkPage     = 100
	// statsFlushTime is the time after which the database has counted the statements.
	statsFlushTime = 1200 * time.Millisecond
)

// storeLoad is what the store has done so far.
type storeLoad struct {
	Commits  int64
	Returned int64
	Fetched  int64
	Written  int64
	cpu      time.Duration
}

func measureStoreLoad(t *testing.T, g *harness.Gateway) storeLoad {
	t.Helper()
	time.Sleep(statsFlushTime)
	var l storeLoad
	if err := g.DB(t).Get(&l, `select xact_commit as commits, tup_returned as returned, tup_fetched as fetched,
		tup_inserted + tup_updated + tup_deleted as written from pg_stat_database where datname = current_database()`); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(g.ReadFile(t, "data/postgres/postmaster.pid"), "\n")
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		// A process that has ended has no such file.
		text, _ := os.ReadFile(path)
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid := filepath.Base(filepath.Dir(path))
		if len(fields) > 12 && (fields[1] == first || pid == first) {
			var user, system int64
			_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
			l.cpu += time.Duration(user+system) * clockTick
		}
	}
	return l
}

// TestBenchVideoJobs prints what a thousand running jobs cost the gateway and the store, and how long clients wait for
// the status of one beside them. The load generator and the upstream share the machine. It judges nothing.
func TestBenchVideoJobs(t *testing.T) {
	m := harness.NewRestartingDemo(t, "running", "--video-poll-interval", benchPoll.String())
	var again atomic.Int64
	ids := make([]string, benchJobs)
	began := time.Now()
	var all sync.WaitGroup
	for worker := range harness.FloodClients {
		all.Go(func() {
			for i := worker; i < benchJobs; i += harness.FloodClients {
				ids[i] = m.CreateWithRetries(t, fmt.Sprintf("simulate: render=10m\nrunning %06d.", i), &again)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	made := time.Since(began)
	db := m.DB(t)
	harness.WaitUntil(t, "all jobs run", func() bool {
		var n int
		return db.Get(&n, `select count(*) from video_jobs where state = 'in_progress'`) == nil && n == benchJobs
	})
	fmt.Printf("%d jobs were made in %.1f s by %d clients (%d answers of 503). Load average at the start: %s\n\n"+
		"| %d running jobs, a look each %s | gateway CPU, s/min | Postgres CPU, s/min | commits/s | rows read/s | rows written/s |\n"+
		"| --- | --- | --- | --- | --- | --- |\n", benchJobs, made.Seconds(), harness.FloodClients, again.Load(), loadAverage(t), benchJobs, benchPoll)
	printLoad(t, m, "no requests", func() { time.Sleep(benchWindow) })
	var p50, p99 time.Duration
	var rate float64
	printLoad(t, m, fmt.Sprintf("clients look %d times a second", statusRate), func() { p50, p99, rate = lookOften(t, m, ids) })
	fmt.Printf("\nGET status at %.0f/s (asked: %d/s): p50 %.2f ms, p99 %.2f ms (goal: below %s). Load average at the end: %s\n",
		rate, statusRate, p50.Seconds()*1e3, p99.Seconds()*1e3, statusGoal, loadAverage(t))
}

// printLoad prints what the gateway and the store do while the function runs.
func printLoad(t *testing.T, m *harness.RestartingDemo, name string, during func()) {
	t.Helper()
	store, cpu, began := measureStoreLoad(t, m.Customer.Gateway), cpuTime(t, m.PID), time.Now()
	during()
	used, took := cpuTime(t, m.PID)-cpu, time.Since(began)
	after := measureStoreLoad(t, m.Customer.Gateway)
	seconds := time.Since(began).Seconds()
	each := func(n int64) float64 { return float64(n) / seconds }
	fmt.Printf("| %s | %.2f | %.2f | %.0f | %.0f | %.0f |\n", name, used.Seconds()/took.Minutes(),
		(after.cpu-store.cpu).Seconds()/(seconds/60), each(after.Commits-store.Commits),
		each(after.Returned-store.Returned), each(after.Written-store.Written))
}

// lookOften asks for the status of jobs at a steady rate, however long the answers take, and times them from when they
// were due.
func lookOften(t *testing.T, m *harness.RestartingDemo, ids []string) (p50, p99 time.Duration, rate float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*statusWindow)
	defer cancel()
	const looks = int(statusWindow/time.Second) * statusRate
	times := make([]time.Duration, looks)
	var next atomic.Int64
	began := time.Now()
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= looks {
					return
				}
				due := began.Add(time.Duration(i) * time.Second / statusRate)
				time.Sleep(time.Until(due))
				a, err := m.TryCall(ctx, http.MethodGet, harness.VideosPath+"/"+ids[i%len(ids)], "")
				if err != nil || a.Status != http.StatusOK {
					t.Errorf("%d %s %v", a.Status, a.Body, err)
					return
				}
				times[i] = time.Since(due)
			}
		})
	}
	all.Wait()
	rate = float64(looks) / time.Since(began).Seconds()
	slices.Sort(times)
	return times[looks/2], times[looks*99/100], rate
}

// TestBenchWebhookFlood is the flood of ten thousand events, which are put into the tables as the worker would.
func TestBenchWebhookFlood(t *testing.T) {
	harness.FloodWebhooks(t, floodLarge, func(m *harness.RestartingDemo) []string {
		ids := make([]string, floodLarge)
		for i := range ids {
			ids[i] = fmt.Sprintf("video_00%024d", i)
		}
		db := m.DB(t)
		db.MustExec(`insert into webhook_events (id, account_id, type, object_id, body, created_at)
			select 'evt_' || o, $1, 'video.completed', o, convert_to(json_build_object('id', 'evt_' || o, 'object', 'event', 'created_at', 0,
				'type', 'video.completed', 'data', json_build_object('id', o))::text, 'UTF8'), now() from unnest($2::text[]) o`, m.AccountID, pq.Array(ids))
		db.MustExec(`insert into webhook_deliveries (id, account_id, event_id, endpoint_id, due_at, created_at, updated_at)
			select 'whd_' || substr(e.id, 5), $1, e.id, h.id, now(), now(), now() from webhook_events e, webhook_endpoints h
			where e.account_id = $1 and h.account_id = $1`, m.AccountID)
		return ids
	})
}

// TestBenchListWalk walks a list of ten thousand jobs both ways while some come and go, and insists that what is there
// all the time is seen once.
func TestBenchListWalk(t *testing.T) {
	m := harness.NewRestartingDemo(t, "walk")
	db := m.DB(t)
	insert := func(from, to int) {
		db.MustExec(`insert into video_jobs (id, account_id, key_id, user_id, model, prompt, size, seconds, provider, style, upstream_model, state,
				error_code, rate_card_id, hold_nanos, cost_nanos, deadline_at, created_at, completed_at)
			select 'video_00' || lpad(i::text, 24, '0'), $1, '', '', $2, 'walked', '720x1280', 4, 'meridian', 'videos', 'reel', 'failed', 'gone',
				'card', 0, 0, now(), now(), now() from generate_series($3::int, $4::int) i`, m.AccountID, harness.VideosModel, from, to)
	}
	insert(1, walkLarge)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var changing sync.WaitGroup
	changing.Go(func() {
		// Each twentieth video is deleted, and as many are added at the end.
		for i := range walkChanges {
			id := fmt.Sprintf("video_00%024d", 20*(i+1))
			if a, err := m.TryCall(ctx, http.MethodDelete, harness.VideosPath+"/"+id, ""); err != nil || a.Status != http.StatusOK {
				t.Errorf("%d %s %v", a.Status, a.Body, err)
				return
			}
			insert(walkLarge+1+i, walkLarge+1+i)
		}
	})
	fmt.Printf("| walk through %d jobs, %d a page | pages/s |\n| --- | --- |\n", walkLarge, walkPage)
	for _, order := range []string{"desc", "asc"} {
		began := time.Now()
		seen, err := m.ListAll(ctx, order, walkPage)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("| %s | %.0f |\n", order, float64(len(seen)/walkPage)/time.Since(began).Seconds())
		for i := 1; i <= walkLarge; i++ {
			if n := seen[fmt.Sprintf("video_00%024d", i)]; n > 1 || n == 0 && i%20 != 0 {
				t.Errorf("%s: job %d came %d times", order, i, n)
			}
		}
	}
	changing.Wait()
}
