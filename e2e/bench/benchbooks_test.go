//go:build bench

package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// firstRounds is how often each rate is measured; a first byte needs more calls than a sum of CPU time does.
const firstRounds = 3

// TestBenchFirstByte prints how long clients wait for the first byte with the books open and closed, and what the
// gateway computes, at fixed rates below what the machine can do. The books should add nothing before the first byte
// for an account with credit; one on trial credit pays a round trip to the books with each call.
func TestBenchFirstByte(t *testing.T) {
	b := newBench(t)
	trial := b.gateway
	trial.name, trial.key = "trial", b.customer(t).APIKey
	fmt.Printf("Time to the first byte, p50 / p99 in ms, and CPU time a call in µs, medians of %d rounds. Load average: %s\n\n"+
		"| case | calls/s | proxy | books closed | books open | trial | CPU closed | CPU open | open/closed | Postgres | Postgres, trial |\n"+
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n", firstRounds, loadAverage(t))
	for _, s := range []scenario{jsonScenarios()[0], ways[0].scenario("stream of 200", eventsAsked, true)} {
		b.warm(t, s)
		for _, rate := range []float64{100, 300} {
			b.printFirst(t, trial, s, rate)
		}
	}
	fmt.Printf("\nLoad average at the end: %s\n", loadAverage(t))
}

// customer is an account that has trial credit only.
func (b bench) customer(t *testing.T) harness.Customer {
	t.Helper()
	c := b.home.NewCustomer(t, "trial")
	c.SetLimits(t, 1_000_000)
	return c
}

func (b bench) printFirst(t *testing.T, trial target, s scenario, rate float64) {
	t.Helper()
	asked, straight := load{s.name, s.path, s.body, rate}, load{s.name, s.passed, s.passBody, rate}
	var waits [4][2][]float64
	var closed, open, added, books, trialBooks []float64
	for range firstRounds {
		all := [...]figures{drive(t, b.proxy, straight), drive(t, b.closed, asked), drive(t, b.gateway, asked), drive(t, trial, asked)}
		for i, f := range all {
			waits[i][0] = append(waits[i][0], f.first[len(f.first)/2].Seconds()*1000)
			waits[i][1] = append(waits[i][1], f.first[len(f.first)*99/100].Seconds()*1000)
		}
		closed, open, added = append(closed, all[1].cpu), append(open, all[2].cpu), append(added, all[2].cpu/all[1].cpu)
		books, trialBooks = append(books, all[2].books), append(trialBooks, all[3].books)
	}
	fmt.Printf("| %s | %.0f |", s.name, rate)
	for _, w := range waits {
		fmt.Printf(" %.2f / %.1f |", median(w[0]), median(w[1]))
	}
	fmt.Printf(" %.0f | %.0f | %.2f | %.0f | %.0f |\n", median(closed), median(open), median(added), median(books), median(trialBooks))
}

// serverTime is how long the processes have computed that a postmaster owns, and those of them that have ended.
func serverTime(t *testing.T, postmaster int) (sum time.Duration) {
	t.Helper()
	if postmaster == 0 {
		return 0
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			// The process has ended.
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		times := fields[11:13]
		if filepath.Base(filepath.Dir(name)) == strconv.Itoa(postmaster) {
			// The last two fields are the times of children that have ended.
			times = fields[11:15]
		} else if fields[1] != strconv.Itoa(postmaster) {
			continue
		}
		for _, field := range times {
			ticks, _ := strconv.ParseInt(field, 10, 64)
			sum += time.Duration(ticks) * clockTick
		}
	}
	return sum
}
