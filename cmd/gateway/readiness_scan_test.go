package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sourceRoots are the folders whose code answers calls.
var sourceRoots = []string{"../../api", "../../app", "../../billing", "../../cmd"}

// refusals lists each place at which the product is unavailable, as PACKAGE.FUNCTION: CODE, the packages with errors of the
// database, as PACKAGE: postgres.StoreError, and the named reasons of admission control and the journal, as PACKAGE.reason: NAME.
func refusals(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, root := range sourceRoots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
			for _, d := range file.Decls {
				found = append(found, refusalsIn(dir, d)...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func refusalsIn(dir string, d ast.Decl) (found []string) {
	switch d := d.(type) {
	case *ast.GenDecl:
		for _, name := range reasonsIn(d) {
			found = append(found, dir+".reason: "+name)
		}
	case *ast.FuncDecl:
		ast.Inspect(d, func(n ast.Node) bool {
			code := ""
			switch n := n.(type) {
			case *ast.CallExpr:
				code = refusalCode(n)
			case *ast.KeyValueExpr:
				if types(n.Key) == "Kind" && types(n.Value) == "app.Unavailable" {
					code = "computed"
				}
			}
			switch code {
			case "":
			case "postgres.StoreError": // A package calls it in many functions for the same reason.
				found = append(found, dir+": "+code)
			default:
				found = append(found, dir+"."+d.Name.Name+": "+code)
			}
			return true
		})
	}
	return found
}

// reasonsIn lists the constants of a block whose first one has the type reason.
func reasonsIn(d *ast.GenDecl) (names []string) {
	if d.Tok != token.CONST || len(d.Specs) == 0 {
		return nil
	}
	first, ok := d.Specs[0].(*ast.ValueSpec)
	if !ok || first.Type == nil || types(first.Type) != "reason" {
		return nil
	}
	for _, s := range d.Specs {
		if s, ok := s.(*ast.ValueSpec); ok {
			for _, name := range s.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// refusalCode is the code of the error that a call expression makes: app.Errorf of kind Unavailable, or a function that makes
// one.
func refusalCode(call *ast.CallExpr) string {
	switch types(call.Fun) {
	case "app.Errorf":
		if len(call.Args) > 1 && types(call.Args[0]) == "app.Unavailable" {
			if literal, ok := call.Args[1].(*ast.BasicLit); ok {
				code, _ := strconv.Unquote(literal.Value)
				return code
			}
			return "computed"
		}
	case "app.ErrStore", "postgres.StoreError", "errAway", "unavailable", "errTooManyTakes":
		return types(call.Fun)
	}
	return ""
}

// types formats a name or a selector.
func types(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return types(e.X) + "." + e.Sel.Name
	}
	return ""
}
