package repo

import (
	"cmp"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Ceilings of what is not yet gone. A ceiling is only ever lowered.
const (
	retiredWordsMax      = 0
	trailingFragmentsMax = 0
	unclearMessagesMax   = 0
)

var (
	identifier = regexp.MustCompile(`[A-Za-z][A-Za-z0-9_]*`)
	wordInside = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
)

// wordList is words.txt: single words, and patterns of the phrases.
type wordList struct {
	words   map[string]bool
	phrases map[string]*regexp.Regexp
}

func readWords(t *testing.T) wordList {
	t.Helper()
	list := wordList{words: map[string]bool{}, phrases: map[string]*regexp.Regexp{}}
	for _, line := range dataLines(t, "words.txt") {
		if !strings.Contains(line, " ") {
			list.words[line] = true
			continue
		}
		pattern := `\b` + strings.ReplaceAll(regexp.QuoteMeta(line), " ", `\s+`) + `\b`
		if strings.ToLower(line) == line {
			pattern = "(?i)" + pattern
		}
		list.phrases[line] = regexp.MustCompile(pattern)
	}
	return list
}

// count adds to found how often each word and phrase is in a text.
func (l wordList) count(text string, allowedNames map[string]bool, found map[string]int) {
	for _, name := range identifier.FindAllString(text, -1) {
		if allowedNames[name] {
			continue
		}
		for _, word := range wordInside.FindAllString(name, -1) {
			if word = strings.ToLower(word); l.words[word] {
				found[word]++
			}
		}
	}
	for phrase, pattern := range l.phrases {
		if n := len(pattern.FindAllString(text, -1)); n > 0 {
			found[phrase] += n
		}
	}
}

// dataLines are the lines of a file of this folder without comments and empty lines.
func dataLines(t *testing.T, name string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestWordsAreRetired counts the words of words.txt in every text of the tree.
func TestWordsAreRetired(t *testing.T) {
	t.Parallel()
	list, names := readWords(t), map[string]bool{}
	var paths []string
	for _, line := range dataLines(t, "words-allowed.txt") {
		what, reason, explained := strings.Cut(line, "\t")
		kind, value, _ := strings.Cut(what, " ")
		switch {
		case !explained || reason == "":
			t.Errorf("words-allowed.txt: %s has no reason", what)
		case kind == "path":
			paths = append(paths, value)
		case kind == "name":
			names[value] = true
		default:
			t.Errorf("words-allowed.txt: %q is neither a path nor a name", line)
		}
	}
	total, perWord, perFile := 0, map[string]int{}, map[string]int{}
	for file, text := range texts(t) {
		if slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(file, p) }) {
			continue
		}
		found := map[string]int{}
		list.count(text, names, found)
		for word, n := range found {
			total += n
			perWord[word] += n
			perFile[file] += n
		}
	}
	t.Logf("%d retired words: %v", total, perWord)
	most := slices.SortedFunc(maps.Keys(perFile), func(a, b string) int { return cmp.Or(perFile[b]-perFile[a], cmp.Compare(a, b)) })
	for _, file := range most {
		t.Logf("%s has %d", file, perFile[file])
	}
	if total > retiredWordsMax {
		t.Errorf("%d retired words, more than %d", total, retiredWordsMax)
	}
}

// texts are the files of the tree that people write, by their path.
func texts(t *testing.T) map[string]string {
	t.Helper()
	kinds := []string{".go", ".templ", ".md", ".yaml", ".yml", ".sql", ".js", ".mjs", ".ts", ".css", ".html", ".txt", ".sh", ""}
	all, root := map[string]string{}, projectRoot(t)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != root && name != ".ci" && strings.HasPrefix(name, ".") || name == "node_modules" || name == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !slices.Contains(kinds, filepath.Ext(name)) || strings.HasSuffix(name, "_templ.go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		all[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	return all
}

var (
	// trailingDirective is a comment behind code that is for a tool or begins with a fixed word.
	trailingDirective = regexp.MustCompile(`^//(\S| goroutine: | want |  *\d+:)`)
	// trailingStart is how a sentence begins, and trailingName is the name with which it begins otherwise.
	trailingStart = regexp.MustCompile(`^// ["'“` + "`" + `(]?[A-Z0-9/{<\[\\.-]`)
	trailingName  = regexp.MustCompile(`^// (\w+)`)
	trailingEnd   = regexp.MustCompile(`[.?!:]["'”)]*$`)
)

// isSentence reports whether a comment behind code begins and ends as a sentence does. It may begin with a name of the code.
func isSentence(comment, code string) bool {
	if trailingDirective.MatchString(comment) {
		return true
	}
	name := trailingName.FindStringSubmatch(comment)
	begins := trailingStart.MatchString(comment) || len(name) == 2 && regexp.MustCompile(`\b`+name[1]+`\b`).MatchString(code)
	return begins && trailingEnd.MatchString(comment)
}

// TestTrailingCommentsAreNoFragments finds comments behind code that are no sentences of their own.
func TestTrailingCommentsAreNoFragments(t *testing.T) {
	t.Parallel()
	count := 0
	for _, s := range sources(t) {
		if s.generated() {
			continue
		}
		lines := strings.Split(string(s.text), "\n")
		for _, group := range s.file.Comments {
			at := s.fset.Position(group.Pos())
			code := strings.TrimSpace(lines[at.Line-1][:at.Column-1])
			if code != "" && len(group.List) == 1 && !isSentence(group.List[0].Text, code) {
				count++
				t.Logf("%s:%d %s", s.path, at.Line, group.List[0].Text)
			}
		}
	}
	t.Logf("%d trailing fragments", count)
	if count > trailingFragmentsMax {
		t.Errorf("%d trailing fragments, more than %d", count, trailingFragmentsMax)
	}
}

// messageAt is the position of the message among the arguments of the methods of a logger.
var messageAt = map[string]int{
	"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "DebugContext": 1, "InfoContext": 1, "WarnContext": 1, "ErrorContext": 1, "Log": 2, "LogAttrs": 2,
}

// loggers are the names of variables and fields that are loggers.
var loggers = []string{"Log", "log", "Logger", "logger", "slog"}

// TestLogMessagesAreConstants wants messages that a search finds: constants in lower case, without a stop at the end.
func TestLogMessagesAreConstants(t *testing.T) {
	t.Parallel()
	all, constants, count := sources(t), map[string]bool{}, 0
	for _, s := range all {
		for _, name := range constantsOf(s.file) {
			constants[s.dir+" "+name] = true
		}
	}
	for _, s := range all {
		if s.test() || s.generated() || strings.HasPrefix(s.path, "e2e/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			message := logMessage(n)
			if message == nil {
				return true
			}
			fault := ""
			switch m := message.(type) {
			case *ast.BasicLit:
				text := strings.Trim(m.Value, "\"`")
				if text == "" || strings.ToLower(text[:1]) != text[:1] || strings.HasSuffix(text, ".") {
					fault = "begins with a capital or ends with a stop"
				}
			case *ast.Ident:
				if !constants[s.dir+" "+m.Name] {
					fault = "is a variable"
				}
			default:
				fault = "is no constant"
			}
			if fault != "" {
				count++
				t.Logf("%s:%d: the log message %s", s.path, s.line(n.Pos()), fault)
			}
			return true
		})
	}
	t.Logf("%d unclear log messages", count)
	if count > unclearMessagesMax {
		t.Errorf("%d unclear log messages, more than %d", count, unclearMessagesMax)
	}
}

// logMessage is the message of a call of a logger, and nil for everything else.
func logMessage(n ast.Node) ast.Expr {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	at, known := messageAt[method.Sel.Name]
	if !known || at >= len(call.Args) {
		return nil
	}
	receiver := ""
	switch x := method.X.(type) {
	case *ast.Ident:
		receiver = x.Name
	case *ast.SelectorExpr:
		receiver = x.Sel.Name
	}
	if !slices.Contains(loggers, receiver) {
		return nil
	}
	return call.Args[at]
}

func constantsOf(f *ast.File) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		gen, ok := n.(*ast.GenDecl)
		if !ok || gen.Tok.String() != "const" {
			return true
		}
		for _, spec := range gen.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				names = append(names, name.Name)
			}
		}
		return true
	})
	return names
}
