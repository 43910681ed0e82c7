package e2e

import (
	"encoding/json"
	"fmt"
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

// TestSDKNode runs every case with the official JavaScript clients, the newest and those of one major version before,
// against upstreams of every style.
func TestSDKNode(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	clientsInstalled(t)
	var clients []sdkClient
	for i, c := range []struct{ name, style, script, packageName string }{
		{"openai-js-7-chat", "chat", "openai-chat.mjs", "openai"},
		{"openai-js-6-chat", "chat", "openai-chat.mjs", "openai-before"},
		{"openai-js-7-responses", "responses", "openai-responses.mjs", "openai"},
		{"openai-js-6-responses", "responses", "openai-responses.mjs", "openai-before"},
		{"anthropic-js-1", "messages", "anthropic.mjs", "@anthropic-ai/sdk"},
		{"anthropic-js-0", "messages", "anthropic.mjs", "anthropic-before"},
		{"genai-js-3", "native", "genai.mjs", "@google/genai"},
		{"genai-js-2", "native", "genai.mjs", "genai-before"},
	} {
		clients = append(clients, sdkClient{c.name, c.style, fmt.Sprint("count to ", 2001+i), []string{node, c.script, c.packageName}})
	}
	runSDKs(t, clients)
}

// nodeProgram is the Node that is installed with the clients, or the machine's own where it is new enough.
func nodeProgram(t *testing.T) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	installed, err := filepath.Abs(filepath.Join("node", "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node"))
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

// clientsInstalled compares the installed versions with the pinned ones.
func clientsInstalled(t *testing.T) {
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
	for name, pin := range read("node", "package.json").Dependencies {
		version := pin[strings.LastIndex(pin, "@")+1:] // "npm:name@version" where two versions live side by side
		if got := read("node", "node_modules", name, "package.json").Version; got != version {
			t.Fatalf("%s is %s and not %s; %s", name, got, version, sdkInstall)
		}
	}
}
