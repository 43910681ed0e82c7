package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the tests read the tables that the server wrote
)

const (
	startTimeMax = 60 * time.Second
	stopTimeMax  = 20 * time.Second
	callTimeMax  = 30 * time.Second
)

// raceVariable asks for the binary with the race detector. The tests only look at it from outside, and need none.
const raceVariable = "E2E_RACE"

// lazyDemo is a gateway that all tests of a package share and that starts with the first test that wants it.
type lazyDemo struct {
	once    sync.Once
	gateway *gateway
	err     error
}

func (l *lazyDemo) start(t *testing.T, name string, args ...string) *gateway {
	t.Helper()
	l.once.Do(func() {
		var dir string
		if dir, l.err = tempDir(); l.err == nil {
			l.gateway, l.err = startIn(filepath.Join(dir, name), args...)
		}
	})
	if l.err != nil {
		t.Fatal(l.err)
	}
	return l.gateway
}

// The shared demos: one as it comes, and one that makes videos quickly.
var sharedText, sharedVideo = &lazyDemo{}, &lazyDemo{}

// sharedDemos are the shared demos that have been started.
func sharedDemos() (running []*gateway) {
	for _, l := range []*lazyDemo{sharedText, sharedVideo} {
		if l.gateway != nil {
			running = append(running, l.gateway)
		}
	}
	return running
}

// runTests runs the tests of a package, stops what they shared and returns the exit status.
func runTests(m *testing.M) int {
	flag.Parse()
	// A binary with the race detector would sleep for a second at each exit, waiting for late races.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	code := m.Run()
	for _, g := range sharedDemos() {
		if err := g.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping a shared gateway:", err)
			code = 1
		}
	}
	closeBrowser()
	if dir, err := tempDir(); err == nil {
		_ = os.RemoveAll(dir)
	}
	return code
}

// tempDir is the folder of this test process. It is removed when all tests of the package have run.
var tempDir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "umg-e2e-")
	if err != nil {
		return "", err
	}
	// A local database of a root process runs as another user, who must be able to enter its folder.
	return dir, os.Chmod(dir, 0o711)
})

// newTempDir is the folder of this test process, for a test.
func newTempDir(t testing.TB) string {
	t.Helper()
	dir, err := tempDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// gatewayBinary builds the gateway and returns its path. The Go build cache keeps the program, so that the test processes of
// all packages build it once: `go run` reports where the cache has it.
var gatewayBinary = sync.OnceValues(func() (string, error) {
	args := []string{"run", "-exec", "echo"}
	if os.Getenv(raceVariable) != "" {
		args = append(args, "-race")
	}
	// The first run may link into a folder that is gone when it ends. The second one finds the program in the cache.
	for range 3 {
		cmd := exec.Command("go", append(args, "./cmd/gateway")...)
		cmd.Dir = ".."
		out, err := cmd.Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return "", fmt.Errorf("build: %w\n%s", err, exit.Stderr)
			}
			return "", fmt.Errorf("build: %w", err)
		}
		program := strings.TrimSpace(string(out))
		if _, err := os.Stat(program); err == nil {
			return program, nil
		}
	}
	return "", errors.New("the go command does not keep the program that it built")
})

// ready is what `gateway demo` writes to its ready file.
type ready struct {
	BaseURL    string `json:"base_url"`
	ConsoleURL string `json:"console_url"`
	// APIKey is a key with documented statuses.
	APIKey string `json:"api_key"`
	// SDKAPIKey is a key with true statuses.
	SDKAPIKey    string `json:"sdk_api_key"`
	Email        string `json:"email"`
	Password     string `json:"password"`
	SimulatorURL string `json:"simulator_url"`
	MetricsURL   string `json:"metrics_url"`
	PID          int    `json:"pid"`
}

// gateway is one running demo: the built binary with its own data folder.
type gateway struct {
	ready
	dir    string
	cmd    *exec.Cmd
	exited chan error
	log    *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startIn starts `gateway demo` on the data folder and waits until it says it is ready.
func startIn(dir string, args ...string) (*gateway, error) {
	bin, err := gatewayBinary()
	if err != nil {
		return nil, err
	}
	return startBinary(bin, nil, dir, args...)
}

// startBinary is startIn with another build, and more in its environment.
func startBinary(bin string, env []string, dir string, args ...string) (*gateway, error) {
	readyFile := filepath.Join(dir, "ready.json")
	_ = os.Remove(readyFile)
	g := &gateway{dir: dir, log: &lockedBuffer{}, exited: make(chan error, 1)}
	g.cmd = exec.Command(bin, append([]string{
		"demo", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--profiles",
		"--data", filepath.Join(dir, "data"), "--ready-file", readyFile,
	}, args...)...)
	g.cmd.Env = append(os.Environ(), env...)
	g.cmd.Stdout, g.cmd.Stderr = g.log, g.log
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { g.exited <- g.cmd.Wait() }()
	deadline := time.After(startTimeMax)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		if text, err := os.ReadFile(readyFile); err == nil {
			tick.Stop()
			return g, json.Unmarshal(text, &g.ready)
		}
		select {
		case err := <-g.exited:
			return nil, fmt.Errorf("the gateway exited before it was ready: %w\n%s", err, g.log)
		case <-deadline:
			_ = g.cmd.Process.Kill()
			return nil, fmt.Errorf("the gateway was not ready within %s\n%s", startTimeMax, g.log)
		case <-tick.C:
		}
	}
}

// stop sends SIGTERM and insists on a clean exit.
func (g *gateway) stop() error {
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-g.exited:
		if err != nil {
			return fmt.Errorf("exit after SIGTERM: %w\n%s", err, g.log)
		}
		return nil
	case <-time.After(stopTimeMax):
		_ = g.cmd.Process.Kill()
		return fmt.Errorf("still running %s after SIGTERM\n%s", stopTimeMax, g.log)
	}
}

// start gives a test a gateway of its own, stopped when the test ends.
func start(t *testing.T, args ...string) *gateway {
	t.Helper()
	g, err := startIn(grownDir(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.stop(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return g
}

// running gives a test the gateway that all tests of a package share which break nothing.
func running(t *testing.T) *gateway {
	t.Helper()
	return sharedText.start(t, "shared")
}

// dataDir is a folder that a database of another user may enter; t.TempDir's parents may not allow that.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(newTempDir(t), "d")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	// The folder goes after its gateway has stopped. A journal alone takes 128 MB of disk.
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startedDemo is the data of a demo that has started once.
var startedDemo = sync.OnceValues(func() (string, error) {
	dir, err := tempDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "started")
	g, err := startIn(dir)
	if err != nil {
		return "", err
	}
	return dir, g.stop()
})

// grownDir is a folder with the data of a demo that has started once: copying a database is ten times quicker than making one.
func grownDir(t *testing.T) string {
	t.Helper()
	dir := dataDir(t)
	started, err := startedDemo()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", filepath.Join(started, "data"), dir).CombinedOutput(); err != nil {
		t.Fatalf("copying the data of a demo: %v\n%s", err, out)
	}
	return dir
}

// run runs a subcommand of the binary to its end and returns what it printed and its exit status.
func run(t *testing.T, env []string, args ...string) (out string, status int) {
	t.Helper()
	bin, err := gatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// db opens the gateway's own database, to compare what clients saw with the tables.
func (g *gateway) db(t *testing.T) *sqlx.DB {
	t.Helper()
	db, err := sqlx.Connect("postgres", g.databaseURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (g *gateway) databaseURL(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, "data", "database.url"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// answer is one HTTP answer, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

// call sends one request to a path below the gateway's origin, with the demo's key unless a header says otherwise.
// A header whose value is empty is not sent at all.
func (g *gateway) call(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
	defer cancel()
	a, err := g.tryCall(ctx, method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (g *gateway) tryCall(ctx context.Context, method, path, body string, headers ...string) (answer, error) {
	req, err := g.request(ctx, method, path, body, headers...)
	if err != nil {
		return answer{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: string(text)}, err
}

func (g *gateway) request(ctx context.Context, method, path, body string, headers ...string) (*http.Request, error) {
	origin := strings.TrimSuffix(g.BaseURL, "/v1")
	req, err := http.NewRequestWithContext(ctx, method, origin+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+g.APIKey)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return req, nil
}

// client follows no redirects and keeps enough connections for the tests that call in parallel.
var client = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 512},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}
