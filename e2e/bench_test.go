//go:build bench

package e2e

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	benchRounds        = 3
	benchSeconds       = 4
	clockTicksASecond  = 100
	slowStreams        = 1000
	startTimeRoundsMax = 5
)

// scenario is one kind of traffic, kept up for benchSeconds by a number of clients that each wait for their answer.
type scenario struct {
	name     string
	clients  int
	body     string
	upstream string // the body for the reverse proxy, where the upstream's model has another name
}

func benchScenarios() []scenario {
	filler := func(n int) string { return strings.Repeat("lorem ipsum dolor ", n/18) }
	return []scenario{
		{name: "1 kB", clients: 32, body: ask(cheapModel, "echo: ok "+filler(900), `"max_tokens":64`)},
		{name: "10 kB", clients: 32, body: ask(cheapModel, "echo: ok "+filler(10_000), `"max_tokens":64`)},
		{name: "100 kB", clients: 32, body: ask(cheapModel, "echo: ok "+filler(100_000), `"max_tokens":64`)},
		{name: "stream of 200 events, unpaced", clients: 32, body: ask(cheapModel, "count to 200", `"stream":true`)},
		{
			name: "stream of 200 events, 5 ms apart", clients: 32, body: ask("bench/paced", "count to 200", `"stream":true`),
			upstream: ask("sim-paced+pace=5ms", "count to 200", `"stream":true`),
		},
	}
}

// target is a process whose CPU time is compared.
type target struct {
	name string
	url  string
	key  string
	pid  int
}

// TestBenchAgainstReverseProxy prints the gateway's CPU time a request beside that of a bare reverse proxy, with the
// same upstream, in the same run. It judges nothing: figures stand in README.md.
func TestBenchAgainstReverseProxy(t *testing.T) {
	sim, simURL := startSimulator(t)
	_ = sim
	g := start(t, "--simulator-url", simURL)
	g.addModels(t, model{id: "bench/paced", upstream: "sim-paced+pace=5ms"})
	ref := startRefproxy(t, simURL)
	targets := []target{
		{"gateway", g.BaseURL + "/chat/completions", g.APIKey, g.PID},
		{"reverse proxy", ref.url + "/v1/chat/completions", "", ref.pid},
	}
	fmt.Printf("Median ratios of %d rounds. A process that is mostly idle pays more a request, so the proxy is measured twice: "+
		"flat out, and at the rate the gateway reached.\n\n", benchRounds)
	fmt.Println("| case | gateway, requests/s | gateway, µs CPU | proxy flat out | ratio | proxy at that rate | ratio | p50 added |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, s := range benchScenarios() {
		var flat, matched, added []float64
		var ours, free, paced figures
		upstream := cmp.Or(s.upstream, s.body)
		for range benchRounds {
			ours = drive(t, targets[0], load{s.name, s.clients, s.body, 0})
			free = drive(t, targets[1], load{s.name, s.clients, upstream, 0})
			paced = drive(t, targets[1], load{s.name, s.clients, upstream, ours.rate})
			flat = append(flat, ours.cpu/free.cpu)
			matched = append(matched, ours.cpu/paced.cpu)
			added = append(added, (ours.p50-paced.p50).Seconds()*1000)
		}
		fmt.Printf("| %s | %.0f | %.0f | %.0f | %.2f | %.0f | %.2f | %.2f ms |\n", s.name, ours.rate, ours.cpu, free.cpu, median(flat),
			paced.cpu, median(matched), median(added))
	}
}

// TestBenchMemoryOfSlowStreams prints the resident memory that a thousand open streams take.
func TestBenchMemoryOfSlowStreams(t *testing.T) {
	_, simURL := startSimulator(t)
	g := start(t, "--simulator-url", simURL)
	g.addModels(t, model{id: "bench/slow", upstream: "sim-slow+pace=100ms"})
	idle := residentKB(t, g.PID)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var open, done sync.WaitGroup
	for range slowStreams {
		open.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			req, err := g.request(ctx, "POST", "/v1/chat/completions", ask("bench/slow", "count to 200", `"stream":true`))
			if err != nil {
				open.Done()
				return
			}
			resp, err := client.Do(req)
			if err != nil {
				open.Done()
				return
			}
			defer resp.Body.Close()
			r := bufio.NewReaderSize(resp.Body, 512)
			_, err = r.ReadString('\n')
			open.Done()
			for err == nil {
				_, err = r.ReadString('\n')
			}
		}()
	}
	open.Wait()
	busy := residentKB(t, g.PID)
	fmt.Printf("memory: idle %d MiB, with %d open streams %d MiB: %d kB a stream\n", idle/1024, slowStreams, busy/1024, (busy-idle)/slowStreams)
	cancel()
	done.Wait()
}

// TestBenchStart prints how long a second start takes, with the local database and with one that already runs.
func TestBenchStart(t *testing.T) {
	g := start(t)
	dsn := g.databaseURL(t)
	var times []float64
	for range startTimeRoundsMax {
		from := time.Now()
		other, err := startIn(dataDir(t), "--database-url", dsn)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(from).Seconds()*1000)
		if err := other.stop(); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("start to ready, database already running: %.0f ms (median of %d)\n", median(times), startTimeRoundsMax)
}

type figures struct {
	cpu  float64 // microseconds of the process a request
	p50  time.Duration
	rate float64
}

// load is what drive sends: as fast as the clients get answers, or at a rate a second.
type load struct {
	name    string
	clients int
	body    string
	rate    float64
}

func drive(t *testing.T, to target, l load) figures {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), benchSeconds*time.Second)
	defer cancel()
	before, from := cpuTicks(t, to.pid), time.Now()
	var calls, failed atomic.Int64
	var due atomic.Int64
	latencies := make([][]time.Duration, l.clients)
	var all sync.WaitGroup
	for i := range l.clients {
		all.Go(func() {
			for ctx.Err() == nil {
				if l.rate > 0 {
					time.Sleep(time.Until(from.Add(time.Duration(float64(due.Add(1)) / l.rate * float64(time.Second)))))
				}
				sent := time.Now()
				if !oneCall(to, l.body) {
					failed.Add(1)
				}
				calls.Add(1)
				latencies[i] = append(latencies[i], time.Since(sent))
			}
		})
	}
	all.Wait()
	// The bare proxy loses a few streams of an upstream that answers at once; that is its own, and why ours buffers bodies.
	if to.key != "" && failed.Load() > 0 {
		t.Errorf("%s at %s: %d of %d calls failed", l.name, to.name, failed.Load(), calls.Load())
	}
	flat := slices.Concat(latencies...)
	slices.Sort(flat)
	ticks := float64(cpuTicks(t, to.pid) - before)
	return figures{
		cpu:  ticks / clockTicksASecond * 1e6 / float64(calls.Load()),
		p50:  flat[len(flat)/2],
		rate: float64(calls.Load()) / time.Since(from).Seconds(),
	}
}

func oneCall(to target, body string) bool {
	req, err := http.NewRequest(http.MethodPost, to.url, strings.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+to.key)
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && n > 0 && resp.Header.Get("X-Error-Code") == ""
}

func startRefproxy(t *testing.T, upstream string) target {
	t.Helper()
	bin := filepath.Join(buildDir, "refproxy")
	if out, err := exec.Command("go", "build", "-o", bin, "./refproxy").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(bin, "-upstream", upstream)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return target{name: "reverse proxy", url: "http://" + strings.TrimSpace(address), pid: cmd.Process.Pid}
}

func cpuTicks(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name in parentheses may hold spaces; user and system time are the 12th and 13th field behind it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return user + system
}

func residentKB(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
