package repo

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// goroutineComment is the form of the comment above a statement that starts a goroutine: it names the owner and the end.
var goroutineComment = regexp.MustCompile(`^// goroutine: .*\b(ends|until)\b.*\.$`)

// TestLayoutGoroutinesHaveAnOwner wants a comment directly above each go statement, and each call of Go with a function, of a
// WaitGroup or an errgroup. No goroutine is started that no one waits for or ends.
func TestLayoutGoroutinesHaveAnOwner(t *testing.T) {
	t.Parallel()
	count := 0
	for _, s := range sources(t) {
		if s.generated() || s.test() {
			continue
		}
		lines := strings.Split(string(s.text), "\n")
		ast.Inspect(s.file, func(n ast.Node) bool {
			if n == nil || !startsGoroutine(n) {
				return true
			}
			count++
			at := s.line(n.Pos())
			if above := strings.TrimSpace(lines[at-2]); !goroutineComment.MatchString(above) {
				t.Errorf("%s:%d starts a goroutine without a comment \"// goroutine: …\" above it that says who owns it and when it ends", s.path, at)
			}
			return true
		})
	}
	t.Logf("%d goroutines", count)
}

func startsGoroutine(n ast.Node) bool {
	if _, ok := n.(*ast.GoStmt); ok {
		return true
	}
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Go" {
		return false
	}
	_, literal := call.Args[0].(*ast.FuncLit)
	return literal
}
