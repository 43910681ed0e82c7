package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// architectureRow is a row of the table of packages of ARCHITECTURE.md: the name of the package in code.
var architectureRow = regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\| .+ \\|$")

// TestLayoutArchitectureListsEveryPackage compares the table of packages in ARCHITECTURE.md with imports.txt.
func TestLayoutArchitectureListsEveryPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(projectRoot(t), ".github", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, begins := strings.Cut(string(text), "\n## Packages\n")
	table, _, ends := strings.Cut(table, "\n## Glossary\n")
	if !begins || !ends {
		t.Fatal("ARCHITECTURE.md has no part about packages, before its glossary")
	}
	listed := map[string]bool{}
	for _, m := range architectureRow.FindAllStringSubmatch(table, -1) {
		listed[m[1]] = true
	}
	packages := importMap(t)
	for name := range packages {
		if !listed[name] {
			t.Errorf("the table of packages in ARCHITECTURE.md has no row for %s", name)
		}
	}
	for name := range listed {
		if _, known := packages[name]; !known {
			t.Errorf("the table of packages in ARCHITECTURE.md names %s, which is no package of imports.txt", name)
		}
	}
}
