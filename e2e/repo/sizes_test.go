package repo

import (
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// These are ceilings of the size of the project. A ceiling is only ever lowered.
const (
	structFieldsMax      = 25
	largeStructsMax      = 0
	readmeLinesMax       = 200
	oneCallerPerMilleMax = 421
	// The code grows with what the product does: a feature raises this bound in the commit that brings it, and nothing else does.
	handWrittenLinesMax = 214_096
)

// TestStructsAreSmall finds structs with too many fields. structs.txt names those that are a row of a table or an object of an API,
// which are flat by nature.
func TestStructsAreSmall(t *testing.T) {
	t.Parallel()
	allowed, count := map[string]bool{}, 0
	for _, line := range dataLines(t, "structs.txt") {
		name, reason, explained := strings.Cut(line, "\t")
		if allowed[name] = true; !explained || reason == "" {
			t.Errorf("structs.txt: %s has no reason", name)
		}
	}
	for _, s := range sources(t) {
		if s.test() || s.generated() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			structure, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			name := s.dir + "." + spec.Name.Name
			fields := structure.Fields.NumFields()
			if fields <= structFieldsMax {
				return true
			}
			if allowed[name] {
				delete(allowed, name)
				return true
			}
			count++
			t.Logf("%s:%d: %s has %d fields", s.path, s.line(spec.Pos()), name, fields)
			return true
		})
	}
	for name := range allowed {
		t.Errorf("structs.txt names %s, which is no struct of more than %d fields", name, structFieldsMax)
	}
	t.Logf("%d large structs", count)
	if count > largeStructsMax {
		t.Errorf("%d structs have more than %d fields, more than %d", count, structFieldsMax, largeStructsMax)
	}
}

func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(projectRoot(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Count(text, []byte("\n"))
	t.Logf("README has %d lines", lines)
	if lines > readmeLinesMax {
		t.Errorf("README has %d lines, more than %d", lines, readmeLinesMax)
	}
}

// TestFunctionsWithOneCaller counts the functions that a package does not export and uses once. Uses are counted by name, those in
// templates included.
func TestFunctionsWithOneCaller(t *testing.T) {
	t.Parallel()
	type packaged struct{ dir, name string }
	declared, uses := map[packaged]string{}, map[packaged]int{}
	for _, s := range sources(t) {
		if s.test() || strings.HasPrefix(s.dir, "e2e/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				uses[packaged{s.dir, id.Name}]++
			}
			return true
		})
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !s.generated() && fn.Recv == nil && !fn.Name.IsExported() && fn.Name.Name != "main" {
				declared[packaged{s.dir, fn.Name.Name}] = s.path
			}
		}
	}
	count, perPackage := 0, map[string]int{}
	for p := range declared {
		// The declaration is one of the two.
		if uses[p] == 2 {
			count++
			perPackage[p.dir]++
		}
	}
	t.Logf("%d of %d functions have one caller: %v", count, len(declared), perPackage)
	if share := 1000 * count / len(declared); share > oneCallerPerMilleMax {
		t.Errorf("%d of 1000 functions have one caller, more than %d", share, oneCallerPerMilleMax)
	}
}

// TestHandWrittenLines counts the lines of Go and templ that are neither generated nor tests.
func TestHandWrittenLines(t *testing.T) {
	t.Parallel()
	total, perFolder := 0, map[string]int{}
	for file, text := range texts(t) {
		top, _, _ := strings.Cut(file, "/")
		if !slices.Contains([]string{".go", ".templ"}, filepath.Ext(file)) || strings.HasSuffix(file, "_test.go") || top == "e2e" {
			continue
		}
		lines := strings.Count(text, "\n")
		total += lines
		perFolder[top] += lines
	}
	t.Logf("%d hand-written lines: %v", total, perFolder)
	if total > handWrittenLinesMax {
		t.Errorf("%d hand-written lines, more than %d", total, handWrittenLinesMax)
	}
}
