// Package repo holds the tests of the source code itself: its layout, its imports and its words.
package repo

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// These limits keep files, functions and interfaces small enough to read at once.
const (
	functionLinesMax    = 70
	fileLinesMax        = 500
	interfaceMethodsMax = 5
	lineCharsMax        = 140
)

// topLevel is everything that may stand in the project's root, except dotfiles.
var topLevel = []string{
	"cmd", "app", "views", "static", "api", "billing", "migrations", "e2e",
	"Makefile", "go.mod", "go.sum", "README.md", "Dockerfile", "compose.yaml", "bin",
}

type source struct {
	// path is slash-separated and begins at the root of the module.
	path string
	dir  string
	text []byte
	file *ast.File
	fset *token.FileSet
}

func (s source) generated() bool { return strings.HasSuffix(s.path, "_templ.go") }
func (s source) test() bool      { return strings.HasSuffix(s.path, "_test.go") }

func (s source) line(p token.Pos) int { return s.fset.Position(p).Line }

// sources are all Go files of the main module.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parseSources()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parseSources parses every Go file of the main module, once for all tests.
var parseSources = sync.OnceValues(func() ([]source, error) {
	var all []source
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata" || rel == "e2e/sdk/go") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{path: rel, dir: path.Dir(rel), text: text, file: file, fset: fset})
		return nil
	})
	if err == nil && len(all) == 0 {
		err = errors.New("no sources found")
	}
	return all, err
})

// importMap reads imports.txt: package → the packages of this module that it may import.
func importMap(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("imports.txt")
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string][]string{}
	var current string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch imported, indented := strings.CutPrefix(line, "\t"); {
		case line == "" || strings.HasPrefix(line, "#"):
		case !indented:
			if _, twice := allowed[line]; twice {
				t.Errorf("imports.txt names %s twice", line)
			}
			current, allowed[line] = line, []string{}
		case current == "":
			t.Fatalf("imports.txt: %s stands below no package", imported)
		default:
			allowed[current] = append(allowed[current], imported)
		}
	}
	return allowed
}

func TestLayoutTopLevel(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(projectRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(topLevel, e.Name()) {
			t.Errorf("%s does not belong in the root", e.Name())
		}
	}
}

func TestLayoutImportsFollowTheMap(t *testing.T) {
	t.Parallel()
	allowedImports := importMap(t)
	seen := map[string]bool{}
	for _, s := range sources(t) {
		allowed, onMap := allowedImports[s.dir]
		if !onMap {
			t.Errorf("%s: package %s is not in imports.txt", s.path, s.dir)
			continue
		}
		seen[s.dir] = true
		if s.test() {
			continue
		}
		for _, imp := range s.file.Imports {
			name, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), "umg/")
			if ours && !slices.Contains(allowed, name) && !slices.Contains(allowed, "*") {
				t.Errorf("%s may not import %s", s.path, name)
			}
		}
	}
	for name := range allowedImports {
		if !seen[name] {
			t.Errorf("imports.txt names %s, which has no Go files", name)
		}
	}
}

// TestLayoutWebFrameworkStaysInItsFiles keeps the move to another version of the web framework mechanical, and its
// middlewares with known holes out.
func TestLayoutWebFrameworkStaysInItsFiles(t *testing.T) {
	t.Parallel()
	frameworkFiles := []string{"api/echo.go", "app/console/echo.go", "app/server/echo.go"}
	// Only tests use the last two.
	programs := []string{"app/postgres/local", "app/media", "app/ratelimit/redistest", "e2e/harness"}
	banned := regexp.MustCompile(`middleware\.(Proxy|BodyDump|Decompress)`)
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, imp := range s.file.Imports {
			if strings.Contains(imp.Path.Value, "labstack/echo") && !slices.Contains(frameworkFiles, s.path) {
				t.Errorf("%s imports the web framework", s.path)
			}
			if strings.Contains(imp.Path.Value, `"os/exec"`) && !slices.Contains(programs, s.dir) {
				t.Errorf("%s may not run programs", s.path)
			}
		}
		if m := banned.Find(s.text); m != nil {
			t.Errorf("%s uses %s", s.path, m)
		}
	}
}

func TestLayoutSizes(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.generated() {
			continue
		}
		if n := bytes.Count(s.text, []byte("\n")); n > fileLinesMax {
			t.Errorf("%s has %d lines, more than %d", s.path, n, fileLinesMax)
		}
		for i, line := range strings.Split(string(s.text), "\n") {
			// Tests may have longer lines, because a request body is easier to read unbroken.
			if n := len([]rune(line)); n > lineCharsMax && !s.test() {
				t.Errorf("%s:%d has %d characters, more than %d", s.path, i+1, n, lineCharsMax)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := s.line(n.End()) - s.line(n.Pos()) + 1; lines > functionLinesMax {
					t.Errorf("%s: %s has %d lines, more than %d", s.path, n.Name.Name, lines, functionLinesMax)
				}
			case *ast.InterfaceType:
				if n.Methods.NumFields() > interfaceMethodsMax {
					t.Errorf("%s:%d: an interface of %d methods", s.path, s.line(n.Pos()), n.Methods.NumFields())
				}
			}
			return true
		})
	}
}

func TestLayoutNoHiddenState(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.generated() {
			continue
		}
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function", s.path)
			}
		}
		if !s.test() {
			noAssignedPackageState(t, s)
		}
	}
}

// noAssignedPackageState allows package variables only as constants that Go cannot express: nothing may assign to
// one after its declaration.
func noAssignedPackageState(t *testing.T, s source) {
	t.Helper()
	global := map[string]bool{}
	for _, d := range s.file.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				global[name.Name] = true
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || assign.Tok == token.DEFINE {
			return true
		}
		for _, left := range assign.Lhs {
			id, ok := left.(*ast.Ident)
			if ok && global[id.Name] && (id.Obj == nil || id.Obj.Decl == nil || s.file.Scope.Lookup(id.Name) == id.Obj) {
				t.Errorf("%s:%d assigns to the package variable %s", s.path, s.line(assign.Pos()), id.Name)
			}
		}
		return true
	})
}

func TestLayoutMoneyHasNoFloats(t *testing.T) {
	t.Parallel()
	float := regexp.MustCompile(`\bfloat(32|64)\b|\bParseFloat\b|\bFormatFloat\b`)
	for _, s := range sources(t) {
		money := s.dir == "billing" || strings.HasPrefix(s.dir, "billing/") || s.path == "app/amount.go"
		if money && !s.test() && float.Match(s.text) {
			t.Errorf("%s mentions %s", s.path, float.Find(s.text))
		}
	}
}

func TestLayoutEveryPackageAndExportIsExplained(t *testing.T) {
	t.Parallel()
	explained, present := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.test() || s.generated() {
			continue
		}
		present[s.dir] = true
		if s.file.Doc != nil {
			explained[s.dir] = true
		}
		for _, d := range s.file.Decls {
			for _, name := range unexplained(d) {
				t.Errorf("%s:%d: exported %s has no comment", s.path, s.line(d.Pos()), name)
			}
		}
	}
	for dir := range present {
		if !explained[dir] {
			t.Errorf("package %s has no doc comment", dir)
		}
	}
}

// unexplained lists the exported names a declaration introduces without a comment. A comment on a group speaks for
// all of its members, and a line comment for its member.
func unexplained(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || exportedReceiver(d.Recv)) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT || d.Doc != nil {
			return nil
		}
		var names []string
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && spec.Doc == nil && spec.Comment == nil {
					names = append(names, spec.Name.Name)
				}
			case *ast.ValueSpec:
				if spec.Names[0].IsExported() && spec.Doc == nil && spec.Comment == nil {
					names = append(names, spec.Names[0].Name)
				}
			}
		}
		return names
	}
	return nil
}

func exportedReceiver(list *ast.FieldList) bool {
	expr := list.List[0].Type
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	if generic, ok := expr.(*ast.IndexExpr); ok {
		expr = generic.X
	}
	id, ok := expr.(*ast.Ident)
	return ok && id.IsExported()
}

// TestLayoutSpeaksOnlyOfTheProduct keeps addresses of registries and paths of a developer's machine out of the tree.
func TestLayoutSpeaksOnlyOfTheProduct(t *testing.T) {
	t.Parallel()
	hosts := []string{"registry." + "npmjs.org", "proxy." + "golang.org", "deb." + "debian.org", "/" + "work/", "../" + "shared"}
	root := projectRoot(t)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == ".git" || name == "node_modules" || name == ".tools" || name == ".data" || name == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return nil
		}
		for _, host := range hosts {
			if bytes.Contains(text, []byte(host)) {
				rel, _ := filepath.Rel(root, p)
				t.Errorf("%s mentions %s", rel, host)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func projectRoot(t testing.TB) string {
	t.Helper()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func findRoot() (string, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return "", fmt.Errorf("the tests must run inside the project: %w", err)
	}
	return root, nil
}
