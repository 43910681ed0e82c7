package e2e

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

// holding opens streams that last until release is called, which waits until their places are free.
func (g *gateway) holding(t *testing.T, n int, model string) (release func()) {
	t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	t.Cleanup(leave)
	var all sync.WaitGroup
	for range n {
		req, err := g.request(ctx, "POST", "/v1/chat/completions", ask(model, "count to 5000", `"stream":true`))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			resp, err := client.Do(req)
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
func refusedAtTheDoor(t *testing.T, what string, a answer) {
	t.Helper()
	ms, _ := strconv.Atoi(a.header.Get("Retry-After-Ms"))
	if a.status != http.StatusServiceUnavailable || a.header.Get("X-Error-Code") != "overloaded" ||
		a.header.Get("X-Should-Retry") != "true" || ms < 1000 || ms > 2000 || a.header.Get("Retry-After") == "" {
		t.Errorf("%s: %d %v %s", what, a.status, a.header, a.body)
	}
}

// TestFaultTrialIsShedBeforePaid fills a replica of twenty places: from the seventeenth call on those with trial credit only are
// turned away, those that pay are not, and looking is possible to the end. Who is given credit counts at once.
func TestFaultTrialIsShedBeforePaid(t *testing.T) {
	t.Parallel()
	g := running(t)
	endless := once("test/places")
	g.addModels(t, model{id: endless, upstream: "sim+pace=50ms", provider: "meridian"})
	p := g.replicaOn(t, dataDir(t), "--max-in-flight", "20", "--drain-timeout", "1s")
	trial, paying := g.newCustomer(t, "trial"), g.newCustomer(t, "paying")
	paying.setAvailable(t, 50_000_000_000)
	trial.BaseURL, paying.BaseURL = p.BaseURL, p.BaseURL
	release := p.holding(t, 10, endless)
	more := paying.holding(t, 6, endless)
	small := ask(cheapModel, "echo: small")
	refusedAtTheDoor(t, "trial", trial.call(t, "POST", "/v1/chat/completions", small))
	refusedAtTheDoor(t, "more than half of the places", p.call(t, "POST", "/v1/chat/completions", small))
	decodeCompletion(t, paying.call(t, "POST", "/v1/chat/completions", small))
	if a := trial.call(t, "GET", "/v1/models", ""); a.status != http.StatusOK {
		t.Errorf("a look: %d %s", a.status, a.body)
	}
	if a := p.call(t, "GET", "/console", ""); a.status >= http.StatusInternalServerError {
		t.Errorf("the console: %d", a.status)
	}
	b := trial.balanceOf(t, trial.accountID)
	trial.setAvailable(t, b.Posted-b.Held+1_000_000_000)
	for deadline := time.Now().Add(lookMax); ; time.Sleep(5 * time.Millisecond) {
		if a := trial.call(t, "POST", "/v1/chat/completions", small); a.status == http.StatusOK {
			decodeCompletion(t, a)
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("who has credit besides the trial is refused: %d %s", a.status, a.body)
		}
	}
	release()
	more()
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// vitals is what a process holds.
type vitals struct{ goroutines, descriptors, residentMiB int }

func (p production) vitals(t *testing.T) (v vitals) {
	t.Helper()
	line, _, _ := strings.Cut(p.ask(t, "/debug/pprof/goroutine?debug=1").body, "\n")
	if _, err := fmt.Sscanf(line, "goroutine profile: total %d", &v.goroutines); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	proc := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid))
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
func (p production) comesToRest(t *testing.T, before vitals) {
	t.Helper()
	for deadline := time.Now().Add(baselineMax); ; time.Sleep(20 * time.Millisecond) {
		client.CloseIdleConnections()
		now := p.vitals(t)
		if now.goroutines <= before.goroutines+idleSlack && now.descriptors <= before.descriptors+idleSlack {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("before %+v, now %+v\n%s", before, now, p.ask(t, "/debug/pprof/goroutine?debug=1").body)
		}
	}
}

// healthy makes calls one after the other and returns how long they took, sorted.
func (p production) healthy(t *testing.T) []time.Duration {
	t.Helper()
	var took []time.Duration
	for range healthyCalls {
		from := time.Now()
		decodeCompletion(t, p.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: healthy")))
		took = append(took, time.Since(from))
	}
	slices.Sort(took)
	return took
}

// TestFaultSlowReadersAndBodies opens bodies that stop and streams that the client does not read: healthy calls go on beside them, memory
// stays small, and when they leave nothing of them is left.
func TestFaultSlowReadersAndBodies(t *testing.T) {
	t.Parallel()
	g := running(t)
	flood := once("test/flood")
	g.addModels(t, model{id: flood, upstream: "sim+pace=0s"})
	p := g.replicaOn(t, dataDir(t), "--drain-timeout", "1s")
	alone := p.healthy(t)
	before := p.vitals(t)
	var open []net.Conn
	for i := range slowBodies + slowReaders {
		body, length := ask(flood, "count to 15000", `"stream":true`), 0
		if i < slowBodies {
			body, length = body[:20], 100_000
		}
		open = append(open, p.dial(t, body, max(length, len(body))))
	}
	beside := p.healthy(t)
	if slowest := beside[len(beside)-1]; slowest > healthyCalled {
		t.Errorf("beside slow clients a call takes %v, alone %v", slowest, alone[len(alone)-1])
	}
	t.Logf("healthy calls: p50 %v alone, %v beside %d slow clients", alone[len(alone)/2], beside[len(beside)/2], len(open))
	if now := p.vitals(t); now.residentMiB > before.residentMiB+100 {
		t.Errorf("%d MiB before, %d MiB with slow clients", before.residentMiB, now.residentMiB)
	}
	for _, c := range open {
		_ = c.Close()
	}
	p.comesToRest(t, before)
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// dial sends a call on a connection of its own, with a small window, and reads nothing.
func (p production) dial(t *testing.T, body string, length int) net.Conn {
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
	g := running(t)
	slow := once("test/large")
	g.addModels(t, model{id: slow, upstream: "sim+slow-first=1s", provider: "meridian"})
	p := g.replicaOn(t, dataDir(t), "--max-memory", strconv.Itoa(memoryMaxMiB), "--max-in-flight", "2000", "--drain-timeout", "1s")
	// The keys are of several accounts, because one account's bodies get half of the memory for bodies at most.
	keys := []string{p.APIKey}
	for range 2 {
		other := g.newCustomer(t, "large")
		other.setAvailable(t, 500_000_000_000)
		other.setLimits(t, 1000)
		keys = append(keys, other.APIKey)
	}
	body := ask(slow, strings.Repeat("word ", largeBytes/5))
	flood, enough := context.WithTimeout(context.Background(), floodMax)
	defer enough()
	var mu sync.Mutex
	seen := map[string]int{}
	var all sync.WaitGroup
	for i := range largeCalls {
		key := "Bearer " + keys[i%len(keys)]
		all.Go(func() {
			for flood.Err() == nil {
				a, err := p.tryCall(flood, "POST", "/v1/chat/completions", body, "X-Error-Status", "standard", "Authorization", key)
				if err != nil {
					// The flood has ended.
					return
				}
				mu.Lock()
				if seen[fmt.Sprint(a.status, " ", a.header.Get("X-Error-Code"))]++; a.header.Get("X-Error-Code") == "overloaded" {
					enough()
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	top := p.vitals(t).residentMiB
	if seen["503 overloaded"] == 0 || top > memoryTopMiB {
		t.Errorf("answers %v, resident %d MiB", seen, top)
	}
	from := time.Now()
	for a := (answer{}); a.status != http.StatusOK; {
		if a = p.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: small")); time.Since(from) > orderlyMax {
			t.Fatalf("%v after the flood: %d %s", orderlyMax, a.status, a.body)
		}
	}
	t.Logf("answers %v, resident %d MiB, in order again after %v", seen, top, time.Since(from))
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
