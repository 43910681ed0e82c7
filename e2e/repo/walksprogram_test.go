package repo

import (
	"cmp"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program has the packages of the project, with their types.
type program struct {
	root      string
	fset      *token.FileSet
	info      types.Info
	packages  map[string]*types.Package
	declared  map[*types.Func]*ast.FuncDecl
	functions map[string]*types.Func
	methods   map[*types.Func]*types.Func // Methods has what method has found.
	others    types.Importer              // Others imports what is no part of the project, from what the compiler has written of it.
}

// newProgram checks the packages of the functions at which the walks begin, and those below them.
func newProgram(t *testing.T, rules walkRules) *program {
	t.Helper()
	p := &program{
		root: projectRoot(t), fset: token.NewFileSet(), packages: map[string]*types.Package{},
		info: types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
		},
		declared: map[*types.Func]*ast.FuncDecl{}, functions: map[string]*types.Func{}, methods: map[*types.Func]*types.Func{},
	}
	p.others = importer.ForCompiler(p.fset, "gc", exportData(t))
	for _, w := range rules.walks {
		for _, start := range w.starts {
			folder, name := path.Split(start)
			of, _, _ := strings.Cut(name, ".")
			if _, err := p.Import("umg/" + folder + of); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}

// exportData opens what the compiler has written of the packages that the project imports.
func exportData(t *testing.T) importer.Lookup {
	t.Helper()
	others := map[string]bool{}
	for _, s := range sources(t) {
		for _, imp := range s.file.Imports {
			path := strings.Trim(imp.Path.Value, `"`)
			if !s.test() && !strings.HasPrefix(s.dir, "e2e/") && !strings.HasPrefix(path, "umg/") {
				others[path] = true
			}
		}
	}
	arguments := append([]string{"list", "-export", "-f", "{{.ImportPath}} {{.Export}}"}, slices.Sorted(maps.Keys(others))...)
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]string{}
	for line := range strings.Lines(string(output)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		written[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(written[path]) }
}

// Import checks a package of the project and what it imports.
func (p *program) Import(path string) (*types.Package, error) {
	name, ours := strings.CutPrefix(path, "umg/")
	if !ours {
		return p.others.Import(path)
	}
	if known := p.packages[path]; known != nil {
		return known, nil
	}
	folder, err := build.ImportDir(filepath.Join(p.root, name), 0)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, file := range folder.GoFiles {
		parsed, err := parser.ParseFile(p.fset, filepath.Join(folder.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, parsed)
	}
	checked, err := (&types.Config{Importer: p}).Check(path, p.fset, files, &p.info)
	if err != nil {
		return nil, err
	}
	p.packages[path] = checked
	for _, file := range files {
		for _, d := range file.Decls {
			if declared, ok := d.(*ast.FuncDecl); ok && declared.Body != nil {
				f := p.info.Defs[declared.Name].(*types.Func)
				p.declared[f], p.functions[functionName(f)] = declared, f
			}
		}
	}
	return checked, nil
}

// function is the function of a name, such as app/gateway.Gateway.Generate.
func (p *program) function(t *testing.T, name string) *types.Func {
	t.Helper()
	f := p.functions[name]
	if f == nil {
		t.Fatalf("walks.txt names %s, which is no function", name)
	}
	return f
}

// file is the path of the file in which a function is declared.
func (p *program) file(f *ast.FuncDecl) string {
	rel, _ := filepath.Rel(p.root, p.fset.Position(f.Pos()).Filename)
	return filepath.ToSlash(rel)
}

// callee is the function that a call names; nil for a value.
func (p *program) callee(call *ast.CallExpr) *types.Func {
	id := lastIdent(call.Fun)
	if id == nil {
		return nil
	}
	f, _ := p.info.Uses[id].(*types.Func)
	return f
}

// method is the method that a call of an interface's method reaches: that of the type of this name or, when it is empty, of the only
// type of the project that has the interface. Without such a type it is the method of the interface, which has no code.
func (p *program) method(f *types.Func, of string) *types.Func {
	if known := p.methods[f]; known != nil {
		return known
	}
	shape := receiver(f).Underlying().(*types.Interface)
	var found []*types.Func
	for _, pkg := range p.packages {
		for _, name := range pkg.Scope().Names() {
			declared, ok := pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || declared.IsAlias() || types.IsInterface(declared.Type()) || of != "" && of != typeName(declared.Type()) {
				continue
			}
			if pointer := types.NewPointer(declared.Type()); types.Implements(pointer, shape) {
				method, _, _ := types.LookupFieldOrMethod(pointer, false, f.Pkg(), f.Name())
				found = append(found, method.(*types.Func))
			}
		}
	}
	if p.methods[f] = f; len(found) == 1 && packageName(f.Pkg()) != "" {
		p.methods[f] = found[0]
	}
	return p.methods[f]
}

// isFailure reports whether a condition says that there is an error.
func (p *program) isFailure(condition ast.Expr) bool {
	both, ok := condition.(*ast.BinaryExpr)
	if !ok {
		return false
	}
	if both.Op == token.LAND || both.Op == token.LOR {
		return p.isFailure(both.X) || p.isFailure(both.Y)
	}
	failure := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	right, isName := both.Y.(*ast.Ident)
	return both.Op == token.NEQ && isName && right.Name == "nil" && types.Implements(p.info.TypeOf(both.X), failure)
}

// above finds the packages that may import each package, directly or not.
func (p *program) above(allowed map[string][]string) map[string]map[string]bool {
	above := map[string]map[string]bool{}
	var note func(name, importer string)
	note = func(name, importing string) {
		if above[name] == nil {
			above[name] = map[string]bool{}
		}
		if above[name][importing] {
			return
		}
		above[name][importing] = true
		for _, further := range allowed[name] {
			note(further, importing)
		}
	}
	for importing, names := range allowed {
		for _, name := range names {
			note(name, importing)
		}
	}
	return above
}

// receiver is the type of which a function is a method, without its pointer.
func receiver(f *types.Func) types.Type {
	recv := f.Signature().Recv()
	if recv == nil {
		return types.Typ[types.Invalid]
	}
	t := types.Unalias(recv.Type())
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	return t
}

// functionName is the name of a function with its package and its type.
func functionName(f *types.Func) string {
	if f.Signature().Recv() == nil {
		return packageName(f.Pkg()) + "." + f.Name()
	}
	return typeName(receiver(f)) + "." + f.Name()
}

// typeName is the name of a type with its package.
func typeName(t types.Type) string {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return ""
	}
	return cmp.Or(packageName(named.Obj().Pkg()), "std") + "." + named.Obj().Name()
}

// packageName is the path of a package within the project; empty for other packages.
func packageName(p *types.Package) string {
	if p == nil {
		return ""
	}
	name, ours := strings.CutPrefix(p.Path(), "umg/")
	if !ours {
		return ""
	}
	return name
}
