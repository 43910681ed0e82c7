package billing

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// reasons returns the constants of type Reason in this package, by name.
func reasons(t *testing.T) map[string]Reason {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "settlement.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Reason{}
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if kind, named := identName(v, ok); named && kind == "Reason" {
			text, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			found[v.Names[0].Name] = Reason(text)
		}
		return true
	})
	return found
}

func identName(v *ast.ValueSpec, ok bool) (string, bool) {
	if !ok || v.Type == nil {
		return "", false
	}
	id, ok := v.Type.(*ast.Ident)
	if !ok {
		return "", false
	}
	return id.Name, true
}

func TestEveryReasonHasARowAndEveryRowAReason(t *testing.T) {
	t.Parallel()
	rows := map[Reason]bool{}
	for _, r := range Rules() {
		rows[r.Reason] = true
		if RuleOf(r.Reason) != r {
			t.Errorf("the row of %s is another", r.Reason)
		}
	}
	all := reasons(t)
	if len(all) != len(rows) || len(all) < 30 {
		t.Errorf("%d reasons and %d rows", len(all), len(rows))
	}
	for name, reason := range all {
		if !rows[reason] {
			t.Errorf("%s has no row", name)
		}
	}
}

// TestEveryReasonIsReached searches the code that ends calls and jobs for each reason, because a row without a use would
// document a charge that never happens.
func TestEveryReasonIsReached(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	name := regexp.MustCompile(`billing\.(Reason[A-Za-z]+)`)
	for _, folder := range []string{"../app/gateway", "../app/video"} {
		paths, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			code, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range name.FindAllSubmatch(code, -1) {
				used[string(found[1])] = true
			}
		}
	}
	for name := range reasons(t) {
		if !used[name] {
			t.Errorf("nothing ends with %s", name)
		}
	}
}

func TestASettlementTableIsReadStrictly(t *testing.T) {
	t.Parallel()
	const good = `- {reason: a, outcome: failed, charge: nothing, estimated: false, recorded: true, when: x, text: y}`
	if _, err := parseRules([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for wrong, change := range map[string][2]string{
		"is not an outcome":      {"failed", "fails"},
		"is not a charge":        {"nothing", "something"},
		"is estimated":           {"estimated: false", "estimated: true"},
		"not found in type":      {"when: x", "when: x, why: z"},
		"a row says":             {", text: y", ""},
		"must be recorded":       {"nothing, estimated: false, recorded: true", "usage, estimated: false, recorded: false"},
		"already defined":        {"reason: a", "reason: a, reason: b"},
		"into bool":              {"recorded: true", "recorded: perhaps"},
		"has two rows":           {good, good + "\n" + good},
		"did not find":           {"- {", "- {{"},
		"cannot unmarshal !!map": {"- {", "{"},
	} {
		if _, err := parseRules([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
