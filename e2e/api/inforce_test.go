package api

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"umg/e2e/harness"
)

// modelsMany is how many models the largest catalogs have that people use.
const modelsMany = 557

// TestAPICatalogIsInForceWhenApplyEnds applies catalogs of many models while two replicas serve, and asks both for the new
// price at once.
func TestAPICatalogIsInForceWhenApplyEnds(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	p := harness.StartReplica(t, g)
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	env := []string{"DATABASE_URL=" + g.DatabaseURL(t)}
	text, _ := harness.RunCommand(t, env, "catalog", "export")
	var file map[string]any
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	models, _ := file["models"].([]any)
	var pattern map[string]any
	for _, m := range models {
		if m, _ := m.(map[string]any); m["id"] == harness.CheapModel {
			pattern = m
		}
	}
	for i := len(models); i < modelsMany; i++ {
		copied := maps.Clone(pattern)
		copied["id"] = fmt.Sprintf("meridian/copy-%d", i)
		models = append(models, copied)
	}
	file["models"] = models
	path := filepath.Join(harness.DataDir(t), "catalog.yaml")
	for round, price := range []string{"0.25", "0.35", "0.45"} {
		pattern["rates"].(map[string]any)["input_tokens"] = price + " per 1M"
		all, err := yaml.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, all, 0o600); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		out, status := harness.RunCommand(t, env, "catalog", "apply", "--allow-unset", path)
		took := time.Since(began)
		for name, replica := range map[string]*harness.Gateway{"first": g, "second": p.Gateway} {
			if a := replica.Call(t, "GET", "/v1/models/"+harness.CheapModel, ""); !strings.Contains(a.Body, "0.000000"+price[2:]) {
				t.Errorf("round %d: the %s replica does not serve the new price when the apply has ended: %s", round, name, a.Body)
			}
		}
		if status != 0 {
			t.Fatalf("status %d: %s", status, out)
		}
		t.Logf("round %d: the apply of %d models took %s", round, modelsMany, took)
	}
}
