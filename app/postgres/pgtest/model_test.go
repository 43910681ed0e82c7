package pgtest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheModelIsReplacedWhenMigrationsChange copies a model of the current migrations, and one of others.
func TestTheModelIsReplacedWhenMigrationsChange(t *testing.T) {
	dir, err := os.MkdirTemp("", "m") // The name is short, because the path of a socket has at most 107 bytes.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	m, err := lockModel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.release() }()
	key, err := schemaKey()
	if err != nil {
		t.Fatal(err)
	}
	says := func(key string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(m.dir, modelFor), []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	copied := func(name string) []os.DirEntry {
		t.Helper()
		to := filepath.Join(dir, name)
		if err := os.Mkdir(to, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := m.copyTo(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(filepath.Join(to, clusterName))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	if err := os.MkdirAll(filepath.Join(m.dir, clusterName, "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	says(key)
	if got := copied("current"); len(got) != 1 || got[0].Name() != "mine" {
		t.Errorf("a current model was not copied as it is: %v", got)
	}
	says("other migrations")
	if got := copied("rebuilt"); len(got) < 2 || got[0].Name() == "mine" {
		t.Errorf("a model of other migrations was not rebuilt: %v", got)
	}
	if made, err := os.ReadFile(filepath.Join(m.dir, modelFor)); err != nil || string(made) != key {
		t.Errorf("what was made says that it is for %q: %v", made, err)
	}
}
