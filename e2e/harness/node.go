package harness

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

const (
	// nodeMajorMin is what the newest clients demand.
	nodeMajorMin = 22
	sdkInstall   = "install what is missing with: cd e2e/node && npm ci --ignore-scripts"
)

// NodeProgram is the Node that is installed with the clients, or the machine's own where it is new enough.
func NodeProgram(t *testing.T) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	installed, err := filepath.Abs(filepath.Join("..", "node", "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{installed, "node"} {
		version, err := exec.Command(program, "--version").Output()
		if err != nil {
			continue
		}
		major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
		if n, err := strconv.Atoi(major); err == nil && n >= nodeMajorMin {
			return program
		}
	}
	t.Fatalf("there is no Node of version %d or later; %s", nodeMajorMin, sdkInstall)
	return ""
}

// RequireNodeClients compares the installed versions with the pinned ones.
func RequireNodeClients(t *testing.T) {
	t.Helper()
	type manifest struct {
		Version      string            `json:"version"`
		Dependencies map[string]string `json:"dependencies"`
	}
	read := func(file ...string) (m manifest) {
		text, err := os.ReadFile(filepath.Join(file...))
		if err != nil {
			t.Fatalf("%v; %s", err, sdkInstall)
		}
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for name, pin := range read("..", "node", "package.json").Dependencies {
		version := pin[strings.LastIndex(pin, "@")+1:] // A pin is "npm:name@version" if two versions are installed.
		if got := read("..", "node", "node_modules", name, "package.json").Version; got != version {
			t.Fatalf("%s is %s and not %s; %s", name, got, version, sdkInstall)
		}
	}
}
