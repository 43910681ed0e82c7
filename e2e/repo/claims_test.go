package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// claim is a sentence, or a part of one, on which users rely, and the test that holds it: a package and a name.
type claim struct {
	Says string `yaml:"says"`
	Test string `yaml:"test"`
}

// resultsFile has the measurements.
const resultsFile = "e2e/bench/RESULTS.md"

// measuredFigure is a measured number of resultsFile, and the benchmark or test that prints it.
type measuredFigure struct {
	Says string `yaml:"says"`
	By   string `yaml:"by"`
}

// plainWords are words with a number or a name of the API that claim nothing a test could hold, and why.
type plainWords struct {
	File string `yaml:"file"`
	Says string `yaml:"says"`
	Why  string `yaml:"why"`
}

// namedConstant is a number of a document that the program has as a constant or as the default of a flag: a package and a name,
// and how the number is written there.
type namedConstant struct {
	File  string `yaml:"file"`
	Says  string `yaml:"says"`
	Const string `yaml:"const"`
	Is    string `yaml:"is"`
}

type claimsFile struct {
	Claims []struct {
		File string  `yaml:"file"`
		Rows []claim `yaml:"rows"`
	} `yaml:"claims"`
	Figures []measuredFigure `yaml:"figures"`
	Plain   []plainWords     `yaml:"plain"`

	Constants []namedConstant `yaml:"constants"`
}

var (
	whiteSpace   = regexp.MustCompile(`\s+`)
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
)

// TestClaims holds testdata/claims.yaml against the tree: the words of each claim stand where it says, its test exists, and no
// document is without claims.
func TestClaims(t *testing.T) {
	t.Parallel()
	list := readClaims(t)
	tests := map[string][]string{}
	holds := func(t *testing.T, test string) {
		t.Helper()
		dir, name, _ := strings.Cut(test, " ")
		if _, known := tests[dir]; !known {
			tests[dir] = testsOf(t, dir)
		}
		if !slices.Contains(tests[dir], name) {
			t.Errorf("there is no %s in %s", name, dir)
		}
	}
	listed, count := map[string]bool{}, 0
	for _, f := range list.Claims {
		if listed[f.File] {
			t.Errorf("%s is listed twice", f.File)
		}
		listed[f.File] = true
		text := flatText(t, f.File)
		for _, c := range f.Rows {
			if !strings.Contains(text, whiteSpace.ReplaceAllString(c.Says, " ")) {
				t.Errorf("%s does not say %q any more", f.File, c.Says)
			}
			holds(t, c.Test)
			count++
		}
	}
	results := flatText(t, resultsFile)
	for _, f := range list.Figures {
		if !strings.Contains(results, whiteSpace.ReplaceAllString(f.Says, " ")) {
			t.Errorf("%s does not say %q any more", resultsFile, f.Says)
		}
		holds(t, f.By)
	}
	for _, name := range documents(t) {
		if !listed[name] {
			t.Errorf("%s has no row in testdata/claims.yaml", name)
		}
	}
	t.Logf("%d claims and %d figures", count, len(list.Figures))
}

func readClaims(t *testing.T) (list claimsFile) {
	t.Helper()
	raw, err := os.ReadFile("testdata/claims.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(raw)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list
}

// flatText is a file of the tree with every run of white space as one space.
func flatText(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	return whiteSpace.ReplaceAllString(string(raw), " ")
}

// testsOf are the tests and benchmarks of a package, whatever tags their files have.
func testsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testFunction.FindAllStringSubmatch(string(raw), -1) {
			names = append(names, found[1])
		}
	}
	return names
}
