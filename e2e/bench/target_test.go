package bench

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// target is a program that is measured.
type target struct {
	name    string
	address string
	// key is empty for a plain proxy.
	key  string
	pids []int
	// database is the parent process of the target's database; zero without one.
	database int
}

func addressOf(g *harness.Gateway) string {
	return strings.TrimSuffix(strings.TrimPrefix(g.BaseURL, "http://"), "/v1")
}

// startProgram builds and starts a program of the benchmarks, which prints its address.
func startProgram(t *testing.T, name string, args ...string) (pid int, address string) {
	t.Helper()
	bin := filepath.Join(harness.TempDir(t), name)
	if out, err := exec.Command("go", "build", "-o", bin, "../"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(bin, args...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewReader(stdout)
	if address, err = lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	// goroutine: the test owns it; it ends when the program has ended.
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return cmd.Process.Pid, strings.TrimSpace(address)
}
