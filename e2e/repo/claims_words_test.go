package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// Facts that a program can tell from other words.
var (
	numberWithUnit = regexp.MustCompile(`(?:^|[^\w./:-])(?:\$?\d[\d,.]*(?: (?:to|and|or) \d[\d,.]*)?|two|three|four|five|six|ten|half an?|within a)[ -]?(?:ms|s|µs|kB|MB|GB|[KMG]iB|px|%|seconds?|minutes?|hours?|days?|` +
		`weeks?|months?|times|characters|dollars?|calls|requests|GET requests|changes|dry runs|pages|forms|secrets|connections|spans|assets|addresses)(?:$|[^\w])`)
	headerName = regexp.MustCompile("`((?:[xX]-|[rR]etry-|[iI]dempotency-|webhook-|[sS]erver-|request-)[a-zA-Z-]*[a-zA-Z…])(?:: [^`]*)?`")
	routeName  = regexp.MustCompile("(?:`|\\b(GET|POST|PATCH|DELETE) |\\{\\{base_url\\}\\}|\\{\\{server\\}\\}|127\\.0\\.0\\.1:8080)(/[a-z][\\w{}.:/*%…-]*)")
	errorCode  = regexp.MustCompile("\\b[45]\\d\\d (?:\\[)?`([a-z_]+)`")
	metricName = regexp.MustCompile(`\bumg_[a-z_]+`)
	faceOfPath = regexp.MustCompile(`^/(?:v1|v1beta|vendorc|videos|webhooks|console)(?:/|$)`)

	codeBlock   = regexp.MustCompile("(?ms)^```.*?^```$")
	frontMatter = regexp.MustCompile(`(?s)^---\n.*?\n---\n`)
	blockBorder = regexp.MustCompile(`\n(?:\s*\n|[ \t]*(?:[-*] |\d\. |#|\|))`)
	sentenceEnd = regexp.MustCompile(`[.!?] `)
)

// pathsBesideRoutes are paths in documents that the table of routes does not have: the beginning of others, and aliases of the
// catalog, which TestAPIAliasesOfTheNativeStyle calls.
var pathsBesideRoutes = []string{"/v1", "/v1beta/…", "/v1beta/models/{model}:generateContent", "/v1beta/{model}:…"}

// documents are README, the public pages and the operator guide, and the documents about the source. The changelog describes the
// past, and no test can hold it.
func documents(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md"}
	for pattern, least := range map[string]int{
		"../../app/docs/pages/*.md": 15, "../../app/docs/operator/*.md": 10, "../../.github/*.md": 2, "../../e2e/bench/*.md": 1,
	} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) < least {
			t.Fatal(pattern, pages, err)
		}
		for _, page := range pages {
			if filepath.Base(page) != "changelog.md" {
				all = append(all, strings.TrimPrefix(page, "../../"))
			}
		}
	}
	return all
}

// TestClaimsCoverWhatAProgramCanTell looks at each number with a unit and each header that a document names: the sentence, or the row
// of a table, is a claim with a test, a figure, a constant, or stands among the plain words with a reason.
func TestClaimsCoverWhatAProgramCanTell(t *testing.T) {
	t.Parallel()
	list := readClaims(t)
	covers := map[string][]string{}
	for _, f := range list.Claims {
		for _, c := range f.Rows {
			covers[f.File] = append(covers[f.File], c.Says)
		}
	}
	for _, f := range list.Figures {
		covers[resultsFile] = append(covers[resultsFile], f.Says)
	}
	for _, c := range list.Constants {
		covers[c.File] = append(covers[c.File], c.Says)
	}
	for _, p := range list.Plain {
		if !strings.Contains(flatText(t, p.File), p.Says) || p.Why == "" {
			t.Errorf("%s does not say %q any more, or there is no reason why it needs no test", p.File, p.Says)
		}
		covers[p.File] = append(covers[p.File], p.Says)
	}
	found := 0
	for _, file := range documents(t) {
		raw, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, sentence := range sentencesOf(string(raw)) {
			fact := numberWithUnit.FindString(sentence)
			if fact == "" {
				fact = headerName.FindString(sentence)
			}
			if fact == "" {
				continue
			}
			found++
			if !slices.ContainsFunc(covers[file], func(says string) bool { return overlap(sentence, whiteSpace.ReplaceAllString(says, " ")) }) {
				t.Errorf("%s: no test is named for %q in %q", file, strings.TrimSpace(fact), sentence)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d facts are found", found)
	}
}

// sentencesOf are the sentences and the rows of tables of a document, without its code and titles, and each with single spaces.
func sentencesOf(text string) (all []string) {
	text = codeBlock.ReplaceAllString(frontMatter.ReplaceAllString(text, ""), "\n")
	text = "\n" + text
	for _, block := range splitBefore(blockBorder, text) {
		block = strings.TrimSpace(whiteSpace.ReplaceAllString(block, " "))
		switch {
		case block == "" || strings.HasPrefix(block, "#"):
		case strings.HasPrefix(block, "|"):
			all = append(all, block)
		default:
			for _, sentence := range splitBehind(sentenceEnd, block) {
				all = append(all, strings.TrimSpace(sentence))
			}
		}
	}
	return all
}

func splitBefore(border *regexp.Regexp, text string) (parts []string) {
	from := 0
	for _, at := range border.FindAllStringIndex(text, -1) {
		parts = append(parts, text[from:at[0]])
		from = at[0]
	}
	return append(parts, text[from:])
}

func splitBehind(border *regexp.Regexp, text string) (parts []string) {
	from := 0
	for _, at := range border.FindAllStringIndex(text, -1) {
		parts = append(parts, text[from:at[1]])
		from = at[1]
	}
	return append(parts, text[from:])
}

// overlap reports whether two stretches of one text share words: one holds the other, or the end of one is the beginning of the other.
func overlap(a, b string) bool {
	if strings.Contains(a, b) || strings.Contains(b, a) {
		return true
	}
	const sharedMin = 12
	for n := sharedMin; n < min(len(a), len(b)); n++ {
		if strings.HasSuffix(a, b[:n]) || strings.HasSuffix(b, a[:n]) {
			return true
		}
	}
	return false
}

// TestDocumentsNameWhatExists looks for each route, header and metric that README and the manual name, code included, among those of
// the program, and for each error code behind a status among those of the manual.
func TestDocumentsNameWhatExists(t *testing.T) {
	t.Parallel()
	routes, source, codes := harness.Routes(t), strings.ToLower(sourceText(t)), flatText(t, "app/docs/errors.yaml")
	named := map[string]int{}
	for _, file := range append(documents(t), "app/docs/pages/changelog.md") {
		raw, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, m := range routeName.FindAllStringSubmatch(text, -1) {
			path, _, _ := strings.Cut(m[2], "?")
			path = strings.TrimRight(path, ".")
			if strings.Contains(m[0], "base_url") {
				path = "/v1" + path
			}
			if !faceOfPath.MatchString(path) || slices.Contains(pathsBesideRoutes, path) {
				continue
			}
			named["routes"]++
			if !slices.ContainsFunc(routes, func(r harness.Route) bool { return isRoute(r, m[1], path) }) {
				t.Errorf("%s names %s, and there is no such route", file, strings.TrimSpace(m[1]+" "+path))
			}
		}
		for _, m := range headerName.FindAllStringSubmatch(text, -1) {
			named["headers"]++
			if !strings.Contains(source, strings.ToLower(strings.TrimRight(m[1], "…"))) {
				t.Errorf("%s names the header %s, which the program does not know", file, m[1])
			}
		}
		for _, m := range errorCode.FindAllStringSubmatch(text, -1) {
			named["codes"]++
			if !strings.Contains(codes, "code: "+m[1]+" ") {
				t.Errorf("%s names the error code %s, which app/docs/errors.yaml does not have", file, m[1])
			}
		}
	}
	for _, file := range append(documents(t), "app/docs/operator/alerts.yaml", "app/docs/operator/dashboard.json") {
		for _, name := range metricName.FindAllString(withoutFormerNames(t, file), -1) {
			named["metrics"]++
			if !strings.Contains(source, `"`+strings.TrimSuffix(name, "_bucket")+`"`) && !strings.HasSuffix(name, "_") {
				t.Errorf("%s names the metric %s, which the program does not have", file, name)
			}
		}
	}
	if named["metrics"] < 40 || named["routes"] < 150 || named["headers"] < 60 || named["codes"] < 20 {
		t.Errorf("only these are found: %v", named)
	}
}

// withoutFormerNames is the text of a document. The first column of the tables of the upgrade notes has names of earlier versions and
// is left out.
func withoutFormerNames(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(file) != "upgrade.md" {
		return string(raw)
	}
	return regexp.MustCompile(`(?m)^\| [^|]+ \|`).ReplaceAllString(string(raw), "|")
}

// isRoute reports whether a path of a document is that of a route.
func isRoute(r harness.Route, method, path string) bool {
	if method != "" && method != r.Method {
		return false
	}
	want := harness.RouteParameter.ReplaceAllString(strings.ReplaceAll(r.Path, "*", "[^/]+(?:/[^/]+)?"), "$1/[^/]+")
	return regexp.MustCompile("^" + want + "$").MatchString(path)
}

// sourceText is the program, without its tests and its simulator.
func sourceText(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"api", "app", "billing", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".yaml") ||
				strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/simulator/") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// TestNumbersOfDocumentsAreTheProgramsOwn compares numbers of the documents with the constants and the defaults of flags that hold.
func TestNumbersOfDocumentsAreTheProgramsOwn(t *testing.T) {
	t.Parallel()
	list := readClaims(t).Constants
	for _, c := range list {
		if !strings.Contains(flatText(t, c.File), c.Says) {
			t.Errorf("%s does not say %q any more", c.File, c.Says)
		}
		dir, name, _ := strings.Cut(c.Const, " ")
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(c.Const, err)
		}
		want := regexp.MustCompile(`(?m)^(?:const |var )?\s*` + regexp.QuoteMeta(name) + `\b.*[ "=]` + regexp.QuoteMeta(c.Is) + `(?:"|,|\s|$)`)
		if !slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && !strings.HasSuffix(file, "_test.go") && want.Match(text)
		}) {
			t.Errorf("%s says %q, and %s is not %s", c.File, c.Says, c.Const, c.Is)
		}
	}
	if len(list) < 30 {
		t.Errorf("only %d numbers are compared", len(list))
	}
}
