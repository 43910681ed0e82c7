package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// keyVariable is the one environment variable from which sample code reads a key of the gateway.
const keyVariable = "UMG_API_KEY"

var anyKeyVariable = regexp.MustCompile(`\b[A-Z][A-Z0-9_]*_(?:API_KEY|AUTH_TOKEN|GATEWAY_KEY)\b`)

// otherKeyVariables are by file. Recipes of tools name the variables that the tools read, and texts about errors name those of providers.
var otherKeyVariables = map[string][]string{
	"README.md":                    {"OPENAI_API_KEY"},
	"views/home/arrival.go":        {"OPENAI_API_KEY"},
	"views/home/recipecoding.go":   {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "OPENAI_API_KEY"},
	"views/home/recipedata.go":     {"OPENAI_API_KEY"},
	"views/codesample/key.go":      {"YOUR_API_KEY"},
	"app/docs/pages/management.md": {"UMG_MANAGEMENT_KEY"},
}

// TestSampleCodeReadsTheKeyFromOneVariable looks for other variables in everything that shows code to callers.
func TestSampleCodeReadsTheKeyFromOneVariable(t *testing.T) {
	t.Parallel()
	root := projectRoot(t)
	files := []string{"README.md"}
	for _, pattern := range []string{
		"app/docs/pages/*.md", "app/apidocs/styles/*", "views/codesample/*.go", "views/home/*.go", "views/keys/*.templ", "views/models/*",
		"views/playground/*", "views/requests/*", "views/videos/*", "views/webhooks/*",
	} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		for _, path := range found {
			files = append(files, strings.TrimPrefix(filepath.ToSlash(path), root+"/"))
		}
	}
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, variable := range anyKeyVariable.FindAllString(string(text), -1) {
			if variable == keyVariable {
				seen++
			} else if !slices.Contains(otherKeyVariables[name], variable) {
				t.Errorf("%s reads the key from %s; use %s", name, variable, keyVariable)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d samples read %s", seen, keyVariable)
	}
}
