package audit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"umg/app/audit"
)

var actionForm = regexp.MustCompile(`^(key|member|invitation|account|webhook|billing|asset|prompt|content|job|user)\.[a-z]+(_[a-z]+)*$`)

func TestEveryActionHasWordsAndAKind(t *testing.T) {
	t.Parallel()
	seen := map[audit.Action]bool{}
	for _, k := range audit.Actions() {
		if seen[k.Action] || !actionForm.MatchString(string(k.Action)) || k.Words == "" || k.Object == "" || audit.Describe(k.Action) != k {
			t.Errorf("%+v", k)
		}
		seen[k.Action] = true
		kinds := 0
		for _, kind := range audit.Kinds() {
			if strings.HasPrefix(string(k.Action), string(kind.Actions)) {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%s is of %d kinds", k.Action, kinds)
		}
	}
	if got := audit.Describe("space_ship.landed_twice"); got.Words != "landed twice" || got.Object != "space ship" {
		t.Errorf("an action of a later version is %+v", got)
	}
}

// What writes to the log names its actions in texts, so a text of that form in a folder that uses the log is an action.
func TestEveryActionThatIsWrittenIsKnown(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, k := range audit.Actions() {
		known[string(k.Action)] = true
	}
	folders := map[string][]string{} // the texts in each folder
	uses := map[string]bool{}
	err := filepath.WalkDir("../..", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "..") || name == "node_modules" || name == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_templ.go") {
			return nil
		}
		source, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := filepath.Dir(p)
		for _, i := range file.Imports {
			if i.Path.Value == `"umg/app/audit"` {
				uses[folder] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && actionForm.MatchString(text) {
					folders[folder] = append(folders[folder], text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(uses) == 0 {
		t.Fatal("nothing uses the log, or it was not found")
	}
	for folder := range uses {
		for _, text := range folders[folder] {
			if !known[text] {
				t.Errorf("%s writes %q, which has no words", folder, text)
			}
		}
	}
}
