//go:build bench

package bench

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"umg/e2e/harness"
)

// Bars of figures that are no ratios to refproxy.
var (
	rateBar       = bar{1.35, 1.15}
	allocationBar = bar{60, 30}
	bytesBar      = bar{8000, 4000}
	waitBar       = bar{5, 2}
	firstBar      = bar{0.5, 0.25}
	idleBar       = bar{2, 1}
)

// benchRates prints what billing adds to a call at rates below what the machine can do, and how late the first content is.
func benchRates(t *testing.T, b *bench, r *report, p plan) {
	r.table("Calls at a fixed rate", "case", "ledger on, µs", "ledger off, µs", "on to off", "must", "aim", "",
		"first content, p50, ms: refproxy", "gateway", "more", "must", "aim", "", "foreign, %")
	for _, c := range []traffic{cpuCases[0].traffic, {"stream, unpaced", "unpaced", 1000, "chat", "chat"}} {
		for _, rate := range []float64{100, 300} {
			if testing.Short() && c.stream() && rate > 100 {
				continue
			}
			t.Run(fmt.Sprintf("%s, %.0f a second", c.name, rate), func(t *testing.T) { b.printRate(t, r, p, c, rate) })
		}
	}
}

func (b *bench) printRate(t *testing.T, r *report, p plan, c traffic, rate float64) {
	var on, off, ratio, first, refFirst, more, foreign samples
	for round := range p.rounds {
		all := slices.DeleteFunc(b.targets(true, round), func(to target) bool { return to.name == "nginx" })
		seen := b.takeTurns(t, all, c, load{clients: clientsStandard, rate: rate, warm: p.warm, during: p.steady}, p.turns)
		for _, o := range seen {
			foreign = append(foreign, o.foreign)
		}
		ours, free := seen["gateway"], seen["ledger off"]
		on, off, ratio = append(on, ours.perCall()), append(off, free.perCall()), append(ratio, ours.perCall()/free.perCall())
		first, refFirst = append(first, percentile(ours.first, 50)), append(refFirst, percentile(seen["refproxy"].first, 50))
		more = append(more, percentile(ours.first, 50)-percentile(seen["refproxy"].first, 50))
	}
	name := fmt.Sprintf("%s, %.0f a second", c.name, rate)
	billing, content := rateBar, firstBar
	if c.stream() {
		billing = bar{}
	} else {
		// An answer in one piece waits for its settlement.
		content = bar{}
	}
	cells := append([]string{name, number(on.median()), number(off.median()), ratio.String()}, r.judge(name+", ledger on to off", ratio, billing)...)
	cells = append(cells, number(refFirst.median()), number(first.median()), more.String())
	cells = append(cells, r.judge(name+", first content, ms more than refproxy", more, content)...)
	r.row(append(cells, number(foreign.median()))...)
}

// benchAllocations prints what a call of 1 kB allocates, by the statistics of the Go runtime of the gateway.
func benchAllocations(t *testing.T, b *bench, r *report, p plan) {
	var count, size samples
	for range p.rounds {
		allocated, bytes := runtimeMetric(t, b.home, "go_memstats_mallocs_total"), runtimeMetric(t, b.home, "go_memstats_alloc_bytes_total")
		o := b.measure(t, b.gateway, cpuCases[0].traffic, load{clients: clientsStandard, during: p.during})
		count = append(count, (runtimeMetric(t, b.home, "go_memstats_mallocs_total")-allocated)/float64(o.totalAnswers))
		size = append(size, (runtimeMetric(t, b.home, "go_memstats_alloc_bytes_total")-bytes)/float64(o.totalAnswers))
	}
	r.table("Allocations of a call of 1 kB", "what", "value", "must", "aim", "")
	r.row(append([]string{"allocations", count.String()}, r.judge("allocations a call", count, allocationBar)...)...)
	r.row(append([]string{"bytes", size.String()}, r.judge("bytes allocated a call", size, bytesBar)...)...)
}

// refusalsInTime is how many refusals an account gets at once. The gateway delays the answers of further ones.
const refusalsInTime = 100

// benchWaits prints how long refusals and the status of a video take while nothing else runs.
func benchWaits(t *testing.T, b *bench, r *report, p plan) {
	r.table("Answers of an idle gateway", "what", "p50, ms", "p99, ms", "must", "aim", "", "foreign, %")
	poor := b.home.NewCustomerWithoutCredit(t, "poor")
	limited := b.home.NewCustomer(t, "limited")
	c, chat := cpuCases[0].traffic, styles["chat"]
	const video = "video_00000000000000000000000001"
	b.home.DB(t).MustExec(`insert into video_jobs (id, account_id, key_id, user_id, model, prompt, size, seconds, provider, style, upstream_model,
			state, error_code, rate_card_id, hold_nanos, cost_nanos, deadline_at, created_at, completed_at)
		values ($1, $2, '', '', $3, 'a prompt', '720x1280', 4, 'meridian', 'videos', 'reel', 'failed', 'gone', 'card', 0, 0, now(), now(), now())`,
		video, b.home.DemoAccountID(t), harness.VideosModel)
	for _, w := range []struct {
		name    string
		status  int
		request *request
	}{
		{"refusal without credit (402)", http.StatusPaymentRequired, newRequest(http.MethodPost, b.gateway.address, chat.path, poor.APIKey, c.body(chat, c.model()), "")},
		{"refusal over the limit (429)", http.StatusTooManyRequests, newRequest(http.MethodPost, b.gateway.address, chat.path, limited.APIKey,
			c.body(chat, limitedModel), "")},
		{"status of a video", http.StatusOK, newRequest(http.MethodGet, b.gateway.address, harness.VideosPath+"/"+video, b.gateway.key, "", "")},
	} {
		most := math.MaxInt
		if w.status != http.StatusOK {
			most = refusalsInTime / p.rounds
		}
		var p50, p99, foreign samples
		for range p.rounds {
			load := startForeignLoad(t)
			waits := callTimes(t, w.name, w.request, w.status, most, 2*p.steady)
			p50, p99 = append(p50, percentile(waits, 50)), append(p99, percentile(waits, 99))
			foreign = append(foreign, load.percent(t))
		}
		r.row(append(append([]string{w.name, p50.String(), p99.String()}, r.judge(w.name+", p99, ms", p99, waitBar)...), number(foreign.median()))...)
	}
}

// benchIdle prints what the gateway and its database use while no one calls, when the database has written what the load left behind. It
// ends the gateway without ledger, which uses the same database.
func benchIdle(t *testing.T, b *bench, r *report, p plan) {
	for _, pid := range b.unbilled.pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	var gateway, database, foreign samples
	time.Sleep(p.settled)
	for range p.rounds {
		load := startForeignLoad(t)
		cpu, db, began := cpuTime(t, b.gateway.pids...), treeTime(t, b.gateway.database), time.Now()
		time.Sleep(p.idle)
		seconds := time.Since(began).Seconds()
		gateway = append(gateway, (cpuTime(t, b.gateway.pids...)-cpu).Seconds()*1000/seconds)
		database = append(database, (treeTime(t, b.gateway.database)-db).Seconds()*1000/seconds)
		foreign = append(foreign, load.percent(t))
	}
	r.table(fmt.Sprintf("CPU while no one calls, %s after the last call", p.settled), "what", "ms a second", "must", "aim", "", "foreign, %")
	for _, row := range []struct {
		name string
		used samples
	}{{"gateway", gateway}, {"Postgres", database}} {
		r.row(append(append([]string{row.name, row.used.String()}, r.judge("idle "+row.name+", ms a second", row.used, idleBar)...), number(foreign.median()))...)
	}
}
