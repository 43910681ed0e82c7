package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	shellBlock     = regexp.MustCompile("(?ms)^```bash\n(.*?)^```$")
	commandSpan    = regexp.MustCompile("`(?:[A-Z_]+=\\S+ )?gateway ([a-z][^`]*)`")
	commandLine    = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )?gateway ([a-z].*)$`)
	flagOfCommand  = regexp.MustCompile(`(?:^| )--([a-z][a-z0-9-]*)`)
	pageOfOperator = regexp.MustCompile(`Operator → ([A-Z][A-Za-z ]*)`)
	tabOfOperator  = regexp.MustCompile(`Text: "([^"]+)"`)
	labelInGuide   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	capitalInside  = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)
)

// commandTree is a command of the gateway with the commands below it and its flags.
type commandTree struct {
	below map[string]*commandTree
	flags map[string]bool
}

// gatewayCommands reads the commands and flags from the structs that define the command line.
func gatewayCommands(t *testing.T) *commandTree {
	t.Helper()
	structs := map[string]*ast.StructType{}
	files, err := filepath.Glob("../../cmd/gateway/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	root := &commandTree{below: map[string]*commandTree{}, flags: map[string]bool{"help": true}}
	root.read(structs, "commands")
	return root
}

// read adds the fields of a struct: commands below this one, and flags. A field without a name has the fields of its type.
func (c *commandTree) read(structs map[string]*ast.StructType, name string) {
	s := structs[name]
	if s == nil {
		return
	}
	for _, field := range s.Fields.List {
		kind, _ := field.Type.(*ast.Ident)
		var tag reflect.StructTag
		if field.Tag != nil {
			tag = reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
		}
		_, isEmbedded := tag.Lookup("embed")
		if kind != nil && (len(field.Names) == 0 || isEmbedded) {
			c.read(structs, kind.Name)
			continue
		}
		for _, ident := range field.Names {
			if !ident.IsExported() {
				continue
			}
			word := tag.Get("name")
			if word == "" {
				word = strings.ToLower(capitalInside.ReplaceAllString(ident.Name, "$1$3-$2$4"))
			}
			if _, isCommand := tag.Lookup("cmd"); !isCommand || kind == nil {
				c.flags[word] = true
				continue
			}
			child := &commandTree{below: map[string]*commandTree{}, flags: map[string]bool{"help": true}}
			child.read(structs, kind.Name)
			c.below[word] = child
		}
	}
}

// find follows the words of a command line. It returns the last command, and the first word that should be a command and is none.
func (c *commandTree) find(line string) (found *commandTree, unknown string) {
	for word := range strings.FieldsSeq(line) {
		if len(c.below) == 0 {
			return c, ""
		}
		next := c.below[strings.TrimRight(word, ",.;")]
		if next == nil {
			return c, word
		}
		c = next
	}
	return c, ""
}

// TestDocumentsNameCommandsAndFlagsThatExist looks for each command line of the documents among the commands of the gateway.
func TestDocumentsNameCommandsAndFlagsThatExist(t *testing.T) {
	t.Parallel()
	root, found := gatewayCommands(t), 0
	for _, file := range documents(t) {
		if filepath.Base(file) == "upgrade.md" {
			continue // It has names of earlier versions.
		}
		for _, line := range commandLines(t, file) {
			found++
			command, unknown := root.find(line)
			if unknown != "" && !strings.HasPrefix(unknown, "-") && unknown != "COMMAND" {
				t.Errorf("%s: gateway %s: there is no command %q", file, line, unknown)
				continue
			}
			for _, m := range flagOfCommand.FindAllStringSubmatch(line, -1) {
				if !command.flags[m[1]] {
					t.Errorf("%s: gateway %s: there is no flag --%s", file, line, m[1])
				}
			}
		}
	}
	if found < 60 {
		t.Errorf("only %d command lines are found", found)
	}
}

// commandLines are the commands of the gateway in the code of a document, without its name.
func commandLines(t *testing.T, file string) (lines []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			if m := commandLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				lines = append(lines, m[1])
			}
		}
	}
	for _, m := range commandSpan.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		lines = append(lines, m[1])
	}
	return lines
}

// TestTheGuideNamesPagesAndLabelsThatExist looks for the pages of operators that the guide names among the tabs, and for the labels of
// buttons, which are bold, in the pages.
func TestTheGuideNamesPagesAndLabelsThatExist(t *testing.T) {
	t.Parallel()
	layout, err := os.ReadFile("../../views/operatorlayout.templ")
	if err != nil {
		t.Fatal(err)
	}
	var tabs []string
	for _, m := range tabOfOperator.FindAllStringSubmatch(string(layout), -1) {
		tabs = append(tabs, m[1])
	}
	views, pages, labels := viewsText(t), 0, 0
	guide, err := filepath.Glob("../../app/docs/operator/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range guide {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := codeBlock.ReplaceAllString(string(raw), "")
		for _, m := range pageOfOperator.FindAllStringSubmatch(text, -1) {
			pages++
			if !slices.ContainsFunc(tabs, func(tab string) bool { return m[1] == tab || strings.HasPrefix(m[1], tab+" ") }) {
				t.Errorf("%s names the page Operator → %s, which is not one of %q", filepath.Base(file), m[1], tabs)
			}
		}
		for _, m := range labelInGuide.FindAllStringSubmatch(text, -1) {
			if strings.HasSuffix(m[1], ".") {
				continue // It is a sentence.
			}
			labels++
			if !strings.Contains(views, m[1]) {
				t.Errorf("%s names the button %q, which no page has", filepath.Base(file), m[1])
			}
		}
	}
	if pages < 30 || labels < 4 || len(tabs) < 8 {
		t.Errorf("only %d pages, %d labels and %d tabs are found", pages, labels, len(tabs))
	}
}

// viewsText is the source of the pages.
func viewsText(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("../../views", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".templ") && !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasSuffix(path, "_templ.go") || strings.Contains(path, "/stories/") {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
