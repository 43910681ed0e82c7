package harness

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
	StartTimeMax = 60 * time.Second
	StopTimeMax  = 20 * time.Second
	CallTimeMax  = 30 * time.Second
)

// raceVariable asks for the binary with the race detector. The tests only look at it from outside, and need none.
const raceVariable = "E2E_RACE"

// lazyDemo is a gateway that all tests of a package share and that starts with the first test that wants it.
type lazyDemo struct {
	once    sync.Once
	gateway *Gateway
	err     error
}

func (l *lazyDemo) start(t *testing.T, name string, args ...string) *Gateway {
	t.Helper()
	l.once.Do(func() {
		var dir string
		if dir, l.err = MakeTempDir(); l.err == nil {
			l.gateway, l.err = StartDemoIn(filepath.Join(dir, name), args...)
		}
	})
	if l.err != nil {
		t.Fatal(l.err)
	}
	return l.gateway
}

// The shared demos: one as it comes, and one that makes videos quickly.
var sharedText, sharedVideo = &lazyDemo{}, &lazyDemo{}

// RunningSharedDemos are the shared demos that have been started.
func RunningSharedDemos() (running []*Gateway) {
	for _, l := range []*lazyDemo{sharedText, sharedVideo} {
		if l.gateway != nil {
			running = append(running, l.gateway)
		}
	}
	return running
}

// RunTests runs the tests of a package, stops what they shared and returns the exit status.
func RunTests(m *testing.M) int {
	flag.Parse()
	// A binary with the race detector would sleep for a second at each exit, waiting for late races.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	code := m.Run()
	for _, g := range RunningSharedDemos() {
		if err := g.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping a shared gateway:", err)
			code = 1
		}
	}
	closeBrowser()
	if dir, err := MakeTempDir(); err == nil {
		_ = os.RemoveAll(dir)
	}
	return code
}

// MakeTempDir is the folder of this test process. It is removed when all tests of the package have run.
var MakeTempDir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "umg-e2e-")
	if err != nil {
		return "", err
	}
	// A local database of a root process runs as another user, who must be able to enter its folder.
	return dir, os.Chmod(dir, 0o711)
})

// TempDir is the folder of this test process, for a test.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := MakeTempDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// GatewayBinary builds the gateway and returns its path. The Go build cache keeps the program, so that the test processes of
// all packages build it once: `go run` reports where the cache has it.
var GatewayBinary = sync.OnceValues(func() (string, error) {
	args := []string{"run", "-exec", "echo"}
	if os.Getenv(raceVariable) != "" {
		args = append(args, "-race")
	}
	// The first run may link into a folder that is gone when it ends. The second one finds the program in the cache.
	for range 3 {
		cmd := exec.Command("go", append(args, "./cmd/gateway")...)
		cmd.Dir = "../.."
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

// Ready is what `gateway demo` writes to its ready file.
type Ready struct {
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

// Gateway is one running demo: the built binary with its own data folder.
type Gateway struct {
	Ready
	Dir     string
	Command *exec.Cmd
	Exited  chan error
	Log     *lockedBuffer
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

// StartDemoIn starts `gateway demo` on the data folder and waits until it says it is ready.
func StartDemoIn(dir string, args ...string) (*Gateway, error) {
	bin, err := GatewayBinary()
	if err != nil {
		return nil, err
	}
	return StartDemoBinary(bin, nil, dir, args...)
}

// StartDemoBinary is startIn with another build, and more in its environment.
func StartDemoBinary(bin string, env []string, dir string, args ...string) (*Gateway, error) {
	readyFile := filepath.Join(dir, "ready.json")
	_ = os.Remove(readyFile)
	g := &Gateway{Dir: dir, Log: &lockedBuffer{}, Exited: make(chan error, 1)}
	g.Command = exec.Command(bin, append([]string{
		"demo", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--profiles",
		"--data", filepath.Join(dir, "data"), "--ready-file", readyFile,
	}, args...)...)
	g.Command.Env = append(os.Environ(), env...)
	g.Command.Stdout, g.Command.Stderr = g.Log, g.Log
	if err := g.Command.Start(); err != nil {
		return nil, err
	}
	go func() { g.Exited <- g.Command.Wait() }()
	deadline := time.After(StartTimeMax)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		if text, err := os.ReadFile(readyFile); err == nil {
			tick.Stop()
			return g, json.Unmarshal(text, &g.Ready)
		}
		select {
		case err := <-g.Exited:
			return nil, fmt.Errorf("the gateway exited before it was ready: %w\n%s", err, g.Log)
		case <-deadline:
			_ = g.Command.Process.Kill()
			return nil, fmt.Errorf("the gateway was not ready within %s\n%s", StartTimeMax, g.Log)
		case <-tick.C:
		}
	}
}

// Stop sends SIGTERM and insists on a clean exit.
func (g *Gateway) Stop() error {
	if err := g.Command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-g.Exited:
		if err != nil {
			return fmt.Errorf("exit after SIGTERM: %w\n%s", err, g.Log)
		}
		return nil
	case <-time.After(StopTimeMax):
		_ = g.Command.Process.Kill()
		return fmt.Errorf("still running %s after SIGTERM\n%s", StopTimeMax, g.Log)
	}
}

// StartDemo gives a test a gateway of its own, stopped when the test ends.
func StartDemo(t *testing.T, args ...string) *Gateway {
	t.Helper()
	g, err := StartDemoIn(DemoDir(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return g
}

// SharedDemo gives a test the gateway that all tests of a package share which break nothing.
func SharedDemo(t *testing.T) *Gateway {
	t.Helper()
	return sharedText.start(t, "shared")
}

// DataDir is a folder that a database of another user may enter; t.TempDir's parents may not allow that.
func DataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(TempDir(t), "d")
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
	dir, err := MakeTempDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "started")
	g, err := StartDemoIn(dir)
	if err != nil {
		return "", err
	}
	return dir, g.Stop()
})

// DemoDir is a folder with the data of a demo that has started once: copying a database is ten times quicker than making one.
func DemoDir(t *testing.T) string {
	t.Helper()
	dir := DataDir(t)
	started, err := startedDemo()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", filepath.Join(started, "data"), dir).CombinedOutput(); err != nil {
		t.Fatalf("copying the data of a demo: %v\n%s", err, out)
	}
	return dir
}

// RunCommand runs a subcommand of the binary to its end and returns what it printed and its exit status.
func RunCommand(t *testing.T, env []string, args ...string) (out string, status int) {
	t.Helper()
	bin, err := GatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), StartTimeMax)
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

// DB opens the gateway's own database, to compare what clients saw with the tables.
func (g *Gateway) DB(t *testing.T) *sqlx.DB {
	t.Helper()
	db, err := sqlx.Connect("postgres", g.DatabaseURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (g *Gateway) DatabaseURL(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.Dir, "data", "database.url"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// Response is one HTTP answer, read whole.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// Call sends one request to a path below the gateway's origin, with the demo's key unless a header says otherwise.
// A header whose value is empty is not sent at all.
func (g *Gateway) Call(t testing.TB, method, path, body string, headers ...string) Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), CallTimeMax)
	defer cancel()
	a, err := g.TryCall(ctx, method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (g *Gateway) TryCall(ctx context.Context, method, path, body string, headers ...string) (Response, error) {
	req, err := g.NewRequest(ctx, method, path, body, headers...)
	if err != nil {
		return Response{}, err
	}
	resp, err := HTTPClient.Do(req)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}, err
}

func (g *Gateway) NewRequest(ctx context.Context, method, path, body string, headers ...string) (*http.Request, error) {
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

// HTTPClient follows no redirects and keeps enough connections for the tests that call in parallel.
var HTTPClient = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 512},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}
