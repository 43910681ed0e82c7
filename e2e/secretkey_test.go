package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secretKey is the key that this gateway seals secrets with.
func (g *gateway) secretKey(t *testing.T) string {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(g.dir, "data", "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	return string(key)
}

// TestFaultAnotherSecretKeyIsRefused starts replicas without the key of the first one: they say what to do and leave no
// key of their own behind, while the first serves on.
func TestFaultAnotherSecretKeyIsRefused(t *testing.T) {
	t.Parallel()
	g := start(t)
	data := dataDir(t)
	args := []string{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--data", data}
	url := "DATABASE_URL=" + g.databaseURL(t)
	other := "UMG_SECRET_KEY=" + strings.Repeat("A", 43) + "="
	for name, env := range map[string][]string{"a key of its own": {url}, "another key": {url, other}} {
		out, status := run(t, env, args...)
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
	p := serve(t, g)
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	decodeCompletion(t, g.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: still here")))
}

// TestFaultLostSecretKey removes the key of a stopped gateway: the next start refuses until an operator says that the key
// is lost for good.
func TestFaultLostSecretKey(t *testing.T) {
	t.Parallel()
	dir := grownDir(t)
	data := filepath.Join(dir, "data")
	key := filepath.Join(data, "secret.key")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := startIn(dir); err == nil || !strings.Contains(err.Error(), "gateway secret-key replace") {
		t.Fatalf("a start without the key: %v", err)
	}
	if _, err := os.Stat(key); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a key that was refused stays in the data folder: %v", err)
	}
	if out, status := run(t, nil, "secret-key", "replace", "--data", data); status == 0 || !strings.Contains(out, "--yes") {
		t.Fatalf("replaced without being told to: %s", out)
	}
	if out, status := run(t, nil, "secret-key", "replace", "--data", data, "--yes"); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	g, err := startIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	decodeCompletion(t, g.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: with a new key")))
	if err := g.stop(); err != nil {
		t.Error(err)
	}
}
