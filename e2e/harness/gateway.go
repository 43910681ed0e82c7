package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // Tests read the tables that the server wrote through this driver.
)

// DatabasePID is the process of the local database, 0 while there is none.
func (g *Gateway) DatabasePID(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.Dir, "data", "postgres", "postmaster.pid"))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	return pid
}

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

// warningsMax bounds the lines of a log that a failed test prints.
const warningsMax = 20

// Warnings are the last lines of a demo's log that an operator should read.
func (g *Gateway) Warnings() string {
	text, err := os.ReadFile(filepath.Join(g.Dir, "data", "gateway.log"))
	if err != nil {
		return err.Error()
	}
	lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return !strings.Contains(line, `"level":"WARN"`) && !strings.Contains(line, `"level":"ERROR"`)
	})
	return strings.Join(lines[max(0, len(lines)-warningsMax):], "\n")
}

// StartDemoIn starts `gateway demo` on the data folder and waits until it says it is ready.
func StartDemoIn(dir string, args ...string) (*Gateway, error) {
	bin, err := GatewayBinary()
	if err != nil {
		return nil, err
	}
	return StartDemoBinary(bin, nil, dir, args...)
}

// StartDemoBinary is StartDemoIn with another build, and more in its environment.
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
	// goroutine: the gateway owns it; it ends when the process has ended.
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

// DatabaseURL is the address of the database that the demo started.
func (g *Gateway) DatabaseURL(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.Dir, "data", "database.url"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// SecretKey is the key that this gateway seals secrets with.
func (g *Gateway) SecretKey(t *testing.T) string {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(g.Dir, "data", "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	return string(key)
}

// ReadFile reads a file below the gateway's folder.
func (g *Gateway) ReadFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
