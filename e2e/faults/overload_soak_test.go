//go:build soak

package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

const (
	// peakRate is in calls a second. 64 places and answers after 200 ms have room for 320.
	peakRate     = 250
	overloadBy   = 10
	loadTime     = 10 * time.Second
	soakStreams  = 500
	soakRestarts = 10
	// soakLameDuck is long because the balancer's health checks are late under load, too.
	soakLameDuck = "2s"
)

// offered is the report of the open-loop generator.
type offered struct {
	Offered, Good, Refused, Failed int

	GoodRate   float64 `json:"good_rate"`
	GoodP50    float64 `json:"good_p50"`
	GoodP99    float64 `json:"good_p99"`
	RefusedP50 float64 `json:"refused_p50"`
	RefusedP99 float64 `json:"refused_p99"`
	SentP99    float64 `json:"sent_p99"`

	// Taken is the replica's processor time.
	Taken time.Duration `json:"-"`
}

// generator is the program that offers load, in a process of its own.
type generator struct{ program, url, body string }

func newGenerator(t *testing.T, p harness.Replica, body string) generator {
	t.Helper()
	g := generator{filepath.Join(harness.DataDir(t), "openload"), p.BaseURL + "/chat/completions", body}
	if out, err := exec.Command("go", "build", "-o", g.program, "../openload").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return g
}

func (g generator) offer(t *testing.T, rate int, lasting time.Duration, keys ...string) (o offered) {
	t.Helper()
	out, err := exec.Command(g.program, "-url", g.url, "-body", g.body, "-rate", fmt.Sprint(rate), "-for", lasting.String(),
		"-keys", strings.Join(keys, ",")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// crowded is a replica of 64 places before an upstream that takes its time, and two accounts that pay.
func crowded(t *testing.T) (harness.Replica, generator, []string) {
	t.Helper()
	g := harness.StartDemo(t)
	steady := harness.UniqueName("test/steady")
	g.AddModels(t, harness.Model{ID: steady, UpstreamModel: "sim+slow-first=200ms", Provider: "meridian"})
	p := replicaOn(t, g, harness.DataDir(t), "--max-in-flight", "64", "--drain-timeout", "5s")
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	other := g.NewCustomer(t, "crowd")
	other.SetAvailable(t, 500_000_000_000)
	other.SetLimits(t, 100_000)
	return p, newGenerator(t, p, harness.ChatRequest(steady, "echo: steady")), []string{g.APIKey, other.APIKey}
}

// TestFaultSoakOverload offers ten times what a replica can take: what it serves stays as much and as quick, and what it refuses
// it refuses at once.
func TestFaultSoakOverload(t *testing.T) {
	p, gen, keys := crowded(t)
	// These calls fill caches and leases before the measurement.
	gen.offer(t, peakRate, 2*time.Second, keys...)
	idle := admittedCalls(t, p)
	peak := gen.offer(t, peakRate, loadTime, keys...)
	peak.Taken = admittedCalls(t, p) - idle
	over := gen.offer(t, peakRate*overloadBy, loadTime, keys...)
	over.Taken = admittedCalls(t, p) - idle - peak.Taken
	from := time.Now()
	for in := 0; in < 20 && time.Since(from) < 10*time.Second; in++ {
		if p.Call(t, "POST", "/v1/chat/completions", gen.body, "X-Error-Status", "standard").Status != 200 {
			in = 0
		}
	}
	recovery := time.Since(from)
	refusal := (over.Taken - peak.Taken*time.Duration(over.Good)/time.Duration(max(1, peak.Good))) / time.Duration(max(1, over.Refused))
	p50, p99 := refusals(t, p)
	t.Logf("load average %s\npeak %+v\nx%d %+v\nin order again after %v with 20 calls", loads(t), peak, overloadBy, over, recovery)
	t.Logf("a refusal takes %v of a processor, network included, and by the replica's own log %v ms (p50), %v ms (p99)", refusal, p50, p99)
	if over.GoodRate < 0.9*peak.GoodRate || over.GoodP99 > 2*peak.GoodP99 || p99 >= 5 || over.Failed > 0 {
		t.Errorf("goodput %.0f of %.0f a second, p99 %.0f of %.0f ms, refusals p99 %.1f ms, %d failed",
			over.GoodRate, peak.GoodRate, over.GoodP99, peak.GoodP99, p99, over.Failed)
	}
	// The backlog is 20 calls of 200 ms, and 5 s are the allowance.
	if recovery > 9*time.Second {
		t.Errorf("recovery took %v", recovery)
	}
}

// TestFaultSoakNeighbour has one tenant flood while another calls as always.
func TestFaultSoakNeighbour(t *testing.T) {
	_, gen, keys := crowded(t)
	gen.offer(t, 50, 2*time.Second, keys...)
	alone := gen.offer(t, 50, loadTime, keys[1])
	flooding := make(chan offered, 1)
	go func() { flooding <- gen.offer(t, peakRate*overloadBy, loadTime+2*time.Second, keys[0]) }()
	beside := gen.offer(t, 50, loadTime, keys[1])
	t.Logf("load average %s\nalone %+v\nbeside %+v\nthe flood %+v", loads(t), alone, beside, <-flooding)
	if beside.Good < beside.Offered || beside.GoodP99 > 1.2*alone.GoodP99 {
		t.Errorf("beside a flood %d of %d calls succeed, p99 %.0f ms; alone %.0f ms", beside.Good, beside.Offered, beside.GoodP99, alone.GoodP99)
	}
}

// TestFaultSoakRollingRestarts replaces three replicas ten times over under 500 streams. A machine that is late refuses calls, which
// is not what is looked for here.
func TestFaultSoakRollingRestarts(t *testing.T) {
	g := harness.StartDemo(t)
	slow := harness.UniqueName("test/rolled")
	g.AddModels(t, harness.Model{ID: slow, UpstreamModel: "sim+pace=100ms", Provider: "meridian"})
	f := &fleet{Gateway: g, args: []string{"--drain-timeout", "30s", "--lame-duck", soakLameDuck, "--max-scheduling-delay", "2s"}}
	for range replicas {
		s := &seat{data: harness.DataDir(t)}
		s.Replica = replicaOn(t, f.Gateway, s.data, f.args...)
		f.seats = append(f.seats, s)
	}
	f.rolls(t, slow, soakStreams, soakRestarts)
	for _, s := range f.seats {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	g.CheckLedger(t)
}

// refusals are the times in milliseconds that the replica says refusals took it. Those of the generator also contain how late it
// was itself, on a machine that it shares with all it calls.
func refusals(t *testing.T, p harness.Replica) (p50, p99 float64) {
	t.Helper()
	var took []float64
	for line := range strings.Lines(p.Log.String()) {
		var said struct {
			Code string  `json:"error_code"`
			Took float64 `json:"duration_ms"`
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Code == "overloaded" {
			took = append(took, said.Took)
		}
	}
	if len(took) == 0 {
		t.Fatal("the log tells of no refusal")
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// admittedCalls is the processor time that the process has had so far, of its own and of the kernel's for it.
func admittedCalls(t *testing.T, p harness.Replica) time.Duration {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Command.Process.Pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func loads(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("cat", "/proc/loadavg").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
