package repo

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestWalks follows three requests through the code as a person reads it: each function when it is first called, in the order of the
// calls. A return is a function in a file that the reader has left before. A climb is a function or an object of a package that it hands
// to a package below, which calls it. walks.txt has the rules and the bounds, which are only ever lowered.
func TestWalks(t *testing.T) {
	t.Parallel()
	rules := readWalkRules(t)
	p := newProgram(t, rules)
	for _, w := range rules.walks {
		r := walkReader{rules: rules, program: p, above: p.above(importMap(t)), read: map[*types.Func]bool{}, files: map[string]bool{}}
		for _, name := range w.starts {
			start := p.function(t, name)
			r.function(start, "", name)
		}
		slices.Sort(r.climbs)
		r.climbs = slices.Compact(r.climbs)
		t.Logf("%s: %d functions in %d files, %d returns, %d climbs", w.name, r.count, len(r.files), len(r.returns), len(r.climbs))
		t.Logf("%s returns to:\n\t%s", w.name, strings.Join(r.returns, "\n\t"))
		t.Logf("%s climbs by:\n\t%s", w.name, strings.Join(r.climbs, "\n\t"))
		if len(r.returns) > w.returnsMax || len(r.climbs) > w.climbsMax {
			t.Errorf("%s has %d returns and %d climbs, more than %d and %d: move a function to the file that calls it",
				w.name, len(r.returns), len(r.climbs), w.returnsMax, w.climbsMax)
		}
	}
}

// walkRules are the contents of walks.txt.
type walkRules struct {
	leftOut map[string]bool   // Of these packages, types and functions, no function is read.
	serves  map[string]string // Serves maps a method of an interface, or a field, to the function that serves its calls.
	walks   []requestWalk
}

type requestWalk struct {
	name                  string
	returnsMax, climbsMax int
	starts                []string
}

func readWalkRules(t *testing.T) walkRules {
	t.Helper()
	text, err := os.ReadFile("walks.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules := walkRules{leftOut: map[string]bool{}, serves: map[string]string{}}
	part := ""
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case !strings.HasPrefix(line, "\t"):
			if part = words[0]; len(words) == 3 {
				w := requestWalk{name: part}
				w.returnsMax, _ = strconv.Atoi(words[1])
				w.climbsMax, _ = strconv.Atoi(words[2])
				rules.walks = append(rules.walks, w)
			}
		case part == "left-out":
			rules.leftOut[words[0]] = true
		case part == "serves" && len(words) == 2:
			rules.serves[words[0]] = words[1]
		case len(rules.walks) > 0:
			w := &rules.walks[len(rules.walks)-1]
			w.starts = append(w.starts, words[0])
		default:
			t.Fatalf("walks.txt: %q belongs to no part", line)
		}
	}
	return rules
}

// walkReader is the person who reads.
type walkReader struct {
	rules   walkRules
	program *program
	above   map[string]map[string]bool // Above maps a package to the packages that import it, directly or not.
	read    map[*types.Func]bool
	files   map[string]bool
	at      *types.Func // The reader reads this function now.
	count   int         // Count is the number of functions.
	returns []string
	climbs  []string
}

// function reads a function that is called from a file, unless it was read before.
func (r *walkReader) function(f *types.Func, from, by string) {
	f = f.Origin()
	if of := receiver(f); types.IsInterface(of) {
		f = r.program.method(f, r.rules.serves[typeName(of)])
	}
	declared := r.program.declared[f]
	if declared == nil || r.read[f] || r.isLeftOut(f) {
		return
	}
	r.read[f] = true
	caller := r.at
	r.at = f
	defer func() { r.at = caller }()
	if r.isLeaf(declared) {
		r.node(declared.Body, from) // It may hand something down.
		return
	}
	r.count++
	file := r.program.file(declared)
	if file != from && r.files[file] {
		r.returns = append(r.returns, fmt.Sprintf("%s for %s, which %s of %s calls", file, functionName(f), by, from))
	}
	r.files[file] = true
	r.node(declared.Body, file)
}

// isLeftOut reports whether walks.txt leaves a function out. Functions that only make an error are left out as well.
func (r *walkReader) isLeftOut(f *types.Func) bool {
	name := functionName(f)
	typeName := name[:strings.LastIndexByte(name, '.')]
	results := f.Signature().Results()
	makesError := results.Len() == 1 && results.At(0).Type().String() == "*umg/app.Error"
	return makesError || r.rules.leftOut[name] || r.rules.leftOut[typeName] || r.rules.leftOut[packageName(f.Pkg())] ||
		strings.HasSuffix(r.program.file(r.program.declared[f]), "_templ.go")
}

// isLeaf reports whether a function calls no function of the project but such that are left out. A reader understands it by its name.
func (r *walkReader) isLeaf(f *ast.FuncDecl) bool {
	calls := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return !calls
		}
		if called, _ := r.program.info.Uses[id].(*types.Func); called != nil && packageName(called.Pkg()) != "" {
			called = called.Origin()
			calls = calls || r.program.declared[called] == nil || !r.isLeftOut(called)
		}
		return !calls
	})
	return !calls
}

// node reads a part of a function in the order in which it runs. It leaves out what follows a failure.
func (r *walkReader) node(part ast.Node, file string) {
	ast.Inspect(part, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if n.Init != nil {
				r.node(n.Init, file)
			}
			if r.node(n.Cond, file); !r.program.isFailure(n.Cond) {
				r.node(n.Body, file)
			}
			if n.Else != nil {
				r.node(n.Else, file)
			}
			return false
		case *ast.CallExpr: // The arguments are computed first.
			function, isMethod := n.Fun.(*ast.SelectorExpr)
			if isMethod {
				r.node(function.X, file)
			}
			for _, argument := range n.Args {
				r.node(argument, file)
			}
			r.findHandedDown(n)
			if isMethod {
				r.called(function.Sel, r.fieldName(function), file)
			} else {
				r.node(n.Fun, file)
			}
			return false
		case *ast.CompositeLit:
			r.findHandedFields(n)
		case *ast.ReturnStmt:
			r.findReturned(n)
		case *ast.Ident:
			r.called(n, "", file)
		}
		return true
	})
}

// called reads the function that an identifier names, or that serves calls of a field.
func (r *walkReader) called(id *ast.Ident, field, file string) {
	f, _ := r.program.info.Uses[id].(*types.Func)
	if f == nil {
		f = r.program.functions[r.rules.serves[field]]
	}
	if f != nil {
		r.function(f, file, r.at.Name())
	}
}

// fieldName is the name of the field that an expression selects; empty for a method.
func (r *walkReader) fieldName(s *ast.SelectorExpr) string {
	selection := r.program.info.Selections[s]
	if selection == nil || selection.Kind() != types.FieldVal {
		return ""
	}
	return typeName(selection.Recv()) + "." + s.Sel.Name
}

// findHandedDown finds arguments of a call by which a package below calls back.
func (r *walkReader) findHandedDown(call *ast.CallExpr) {
	f := r.program.callee(call)
	if f == nil {
		return
	}
	parameters := f.Signature().Params()
	for i, argument := range call.Args {
		if i < parameters.Len() {
			r.handDown(argument, parameters.At(i).Type(), f.Pkg(), functionName(f)+"("+parameters.At(i).Name()+")")
		}
	}
}

// findHandedFields finds fields of a value of a package below by which it calls back.
func (r *walkReader) findHandedFields(l *ast.CompositeLit) {
	t := r.program.info.TypeOf(l)
	structure, ok := t.Underlying().(*types.Struct)
	named, isNamed := types.Unalias(t).(*types.Named)
	if !ok || !isNamed {
		return
	}
	for _, element := range l.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		name := pair.Key.(*ast.Ident).Name
		for field := range structure.Fields() {
			if field.Name() == name {
				r.handDown(pair.Value, field.Type(), named.Obj().Pkg(), typeName(t)+"."+name)
			}
		}
	}
}

// findReturned finds results that are an interface of a package below.
func (r *walkReader) findReturned(s *ast.ReturnStmt) {
	results := r.at.Signature().Results()
	for i, result := range s.Results {
		if i < results.Len() && len(s.Results) == results.Len() {
			r.handDown(result, results.At(i).Type(), r.at.Pkg(), "")
		}
	}
}

// handDown counts a climb when a value of the package that is read is a function or an interface of a package below it.
func (r *walkReader) handDown(value ast.Expr, to types.Type, below *types.Package, seam string) {
	own, ofBelow := packageName(r.at.Pkg()), packageName(below)
	switch shape := to.Underlying().(type) {
	case *types.Signature:
		if id := lastIdent(value); id != nil {
			f, _ := r.program.info.Uses[id].(*types.Func)
			if f == nil || f.Pkg() != r.at.Pkg() {
				return
			}
		} else if _, isLiteral := value.(*ast.FuncLit); !isLiteral {
			return
		}
		own = functionName(r.at)
	case *types.Interface:
		name := typeName(to)
		if shape.NumMethods() == 0 || r.rules.leftOut[name] || r.rules.leftOut[typeName(r.program.info.TypeOf(value))] || !strings.HasPrefix(typeName(r.program.info.TypeOf(value)), own+".") ||
			types.IsInterface(r.program.info.TypeOf(value)) {
			return
		}
		if named, ok := types.Unalias(to).(*types.Named); ok && packageName(named.Obj().Pkg()) != "" {
			seam, ofBelow = name, packageName(named.Obj().Pkg())
		}
	default:
		return
	}
	if ofBelow != "" && !r.rules.leftOut[ofBelow] && r.above[ofBelow][packageName(r.at.Pkg())] {
		r.climbs = append(r.climbs, own+" by "+seam)
	}
}

// lastIdent is the name that an expression ends with; nil when it is no name.
func lastIdent(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	}
	return nil
}
