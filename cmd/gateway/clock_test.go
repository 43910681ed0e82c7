package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// localClocks are the packages that measure durations on this machine, or share nothing with other replicas. All others use
// the database's clock.
var localClocks = []string{
	"postgres.NewClock", "health.Options", "pulse.Options", "arrival.New", "storage.Open", "gateway.Options", "api.Options", "console.Options",
	"server.Options", "lease.Options", "lease.OpenBank", "journal.Options", "ratelimit.Options", "ratelimit.AddressOptions",
}

// TestPartsThatShareTheStoreUseItsClock reads the wiring of the server.
func TestPartsThatShareTheStoreUseItsClock(t *testing.T) {
	t.Parallel()
	found := 0
	for _, name := range []string{"serve.go", "money.go", "notices.go", "limits.go"} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		var within []string
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				within = within[:len(within)-1]
				return true
			}
			part := ""
			if len(within) > 0 {
				part = within[len(within)-1]
			}
			switch n := n.(type) {
			case *ast.CompositeLit:
				part = selected(n.Type)
			case *ast.CallExpr:
				part = selected(n.Fun)
			case *ast.SelectorExpr:
				if selected(n) == "time.Now" && part != "time.Now" {
					found++
					if !slices.Contains(localClocks, part) {
						t.Errorf("%s: %s gets the clock of this machine", set.Position(n.Pos()), part)
					}
				}
			}
			within = append(within, part)
			return true
		})
	}
	if found == 0 {
		t.Error("no clock was found in the wiring")
	}
}

// selected is the name of a package and of what is taken from it.
func selected(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if from, ok := s.X.(*ast.Ident); ok {
		return from.Name + "." + s.Sel.Name
	}
	return ""
}
