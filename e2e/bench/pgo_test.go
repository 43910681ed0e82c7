//go:build bench

package bench

import (
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

var profileFlag = flag.String("profile", "", "file of the CPU profile for profile-guided builds")

const (
	profileTime = 40 * time.Second
	// gainMin is the gain from which a profile is worth its file and its longer builds, in percent.
	gainMin   = 3
	pgoRounds = 5
)

// pgoTraffic is the mix of calls that a profile is recorded with, and with which builds are compared.
func pgoTraffic() (all []traffic) {
	for _, c := range cpuCases {
		if c.bar.must > 0 {
			all = append(all, c.traffic)
		}
	}
	return all
}

// TestPGORecord records a CPU profile of the gateway under the mix of calls, and writes it to the file of the flag.
func TestPGORecord(t *testing.T) {
	file := profilePath(t)
	b := newBench(t)
	during := profileTime
	if testing.Short() {
		during = 3 * time.Second
	}
	type profile struct {
		text []byte
		err  error
	}
	done := make(chan profile, 1)
	// goroutine: the test owns it and waits for it; the gateway ends its answer after the time of the profile.
	go func() {
		text, err := fetchProfile(b.home, during)
		done <- profile{text, err}
	}()
	turn := during / time.Duration(4*len(pgoTraffic()))
	for began := time.Now(); time.Since(began) < during; {
		for _, c := range pgoTraffic() {
			b.measure(t, b.gateway, c, load{clients: clientsStandard, during: turn})
		}
	}
	p := <-done
	if p.err != nil {
		t.Fatal(p.err)
	}
	if err := os.WriteFile(file, p.text, 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%d kB of profile are in %s\n", len(p.text)/1000, file)
}

func fetchProfile(g *harness.Gateway, during time.Duration) ([]byte, error) {
	url := fmt.Sprintf("%s/debug/pprof/profile?seconds=%.0f", strings.TrimSuffix(g.MetricsURL, "/metrics"), during.Seconds())
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %.200s", url, resp.StatusCode, text)
	}
	return text, err
}

func profilePath(t *testing.T) string {
	t.Helper()
	if *profileFlag == "" {
		t.Fatal("-profile is required: the make targets pgo and pgo-compare set it")
	}
	return *profileFlag
}

// TestPGOCompare builds the gateway with the profile and without, runs both builds in turns, and prints the gain.
func TestPGOCompare(t *testing.T) {
	file := profilePath(t)
	b, r := newBench(t), &report{}
	builds := []target{
		b.startBuild(t, "without profile", "-pgo=off"),
		b.startBuild(t, "with profile", "-pgo="+file),
	}
	rounds, during := pgoRounds, wholePlan.during
	if testing.Short() {
		rounds, during = 2, shortPlan.during
	}
	r.table(fmt.Sprintf("CPU of a call with the profile and without, %d rounds", rounds),
		"case", "without, µs", "with, µs", "gain, %", "foreign, %")
	// overall has the sum of the logarithms of the ratios of each round.
	overall := make(samples, rounds)
	for _, c := range pgoTraffic() {
		var gain, foreign samples
		used := [2]samples{}
		for round := range rounds {
			for i := range builds {
				// The builds change places after each round.
				at := (i + round) % len(builds)
				o := b.measure(t, builds[at], c, load{clients: clientsStandard, warm: wholePlan.warm, during: during})
				used[at], foreign = append(used[at], o.perCall()), append(foreign, o.foreign)
			}
			ratio := used[1][round] / used[0][round]
			gain = append(gain, 100*(1-ratio))
			overall[round] += math.Log(ratio)
		}
		r.row(c.name, number(used[0].median()), number(used[1].median()), gain.String(), number(foreign.median()))
	}
	for i, sum := range overall {
		overall[i] = 100 * (1 - math.Exp(sum/float64(len(pgoTraffic()))))
	}
	verdict := "the profile is worth its file"
	if overall.median() < gainMin {
		verdict = "leave the profile out"
	}
	r.printf("\nGain over all cases, as a geometric mean: %s %%. At least %d %% are asked for: %s.\n", overall, gainMin, verdict)
}

// startBuild builds the gateway with a flag, and starts it as one more replica of the account.
func (b *bench) startBuild(t *testing.T, name, flag string) target {
	t.Helper()
	bin := filepath.Join(harness.TempDir(t), strings.ReplaceAll(name, " ", "-"))
	cmd := exec.Command("go", "build", flag, "-o", bin, "./cmd/gateway")
	cmd.Dir = harness.ProjectRoot(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g, err := harness.TryReplicaBinary(bin, nil, b.home.DatabaseURL(t), b.home, "--data", harness.DataDir(t))
	if err != nil {
		t.Fatal(err)
	}
	g.StopAtEnd(t)
	return target{name: name, address: addressOf(g.Gateway), key: b.gateway.key, pids: []int{g.Command.Process.Pid}, database: b.gateway.database}
}
