package harness

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The times after which a start, a stop and a call fail their test.
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

// sharedText is the demo with its defaults, and sharedVideo is one that renders videos quickly.
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

// RunTests runs the tests of a package, checks and stops the gateways that they shared, and returns the exit status.
func RunTests(m *testing.M) int {
	flag.Parse()
	// A binary with the race detector would sleep for a second at each exit, waiting for late races.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	code := m.Run()
	for _, g := range RunningSharedDemos() {
		if err := g.checkSettlementReasons(); err != nil {
			fmt.Fprintln(os.Stderr, "a shared gateway:", err)
			code = 1
		}
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
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
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

// ProjectRoot returns the folder of go.mod: the tests run in the folder of their package.
func ProjectRoot(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the tests must run inside the project: %v", err)
	}
	return root
}
