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
	// hostileVariable sets the length of each quiet and each attacked part, such as 10s.
	hostileVariable = "E2E_HOSTILE_PART"
	hostilePart     = time.Minute
	hostilePairs    = 5
	// hostileShare is the part of one processor that the attacking program may use.
	hostileShare  = 0.5
	hostileCredit = 100_000_000_000

	// payingRate is in calls a second.
	payingRate  = 50
	payingMore  = 1.2
	payingSlack = 5 * time.Millisecond
	// hostileGrowthMax is in MiB above the memory of the idle gateway.
	hostileGrowthMax = 256
)

// attacked is the report of the attacking program.
type attacked struct {
	Answers   map[string]int
	Processor float64
}

// TestHostileAccount has one account attack a replica in all ways at once while another pays for 50 calls a second: the one that
// pays is as well off as without the attack, and the replica stays small.
func TestHostileAccount(t *testing.T) {
	part := hostilePart
	if text := os.Getenv(hostileVariable); text != "" {
		var err error
		if part, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	// The gateway must run with the collector's setting of production.
	t.Setenv("GOGC", "100")
	g := harness.StartDemo(t)
	p := replicaOn(t, g, harness.DataDir(t), "--drain-timeout", "5s")
	p.StopAtEnd(t)
	hostile, paying := g.NewCustomer(t, "hostile"), g.NewCustomer(t, "paying")
	for _, c := range []harness.Customer{hostile, paying} {
		c.SetAvailable(t, hostileCredit)
	}
	paying.SetLimits(t, 100)
	program := filepath.Join(harness.DataDir(t), "hostile")
	if out, err := exec.Command("go", "build", "-o", program, "../hostile").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	gen := newGenerator(t, p, harness.ChatRequest(harness.CheapModel, "echo: paying"))
	gen.offer(t, payingRate, 5*time.Second, paying.APIKey)
	idle := readVitals(t, p).residentMiB
	var quiet, beside []float64
	for pair := range hostilePairs {
		calm := gen.offer(t, payingRate, part, paying.APIKey)
		cmd := exec.Command(program, "-url", strings.TrimSuffix(p.BaseURL, "/v1"), "-key", hostile.APIKey, "-model", harness.CheapModel,
			"-for", part.String(), "-share", strconv.FormatFloat(hostileShare, 'f', 2, 64))
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, os.Stderr
		before := admittedCalls(t, p)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		harmed := gen.offer(t, payingRate, part, paying.APIKey)
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		var attack attacked
		if err := json.Unmarshal([]byte(said.String()), &attack); err != nil {
			t.Fatal(err)
		}
		t.Logf("pair %d, load average %s\nquiet  %+v\nbeside %+v\nthe replica used %.2f processors\nthe attack %+v", pair+1, loads(t), calm, harmed,
			(admittedCalls(t, p)-before).Seconds()/part.Seconds(), attack)
		for what, o := range map[string]offered{"quiet": calm, "attacked": harmed} {
			if o.Refused > 0 || o.Failed > 0 || o.Good != o.Offered {
				t.Errorf("pair %d, %s: of %d calls that are paid for %d were refused and %d failed", pair+1, what, o.Offered, o.Refused, o.Failed)
			}
		}
		if attack.Processor > hostileShare*1.1 {
			t.Errorf("the attacking program used %.2f processors", attack.Processor)
		}
		quiet, beside = append(quiet, calm.GoodP99), append(beside, harmed.GoodP99)
	}
	slices.Sort(quiet)
	slices.Sort(beside)
	calm, harmed := quiet[len(quiet)/2], beside[len(beside)/2]
	most := max(payingMore*calm, calm+float64(payingSlack.Milliseconds()))
	grown := peakMiB(t, p) - idle
	t.Logf("p99 of the paying account: quiet %.1f ms (%.1f), attacked %.1f ms (%.1f), at most %.1f; %d MiB above idle (%d)",
		calm, quiet, harmed, beside, most, grown, idle)
	if harmed > most {
		t.Errorf("p99 is %.1f ms beside the attack and %.1f ms without; at most %.1f is allowed", harmed, calm, most)
	}
	if grown > hostileGrowthMax {
		t.Errorf("the replica grew by %d MiB", grown)
	}
}

// peakMiB is the most memory that the process ever held.
func peakMiB(t *testing.T, p harness.Replica) (mib int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Command.Process.Pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(rest, &mib); err != nil {
		t.Fatal(err)
	}
	return mib >> 10
}
