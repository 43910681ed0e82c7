package harness

import (
	"os"
	"path/filepath"
	"testing"
)

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
