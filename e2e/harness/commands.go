package harness

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
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
