//go:build bench

package bench

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/e2e/harness"
)

const (
	benchRounds = 3
	// benchTime is the length of a round. Calls that still run at its end are finished.
	benchTime = 1500 * time.Millisecond
	clients   = 32
	callsWarm = 3
	callsLost = 10

	eventsAsked = "count to 200"
	eventsPaced = `simulate: pace=5ms\ncount to 200`
	eventsSlow  = `simulate: pace=100ms\ncount to 200`
)

// scenario is one kind of traffic, kept up by clients that each wait for their answer.
type scenario struct {
	name string
	path string
	body string
	// passed and passBody are the path and the body for the reverse proxy, which forwards straight to the upstream.
	passed   string
	passBody string
}

// speech is how clients speak a style, and how the simulated upstream of the default catalog does.
type speech struct {
	path string
	// upstream is the path at the simulator, with %s for the model.
	upstream string
	// body has %s for the members that name the model and the stream, and for the prompt.
	body string
}

var speeches = map[string]speech{
	"chat": {
		"/v1/chat/completions", "/v1/chat/completions",
		`{%s,"max_tokens":500,"messages":[{"role":"user","content":"%s"}]}`,
	},
	"messages": {
		"/v1/messages", "/v1/messages",
		`{%s,"max_tokens":500,"messages":[{"role":"user","content":"%s"}]}`,
	},
	"responses": {
		"/v1/responses", "/v1/responses",
		`{%s,"max_output_tokens":500,"input":"%s"}`,
	},
	"native": {
		"/vendorc/native", "/v1beta/models/sim:%s",
		`{%s,"generationConfig":{"maxOutputTokens":500},"contents":[{"role":"user","parts":[{"text":"%s"}]}]}`,
	},
}

// way is the style of a client, that of the first route of a model, and that model.
type way struct{ client, upstream, model string }

var ways = []way{
	{"chat", "chat", harness.CheapModel},
	{"messages", "messages", "quillon/folio-large"},
	{"responses", "responses", "tessera/mosaic-pro"},
	{"native", "native", "boreal/fjord-flash"},
	{"chat", "messages", "quillon/folio-large"},
	{"messages", "chat", "meridian/atlas-large"},
	{"responses", "native", "boreal/fjord-flash"},
	{"native", "messages", "quillon/folio-large"},
	{"chat", "responses", "tessera/mosaic-pro"},
}

func (w way) translated() bool { return w.client != w.upstream }

func (w way) String() string {
	if w.translated() {
		return "client " + w.client + ", upstream " + w.upstream
	}
	return w.client
}

// scenario is a call on the way, and beside it what the upstream would be asked for the same answer.
func (w way) scenario(name, prompt string, stream bool) scenario {
	c, u := speeches[w.client], speeches[w.upstream]
	s := scenario{
		name: name, path: c.path, passed: u.upstream,
		body:     fmt.Sprintf(c.body, fmt.Sprintf(`"model":%q,"stream":%v`, w.model, stream), prompt),
		passBody: fmt.Sprintf(u.body, fmt.Sprintf(`"model":"sim","stream":%v`, stream), prompt),
	}
	if w.upstream == "native" {
		method := "generateContent"
		if stream {
			method = "streamGenerateContent?alt=sse"
		}
		s.passed = fmt.Sprintf(u.upstream, method)
		s.passBody = strings.Replace(s.passBody, fmt.Sprintf(`"model":"sim","stream":%v,`, stream), "", 1)
	}
	return s
}

func jsonScenarios() []scenario {
	var all []scenario
	for _, size := range []int{1, 10, 100} {
		filler := strings.Repeat("lorem ipsum dolor ", (size*1000-100)/18)
		all = append(all, ways[0].scenario(fmt.Sprintf("%d kB", size), "echo: ok "+filler, false))
	}
	return all
}

// streamScenarios are streams of 200 events, passed on where the styles are the same and translated where not.
func streamScenarios(translated bool, prompt string) []scenario {
	var all []scenario
	for _, w := range ways {
		if w.translated() == translated {
			all = append(all, w.scenario(w.String(), prompt, true))
		}
	}
	return all
}

// TestBenchAgainstReverseProxy prints the CPU time of a call in the gateway, and in the gateway with its books closed,
// beside that of a bare reverse proxy with the same upstream in the same run. It judges nothing: the results are in
// e2e/bench/RESULTS.md.
func TestBenchAgainstReverseProxy(t *testing.T) {
	b := newBench(t)
	fmt.Printf("CPU time of the process in µs for a request or a whole stream, %d clients that wait for their answers, medians of %d rounds.\n"+
		"Ratios are to the reverse proxy; \"open/closed\" is what the books add to the gateway, and Postgres is what all processes of\n"+
		"the database take with the books open. Load average at the start: %s\n", clients, benchRounds, loadAverage(t))
	for _, part := range []struct {
		title string
		all   []scenario
	}{
		{"JSON", jsonScenarios()},
		{"stream of 200 events, same style, unpaced", streamScenarios(false, eventsAsked)},
		{"stream of 200 events, translated, unpaced", streamScenarios(true, eventsAsked)},
		{"stream of 200 events, same style, 5 ms apart", streamScenarios(false, eventsPaced)},
	} {
		t.Run(part.title, func(t *testing.T) { b.print(t, part.title, part.all) })
	}
	fmt.Printf("\nLoad average at the end: %s\n", loadAverage(t))
}

type bench struct {
	home                   *harness.Gateway
	gateway, closed, proxy target
}

// newBench starts what is compared. The account that pays is funded well, so that the gateway holds leases for it.
func newBench(t *testing.T) bench {
	t.Helper()
	_, simURL := harness.StartSimulator(t)
	g := harness.StartDemo(t, "--simulator-url", simURL)
	return bench{
		home:    g,
		gateway: target{"gateway", strings.TrimSuffix(g.BaseURL, "/v1"), g.APIKey, g.PID, g.DatabasePID(t)},
		closed:  startBenchgateway(t, g, simURL),
		proxy:   startRefproxy(t, simURL),
	}
}

// print measures the scenarios one after the other; the targets take turns, so that each round compares like with like.
func (b bench) print(t *testing.T, title string, all []scenario) {
	fmt.Printf("\n%s\n\n| case | requests/s | proxy | books closed | ratio | books open | ratio | open/closed | Postgres |\n"+
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n", title)
	for _, s := range all {
		straight := load{s.name, s.passed, s.passBody, 0}
		asked := load{s.name, s.path, s.body, 0}
		b.warm(t, s)
		var rate, proxy, closed, closedRatio, open, openRatio, added, books []float64
		for range benchRounds {
			ours, without, free := drive(t, b.gateway, asked), drive(t, b.closed, asked), drive(t, b.proxy, straight)
			rate, books = append(rate, ours.rate), append(books, ours.books)
			proxy, closed, open = append(proxy, free.cpu), append(closed, without.cpu), append(open, ours.cpu)
			closedRatio, openRatio = append(closedRatio, without.cpu/free.cpu), append(openRatio, ours.cpu/free.cpu)
			added = append(added, ours.cpu/without.cpu)
		}
		fmt.Printf("| %s | %.0f | %.0f | %.0f | %.2f | %.0f | %.2f | %.2f | %.0f |\n", s.name, median(rate), median(proxy), median(closed),
			median(closedRatio), median(open), median(openRatio), median(added), median(books))
	}
}

// warm makes the first calls, which open connections and fill pools, and insists that they succeed.
func (b bench) warm(t *testing.T, s scenario) {
	t.Helper()
	for range callsWarm {
		for _, to := range []target{b.gateway, b.closed} {
			if !oneCall(to, s.path, s.body) {
				t.Fatalf("%s: %s does not answer", s.name, to.name)
			}
		}
	}
	// The proxy loses some calls: see drive.
	for range callsLost {
		if oneCall(b.proxy, s.passed, s.passBody) {
			return
		}
	}
	t.Fatalf("%s: the reverse proxy does not answer", s.name)
}

// load is what drive sends: as fast as the clients get answers, or at a rate a second.
type load struct {
	name string
	path string
	body string
	rate float64
}

type figures struct {
	// cpu is the processor time of the process, in microseconds a request.
	cpu float64
	// books is the processor time of the database, in microseconds a request.
	books float64
	rate  float64
	// first has the times to the first byte of each answer, sorted.
	first []time.Duration
}

func drive(t *testing.T, to target, l load) figures {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), benchTime)
	defer cancel()
	before, beforeBooks, from := cpuTime(t, to.pid), serverTime(t, to.postmaster), time.Now()
	var calls, failed, due atomic.Int64
	latencies := make([][]time.Duration, clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				if l.rate > 0 {
					time.Sleep(time.Until(from.Add(time.Duration(float64(due.Add(1)) / l.rate * float64(time.Second)))))
				}
				first, ok := timedCall(to, l.path, l.body)
				if !ok {
					failed.Add(1)
				}
				calls.Add(1)
				latencies[i] = append(latencies[i], first)
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
	return figures{
		cpu:   float64((cpuTime(t, to.pid) - before).Microseconds()) / float64(calls.Load()),
		books: float64((serverTime(t, to.postmaster) - beforeBooks).Microseconds()) / float64(calls.Load()),
		rate:  float64(calls.Load()) / time.Since(from).Seconds(),
		first: flat,
	}
}

func oneCall(to target, path, body string) bool {
	_, ok := timedCall(to, path, body)
	return ok
}

// timedCall makes one call and says when the first byte of its answer came.
func timedCall(to target, path, body string) (first time.Duration, ok bool) {
	req, err := http.NewRequest(http.MethodPost, to.origin+path, strings.NewReader(body))
	if err != nil {
		return 0, false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+cmp.Or(to.key, "simulated"))
	// The upstream refuses messages of the reverse proxy without this header.
	req.Header.Set("Vendorb-Version", "2023-06-01")
	sent := time.Now()
	resp, err := harness.HTTPClient.Do(req)
	first = time.Since(sent)
	if err != nil {
		return first, false
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	return first, err == nil && resp.StatusCode == http.StatusOK && n > 0 && resp.Header.Get("X-Error-Code") == ""
}

// target is a process whose CPU time is compared.
type target struct {
	name   string
	origin string
	key    string
	pid    int
	// postmaster is the parent process of the target's database processes; 0 without a database.
	postmaster int
}

func startRefproxy(t *testing.T, upstream string) target {
	t.Helper()
	pid, address := startHelper(t, "refproxy", "-upstream", upstream)
	return target{name: "reverse proxy", origin: "http://" + address, pid: pid}
}

// startBenchgateway starts the gateway without its books beside the one whose keys and catalog it uses.
func startBenchgateway(t *testing.T, g *harness.Gateway, simURL string) target {
	t.Helper()
	pid, address := startHelper(t, "benchgateway", "-database-url", g.DatabaseURL(t), "-simulator-url", simURL,
		"-log", filepath.Join(harness.DataDir(t), "benchgateway.log"))
	return target{name: "books closed", origin: "http://" + address, key: g.APIKey, pid: pid}
}

// startHelper builds and starts a program of the benchmarks, which prints its address.
func startHelper(t *testing.T, name string, args ...string) (pid int, address string) {
	t.Helper()
	bin := filepath.Join(harness.TempDir(t), name)
	if out, err := exec.Command("go", "build", "-o", bin, "../"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(bin, args...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, strings.TrimSpace(address)
}
