package console

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// TestConsoleDemoKeys holds the two keys of a demo against the text about them: SDKs are to take the one with true
// statuses, so the terminal and the console name it first. A data folder from before there were two gets the second one.
func TestConsoleDemoKeys(t *testing.T) {
	t.Parallel()
	dir := harness.DemoDir(t)
	file := filepath.Join(dir, "data", "demo.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before := harness.DecodeJSON[map[string]string](t, string(text))
	delete(before, "sdk_api_key")
	text, err = json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := harness.StartDemoIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	})
	if g.APIKey != before["api_key"] || g.SDKAPIKey == "" || g.SDKAPIKey == g.APIKey {
		t.Fatalf("the keys are %q and %q", g.APIKey, g.SDKAPIKey)
	}
	demoStatuses(t, g)
	said := g.Log.String()
	if first, second := strings.Index(said, g.SDKAPIKey), strings.Index(said, g.APIKey); first < 0 || second < first {
		t.Errorf("the terminal prints the key for SDKs at %d and the other at %d", first, second)
	}
	p := harness.NewConsoleClient(t, g)
	p.SignIn(t, g.Email, g.Password)
	lastFour := func(key string) string { return "…" + key[len(key)-4:] }
	page := p.Visit(t, "/console", nil).Body
	if !strings.Contains(page, lastFour(g.SDKAPIKey)) || strings.Contains(page, lastFour(g.APIKey)) {
		t.Error("the first steps do not name the key for SDKs")
	}
	list := p.Visit(t, "/console/keys", nil).Body
	if first, second := strings.Index(list, lastFour(g.SDKAPIKey)), strings.Index(list, lastFour(g.APIKey)); first < 0 || second < first {
		t.Errorf("the console lists the key for SDKs at %d and the other at %d", first, second)
	}
}

// demoStatuses sends a mistyped model with both keys, and has the official client say what it makes of the answers.
func demoStatuses(t *testing.T, g *harness.Gateway) {
	t.Helper()
	node := harness.NodeProgram(t)
	harness.RequireNodeClients(t)
	for _, c := range []struct {
		key    string
		status int
		says   string
	}{
		{g.SDKAPIKey, http.StatusNotFound, "404 "},
		{g.APIKey, http.StatusOK, "Cannot read properties of undefined"},
	} {
		a := g.Call(t, http.MethodPost, "/v1/chat/completions", harness.ChatRequest("meridian/atlas-smal", "x"), harness.BearerHeader(c.key)...)
		if a.Status != c.status || !strings.Contains(a.Body, "meridian/atlas-smal") {
			t.Errorf("a mistyped model: %d %s", a.Status, a.Body)
		}
		cmd := exec.Command(node, "mistyped.mjs", g.BaseURL, c.key)
		cmd.Dir = "../node"
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.says) {
			t.Errorf("the client says %q, %v", out, err)
		}
	}
}
