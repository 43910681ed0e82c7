package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// SecretKey is the key that this gateway seals secrets with.
func (g *Gateway) SecretKey(t *testing.T) string {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(g.Dir, "data", "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	return string(key)
}
