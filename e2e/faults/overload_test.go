package faults

import (
	"context"
	"fmt"
	"net"
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
	// idleSlack is the number of goroutines and descriptors that an idle gateway may have more or less.
	idleSlack    = 24
	slowBodies   = 200
	slowReaders  = 40
	healthyCalls = 60
	largeCalls   = 160
	largeBytes   = 300 << 10
	floodMax     = 10 * time.Second
	memoryMaxMiB = 80
	// memoryTopMiB holds for the whole process, with memory that the limit does not count and the overshoot of a flood.
	memoryTopMiB = 192
	orderlyMax   = 5 * time.Second
	baselineMax  = 15 * time.Second
	// healthyCalled is the time for a healthy call among slow ones, on a busy machine.
	healthyCalled = 5 * time.Second
)

// heldAmount opens streams that last until release is called, which waits until their places are free.
func heldAmount(t *testing.T, g *harness.Gateway, n int, model string) (release func()) {
	t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	t.Cleanup(leave)
	var all sync.WaitGroup
	for range n {
		req, err := g.NewRequest(ctx, "POST", "/v1/chat/completions", harness.ChatRequest(model, "count to 5000", `"stream":true`))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			resp, err := harness.HTTPClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = resp.Body.Close() })
			if _, err = resp.Body.Read(make([]byte, 1)); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%d %v", resp.StatusCode, err)
			}
		})
	}
	all.Wait()
	return leave
}

// refusedAtTheDoor insists on the one refusal of a replica that has no room.
func refusedAtTheDoor(t *testing.T, what string, a harness.Response) {
	t.Helper()
	ms, _ := strconv.Atoi(a.Header.Get("Retry-After-Ms"))
	if a.Status != http.StatusServiceUnavailable || a.Header.Get("X-Error-Code") != "overloaded" ||
		a.Header.Get("X-Should-Retry") != "true" || ms < 1000 || ms > 2000 || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s: %d %v %s", what, a.Status, a.Header, a.Body)
	}
}

// TestFaultTrialIsShedBeforePaid fills a replica of twenty places: from the seventeenth call on those with trial credit only are
// turned away, those that pay are not, and looking is possible to the end. Who is given credit counts at once.
func TestFaultTrialIsShedBeforePaid(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	endless := harness.UniqueName("test/places")
	g.AddModels(t, harness.Model{ID: endless, UpstreamModel: "sim+pace=50ms", Provider: "meridian"})
	p := replicaOn(t, g, harness.DataDir(t), "--max-in-flight", "20", "--drain-timeout", "1s")
	trial, paying := g.NewCustomer(t, "trial"), g.NewCustomer(t, "paying")
	paying.SetAvailable(t, 50_000_000_000)
	trial.BaseURL, paying.BaseURL = p.BaseURL, p.BaseURL
	release := heldAmount(t, p.Gateway, 10, endless)
	more := heldAmount(t, paying.Gateway, 6, endless)
	small := harness.ChatRequest(harness.CheapModel, "echo: small")
	refusedAtTheDoor(t, "trial", trial.Call(t, "POST", "/v1/chat/completions", small))
	refusedAtTheDoor(t, "more than half of the places", p.Call(t, "POST", "/v1/chat/completions", small))
	harness.DecodeCompletion(t, paying.Call(t, "POST", "/v1/chat/completions", small))
	if a := trial.Call(t, "GET", "/v1/models", ""); a.Status != http.StatusOK {
		t.Errorf("a look: %d %s", a.Status, a.Body)
	}
	if a := p.Call(t, "GET", "/console", ""); a.Status >= http.StatusInternalServerError {
		t.Errorf("the console: %d", a.Status)
	}
	b := trial.SettledBalance(t, trial.AccountID)
	trial.SetAvailable(t, b.Posted-b.Held+1_000_000_000)
	for deadline := time.Now().Add(harness.ShortWaitMax); ; time.Sleep(5 * time.Millisecond) {
		if a := trial.Call(t, "POST", "/v1/chat/completions", small); a.Status == http.StatusOK {
			harness.DecodeCompletion(t, a)
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("a customer with credit beyond the trial is refused: %d %s", a.Status, a.Body)
		}
	}
	release()
	more()
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

// vitals is what a process holds.
type vitals struct{ goroutines, descriptors, residentMiB int }

func readVitals(t *testing.T, p harness.Replica) (v vitals) {
	t.Helper()
	line, _, _ := strings.Cut(p.CallOps(t, "/debug/pprof/goroutine?debug=1").Body, "\n")
	if _, err := fmt.Sscanf(line, "goroutine profile: total %d", &v.goroutines); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	proc := filepath.Join("/proc", strconv.Itoa(p.Command.Process.Pid))
	files, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	v.descriptors = len(files)
	text, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	if _, err := fmt.Sscan(rest, &v.residentMiB); err != nil {
		t.Fatal(err)
	}
	v.residentMiB >>= 10
	return v
}

// comesToRest waits until the process holds no more than before.
func comesToRest(t *testing.T, p harness.Replica, before vitals) {
	t.Helper()
	for deadline := time.Now().Add(baselineMax); ; time.Sleep(20 * time.Millisecond) {
		harness.HTTPClient.CloseIdleConnections()
		now := readVitals(t, p)
		if now.goroutines <= before.goroutines+idleSlack && now.descriptors <= before.descriptors+idleSlack {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("before %+v, now %+v\n%s", before, now, p.CallOps(t, "/debug/pprof/goroutine?debug=1").Body)
		}
	}
}

// healthy makes calls one after the other and returns how long they took, sorted.
func healthy(t *testing.T, p harness.Replica) []time.Duration {
	t.Helper()
	var took []time.Duration
	for range healthyCalls {
		from := time.Now()
		harness.DecodeCompletion(t, p.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: healthy")))
		took = append(took, time.Since(from))
	}
	slices.Sort(took)
	return took
}

// TestFaultSlowReadersAndBodies opens bodies that stop and streams that the client does not read: healthy calls go on beside them, memory
// stays small, and when they leave nothing of them is left.
func TestFaultSlowReadersAndBodies(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	flood := harness.UniqueName("test/flood")
	g.AddModels(t, harness.Model{ID: flood, UpstreamModel: "sim+pace=0s"})
	p := replicaOn(t, g, harness.DataDir(t), "--drain-timeout", "1s")
	alone := healthy(t, p)
	before := readVitals(t, p)
	var open []net.Conn
	for i := range slowBodies + slowReaders {
		body, length := harness.ChatRequest(flood, "count to 15000", `"stream":true`), 0
		if i < slowBodies {
			body, length = body[:20], 100_000
		}
		open = append(open, dialReplica(t, p, body, max(length, len(body))))
	}
	beside := healthy(t, p)
	if slowest := beside[len(beside)-1]; slowest > healthyCalled {
		t.Errorf("beside slow clients a call takes %v, alone %v", slowest, alone[len(alone)-1])
	}
	t.Logf("healthy calls: p50 %v alone, %v beside %d slow clients", alone[len(alone)/2], beside[len(beside)/2], len(open))
	if now := readVitals(t, p); now.residentMiB > before.residentMiB+100 {
		t.Errorf("%d MiB before, %d MiB with slow clients", before.residentMiB, now.residentMiB)
	}
	for _, c := range open {
		_ = c.Close()
	}
	comesToRest(t, p, before)
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

// dialReplica sends a call on a connection of its own, with a small window, and reads nothing.
func dialReplica(t *testing.T, p harness.Replica, body string, length int) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(p.BaseURL, "http://"), "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, err = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", p.APIKey, length, body)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestFaultMemoryIsShed offers more large calls than memory has room for, while the upstream answers none: some are refused, the
// process stays small, and afterwards it takes calls again.
func TestFaultMemoryIsShed(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	slow := harness.UniqueName("test/large")
	g.AddModels(t, harness.Model{ID: slow, UpstreamModel: "sim+slow-first=1s", Provider: "meridian"})
	p := replicaOn(t, g, harness.DataDir(t), "--max-memory", strconv.Itoa(memoryMaxMiB), "--max-in-flight", "2000", "--drain-timeout", "1s")
	// The keys are of several accounts, because one account's bodies get half of the memory for bodies at most.
	keys := []string{p.APIKey}
	for range 2 {
		other := g.NewCustomer(t, "large")
		other.SetAvailable(t, 500_000_000_000)
		other.SetLimits(t, 1000)
		keys = append(keys, other.APIKey)
	}
	body := harness.ChatRequest(slow, strings.Repeat("word ", largeBytes/5))
	flood, enough := context.WithTimeout(context.Background(), floodMax)
	defer enough()
	var mu sync.Mutex
	seen := map[string]int{}
	var all sync.WaitGroup
	for i := range largeCalls {
		key := "Bearer " + keys[i%len(keys)]
		all.Go(func() {
			for flood.Err() == nil {
				a, err := p.TryCall(flood, "POST", "/v1/chat/completions", body, "X-Error-Status", "standard", "Authorization", key)
				if err != nil {
					// The flood has ended.
					return
				}
				mu.Lock()
				if seen[fmt.Sprint(a.Status, " ", a.Header.Get("X-Error-Code"))]++; a.Header.Get("X-Error-Code") == "overloaded" {
					enough()
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	top := readVitals(t, p).residentMiB
	if seen["503 overloaded"] == 0 || top > memoryTopMiB {
		t.Errorf("answers %v, resident %d MiB", seen, top)
	}
	from := time.Now()
	for a := (harness.Response{}); a.Status != http.StatusOK; {
		if a = p.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: small")); time.Since(from) > orderlyMax {
			t.Fatalf("%v after the flood: %d %s", orderlyMax, a.Status, a.Body)
		}
	}
	t.Logf("answers %v, resident %d MiB, in order again after %v", seen, top, time.Since(from))
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}
