package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// flagsOfOthers belong to other programs that the texts name.
var flagsOfOthers = []string{"--no-install-recommends"}

var namedFlag = regexp.MustCompile(`--[a-z][a-z0-9-]+`)

// TestFlagsThatTextsNameExist checks that the gateway has each flag that the documents, the views and its messages name.
func TestFlagsThatTextsNameExist(t *testing.T) {
	t.Parallel()
	flags := flagsTaken(t)
	if len(flags) < 40 {
		t.Fatalf("the gateway takes %d flags: %v", len(flags), flags)
	}
	named := 0
	for place, text := range textsOfOperators(t) {
		for _, flag := range namedFlag.FindAllString(text, -1) {
			named++
			if !slices.Contains(flags, flag) && !slices.Contains(flagsOfOthers, flag) {
				t.Errorf("%s names %s, and the gateway has no such flag", place, flag)
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d flags are named", named)
	}
}

// variablesOfOthers are set by API callers for their own programs.
var variablesOfOthers = []string{"UMG_MANAGEMENT_KEY"}

var namedVariable = regexp.MustCompile(`\bUMG_[A-Z0-9_]*[A-Z0-9]\b`)

// TestVariablesThatTextsNameExist checks that the gateway reads each of its variables that the texts name.
func TestVariablesThatTextsNameExist(t *testing.T) {
	t.Parallel()
	known, named := slices.Concat(configVariables(), variablesElsewhere, variablesOfOthers), 0
	for _, flag := range flagsOf(t) {
		known = append(known, flag.Envs...)
	}
	for place, text := range textsOfOperators(t) {
		for _, name := range namedVariable.FindAllString(text, -1) {
			named++
			if !slices.ContainsFunc(known, func(k string) bool {
				prefix, isOpen := strings.CutSuffix(k, "*")
				return k == strings.TrimSuffix(name, fileSuffix) || isOpen && strings.HasPrefix(name, prefix)
			}) {
				t.Errorf("%s names %s, which the gateway does not read", place, name)
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d variables are named", named)
	}
}

// commandLine is a command at the beginning of a line or of a piece of code.
var commandLine = regexp.MustCompile("(?:^|`|bin/)gateway ((?:[a-z|-]+ ?)+)")

// TestCommandsThatDocumentsNameExist checks that the gateway has each command that README and the operator guide name.
func TestCommandsThatDocumentsNameExist(t *testing.T) {
	t.Parallel()
	k, err := kong.New(&commands{}, kong.Vars{"default_data": ""})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../app/docs/operator/*.md")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	var text strings.Builder
	for _, file := range append(files, "../../README.md", "../../.github/CONTRIBUTING.md") {
		one, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(withoutFormerNames(file, string(one)))
	}
	named := 0
	for line := range strings.Lines(text.String()) {
		for _, m := range commandLine.FindAllStringSubmatch(line, -1) {
			at := []*kong.Node{k.Model.Node}
			for word := range strings.FieldsSeq(m[1]) {
				var next []*kong.Node
				for name := range strings.SplitSeq(word, "|") {
					for _, child := range at[0].Children {
						if child.Name == name {
							next = append(next, child)
						}
					}
				}
				if len(at[0].Children) == 0 {
					break // The remaining words are arguments.
				}
				if len(next) != strings.Count(word, "|")+1 {
					t.Errorf("a document names gateway %s, and there is no %s", m[1], word)
					break
				}
				at = next
				named++
			}
		}
	}
	if named < 40 {
		t.Errorf("only %d words of commands are found", named)
	}
}

func flagsTaken(t *testing.T) (names []string) {
	t.Helper()
	var line commands
	k, err := kong.New(&line, kong.Vars{"default_data": ""})
	if err != nil {
		t.Fatal(err)
	}
	var collect func(n *kong.Node)
	collect = func(n *kong.Node) {
		for _, f := range n.Flags {
			names = append(names, "--"+f.Name)
		}
		for _, below := range n.Children {
			collect(below)
		}
	}
	collect(k.Model.Node)
	return names
}

// textsOfOperators are the documents, the pages of the console, and the strings of the command, by place.
func textsOfOperators(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{
		"../../README.md", "../../.github/*.md", "../../app/docs/pages/*.md", "../../app/docs/operator/*.md", "../../views/*.templ",
		"../../views/*/*.templ",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[file] = withoutProperties.ReplaceAllString(withoutFormerNames(file, string(text)), "")
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			texts[file] = stringsOf(t, file)
		}
	}
	return texts
}

// firstCell is the first cell of a row of a table.
var firstCell = regexp.MustCompile(`(?m)^\| [^|]+ \|`)

// withoutFormerNames removes the first column of the tables of the upgrade notes, which have names of earlier versions there.
func withoutFormerNames(file, text string) string {
	if filepath.Base(file) != "upgrade.md" {
		return text
	}
	return firstCell.ReplaceAllString(text, "|")
}

// withoutProperties removes CSS custom properties, which begin like flags.
var withoutProperties = regexp.MustCompile(`var\(--[a-z0-9-]+\)|--[a-z0-9-]+:`)

// stringsOf returns the string literals of a Go file, except arguments for another program.
func stringsOf(t *testing.T, file string) string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		if one, ok := n.(*ast.BasicLit); ok && one.Kind == token.STRING {
			all = append(all, one.Value)
		}
		return true
	})
	return strings.Join(all, "\n")
}
