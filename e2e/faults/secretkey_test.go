package faults

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// TestFaultAnotherSecretKeyIsRefused starts replicas without the key of the first one: they say what to do and leave no
// key of their own behind, while the first serves on.
func TestFaultAnotherSecretKeyIsRefused(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	data := harness.DataDir(t)
	args := []string{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--data", data}
	url := "DATABASE_URL=" + g.DatabaseURL(t)
	other := "UMG_SECRET_KEY=" + strings.Repeat("A", 43) + "="
	for name, env := range map[string][]string{"a key of its own": {url}, "another key": {url, other}} {
		out, status := harness.RunCommand(t, env, args...)
		if status == 0 || strings.Count(strings.TrimSpace(out), "\n") > 0 {
			t.Errorf("%s: status %d: %s", name, status, out)
		}
		for _, word := range []string{"UMG_SECRET_KEY", filepath.Join(data, "secret.key"), "gateway secret-key replace"} {
			if !strings.Contains(out, word) {
				t.Errorf("%s: the refusal does not name %s: %s", name, word, out)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(data, "secret.key")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key that was refused stays in the data folder: %v", err)
	}
	// The second gateway has the secret key of the first.
	p := harness.StartReplica(t, g)
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	harness.DecodeCompletion(t, g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: still here")))
}

// TestFaultLostSecretKey removes the key of a stopped gateway: the next start refuses until an operator says that the key
// is lost for good.
func TestFaultLostSecretKey(t *testing.T) {
	t.Parallel()
	dir := harness.DemoDir(t)
	data := filepath.Join(dir, "data")
	key := filepath.Join(data, "secret.key")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := harness.StartDemoIn(dir); err == nil || !strings.Contains(err.Error(), "gateway secret-key replace") {
		t.Fatalf("a start without the key: %v", err)
	}
	if _, err := os.Stat(key); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a key that was refused stays in the data folder: %v", err)
	}
	if out, status := harness.RunCommand(t, nil, "secret-key", "replace", "--data", data); status == 0 || !strings.Contains(out, "--yes") {
		t.Fatalf("replaced without being told to: %s", out)
	}
	if out, status := harness.RunCommand(t, nil, "secret-key", "replace", "--data", data, "--yes"); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	g, err := harness.StartDemoIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	harness.DecodeCompletion(t, g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: with a new key")))
	if err := g.Stop(); err != nil {
		t.Error(err)
	}
}
