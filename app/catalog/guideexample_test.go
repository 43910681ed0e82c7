package catalog_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"umg/app/catalog"
)

// TestTheExampleOfTheOperatorGuideIsACatalog checks the file that operators start from.
func TestTheExampleOfTheOperatorGuideIsACatalog(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operator/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```yaml\n(providers:.*?)```").FindStringSubmatch(string(page))
	if found == nil {
		t.Fatal("catalog.md has no example")
	}
	file, err := catalog.ParseFile([]byte(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	if mistakes := catalog.Check(file); len(mistakes) > 0 {
		t.Errorf("the example has mistakes: %v", mistakes)
	}
	for field := range strings.FieldsSeq(fieldsOf(t)) {
		if !strings.Contains(string(page), "`"+field+"`") {
			t.Errorf("catalog.md does not name the field %s of a provider, a model or a route", field)
		}
	}
}

// fieldsOf are the fields of the providers, models and routes of a catalog file.
func fieldsOf(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("file.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range []string{"FileProvider", "FileModel", "FileRoute"} {
		_, body, ok := strings.Cut(string(source), "type "+name+" struct {")
		if !ok {
			t.Fatalf("file.go has no %s", name)
		}
		body, _, _ = strings.Cut(body, "\n}")
		for _, m := range regexp.MustCompile(`yaml:"([a-z_]+)`).FindAllStringSubmatch(body, -1) {
			names = append(names, m[1])
		}
	}
	if len(names) < 45 {
		t.Errorf("only %d fields are found", len(names))
	}
	return strings.Join(names, " ")
}
