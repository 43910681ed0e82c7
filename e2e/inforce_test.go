package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// modelsMany is how many models the largest catalogs have that people use.
const modelsMany = 557

// TestAPICatalogIsInForceWhenApplyEnds applies catalogs of many models while two replicas serve, and asks both for the new
// price at once.
func TestAPICatalogIsInForceWhenApplyEnds(t *testing.T) {
	t.Parallel()
	g := start(t)
	p := serve(t, g)
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	env := []string{"DATABASE_URL=" + g.databaseURL(t)}
	text, _ := run(t, env, "catalog", "export")
	var file map[string]any
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	models, _ := file["models"].([]any)
	var pattern map[string]any
	for _, m := range models {
		if m, _ := m.(map[string]any); m["id"] == cheapModel {
			pattern = m
		}
	}
	for i := len(models); i < modelsMany; i++ {
		copied := maps.Clone(pattern)
		copied["id"] = fmt.Sprintf("meridian/copy-%d", i)
		models = append(models, copied)
	}
	file["models"] = models
	path := filepath.Join(dataDir(t), "catalog.yaml")
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
		out, status := run(t, env, "catalog", "apply", "--allow-unset", path)
		took := time.Since(began)
		for name, replica := range map[string]*gateway{"first": g, "second": p.gateway} {
			if a := replica.call(t, "GET", "/v1/models/"+cheapModel, ""); !strings.Contains(a.body, "0.000000"+price[2:]) {
				t.Errorf("round %d: the %s replica does not serve the new price when the apply has ended: %s", round, name, a.body)
			}
		}
		if status != 0 {
			t.Fatalf("status %d: %s", status, out)
		}
		t.Logf("round %d: the apply of %d models took %s", round, modelsMany, took)
	}
}
