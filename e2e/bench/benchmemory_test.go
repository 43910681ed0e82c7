//go:build bench

package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/e2e/harness"
)

const (
	// clockTick is the unit in which the kernel reports processor time.
	clockTick          = 10 * time.Millisecond
	slowStreams        = 1000
	startTimeRoundsMax = 5
)

// TestBenchMemoryOfSlowStreams prints the resident memory that a thousand open streams take in the gateway, passed on
// and translated, and in the reverse proxy.
func TestBenchMemoryOfSlowStreams(t *testing.T) {
	_, simURL := harness.StartSimulator(t)
	for _, w := range []way{ways[0], ways[2], ways[4], ways[6]} {
		s := w.scenario(w.String(), eventsSlow, true)
		// The test needs a fresh process, since Go gives memory back to the system late.
		g, err := harness.StartDemoIn(harness.DataDir(t), "--simulator-url", simURL)
		if err != nil {
			t.Fatal(err)
		}
		printMemory(t, "gateway, "+s.name, target{"gateway", strings.TrimSuffix(g.BaseURL, "/v1"), g.APIKey, g.PID, 0}, s.path, s.body)
		if err := g.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for name, second := range map[string]string{"one route": "", "two routes": "crossroads"} {
		g, err := harness.StartDemoIn(harness.DataDir(t), "--simulator-url", simURL)
		if err != nil {
			t.Fatal(err)
		}
		const id = "test/memory"
		g.AddModels(t, harness.Model{ID: id, UpstreamModel: "sim", Provider: "meridian", SecondProvider: second,
			Extra: "    styles: [chat]\n    limits: {requests_per_minute: 100000, tokens_per_minute: 100000000, concurrency: 2000}\n    input: [text]\n"})
		s := way{"chat", "chat", id}.scenario("", eventsSlow, true)
		printMemory(t, "gateway, "+name, target{"gateway", strings.TrimSuffix(g.BaseURL, "/v1"), g.APIKey, g.PID, 0}, s.path, s.body)
		if err := g.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	s := ways[0].scenario("", eventsSlow, true)
	printMemory(t, "reverse proxy", startRefproxy(t, simURL), s.passed, s.passBody)
}

func printMemory(t *testing.T, name string, to target, path, body string) {
	t.Helper()
	for range callsWarm {
		oneCall(to, path, strings.Replace(body, "100ms", "0ms", 1))
	}
	idle := residentKB(t, to.pid)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var open, done sync.WaitGroup
	for range slowStreams {
		open.Add(1)
		done.Go(func() { readSlowly(ctx, to, path, body, &open) })
	}
	open.Wait()
	busy := residentKB(t, to.pid)
	fmt.Printf("memory, %s: idle %d MiB, with %d open streams %d MiB: %d kB a stream\n",
		name, idle/1024, slowStreams, busy/1024, (busy-idle)/slowStreams)
	cancel()
	done.Wait()
}

// readSlowly reads a stream until ctx ends, and reports when the first line arrived.
func readSlowly(ctx context.Context, to target, path, body string, open *sync.WaitGroup) {
	opened := sync.OnceFunc(open.Done)
	defer opened()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.origin+path, strings.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+cmp.Or(to.key, "simulated"))
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	r := bufio.NewReaderSize(resp.Body, 512)
	for err == nil {
		_, err = r.ReadString('\n')
		opened()
	}
}

// lendKey puts the secret key of this gateway into the data folder of another demo on the same database.
func lendKey(t *testing.T, g *harness.Gateway, dir string) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(g.Dir, "data", "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "secret.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBenchStart prints how long a start takes with a database that runs already.
func TestBenchStart(t *testing.T) {
	g := harness.StartDemo(t)
	dsn := g.DatabaseURL(t)
	var times []float64
	for range startTimeRoundsMax {
		dir := harness.DataDir(t)
		lendKey(t, g, dir)
		from := time.Now()
		other, err := harness.StartDemoIn(dir, "--database-url", dsn)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(from).Seconds()*1000)
		if err := other.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("start to ready, database already running: %.0f ms (median of %d)\n", median(times), startTimeRoundsMax)
}

// cpuTime is the processor time that a process has used so far.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name in parentheses may hold spaces; user and system time are the 12th and 13th field behind it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick
}

func loadAverage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
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
