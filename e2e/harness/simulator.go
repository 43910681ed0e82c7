package harness

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// CallSimulator calls a control route of the simulated upstream and returns its answer, which must be a success.
func (g *Gateway) CallSimulator(t *testing.T, method, path, body string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), CallTimeMax)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, g.SimulatorURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := HTTPClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %v: %s", method, path, resp.StatusCode, err, text)
	}
	return string(text)
}

// UpstreamBodies returns the bodies of the requests the upstream got that contain the mark.
func (g *Gateway) UpstreamBodies(t *testing.T, mark string) string {
	t.Helper()
	var list struct {
		Data []struct {
			Body string `json:"body"`
		} `json:"requests"`
	}
	text := g.CallSimulator(t, "GET", "/_control/requests?text="+url.QueryEscape(mark), "")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	var found strings.Builder
	for _, r := range list.Data {
		if strings.Contains(r.Body, mark) {
			found.WriteString(r.Body + "\n")
		}
	}
	return found.String()
}

// StartSimulator starts the upstream as a process of its own, which outlives gateways that are killed.
func StartSimulator(t *testing.T, args ...string) (pid int, url string) {
	t.Helper()
	bin, err := GatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	readyFile := filepath.Join(DataDir(t), "simulator.json")
	cmd := exec.Command(bin, append([]string{"simulator", "--listen", "127.0.0.1:0", "--ready-file", readyFile}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(StartTimeMax); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var r Ready
		if text, err := os.ReadFile(readyFile); err == nil && json.Unmarshal(text, &r) == nil {
			return cmd.Process.Pid, r.SimulatorURL
		}
	}
	t.Fatal("the simulator did not start")
	return 0, ""
}
