package repo

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	runbookFile    = "app/docs/operator/runbook.md"
	monitoringFile = "app/docs/operator/monitoring.md"
)

var (
	errorMessage  = regexp.MustCompile(`[lL]og\.Error(?:Context)?\((?:ctx, )?"([^"]+)"`)
	codeSpan      = regexp.MustCompile("`([^`]+)`")
	documentLink  = regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)\s]*)?\)`)
	makeCommand   = regexp.MustCompile("(?m)(?:^|`|8090 )make ([a-z][a-z-]*)")
	documentTitle = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestTheRunbookNamesEveryMessageAtLevelError finds each message that asks an operator to act in the runbook, and each message of
// its tables in the program.
func TestTheRunbookNamesEveryMessageAtLevelError(t *testing.T) {
	t.Parallel()
	source, runbook := sourceText(t), flatText(t, runbookFile)
	found := 0
	for _, m := range errorMessage.FindAllStringSubmatch(source, -1) {
		found++
		if !strings.Contains(runbook, "`"+m[1]+"`") {
			t.Errorf("the runbook does not name %q", m[1])
		}
	}
	raw, err := os.ReadFile(filepath.Join("../..", runbookFile))
	if err != nil {
		t.Fatal(err)
	}
	named, isTable := 0, false
	for line := range strings.Lines(string(raw)) {
		switch {
		case !strings.HasPrefix(line, "|"):
			isTable = false
			continue
		case strings.HasPrefix(line, "| log message |"):
			isTable = true
			continue
		}
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, m := range codeSpan.FindAllStringSubmatch(cell, -1) {
			if _, isLog := strings.CutPrefix(cell, "log: "); !isTable && !isLog {
				continue
			}
			named++
			if !strings.Contains(source, `"`+m[1]+`"`) {
				t.Errorf("the runbook names the message %q, which the program does not log", m[1])
			}
		}
	}
	if found < 15 || named < 40 {
		t.Errorf("only %d messages at level error and %d messages of the runbook are found", found, named)
	}
}

// TestTheRunbookQuotesErrorsAsTheyAre looks for the reasons and errors that the runbook quotes; a part that varies is an ellipsis.
func TestTheRunbookQuotesErrorsAsTheyAre(t *testing.T) {
	t.Parallel()
	source := regexp.MustCompile(`" \+\s*"`).ReplaceAllString(sourceText(t), "")
	raw, err := os.ReadFile(filepath.Join("../..", runbookFile))
	if err != nil {
		t.Fatal(err)
	}
	quoted, isTable := 0, false
	for line := range strings.Lines(string(raw)) {
		switch {
		case !strings.HasPrefix(line, "|"):
			isTable = false
			continue
		case strings.HasPrefix(line, "| reason |"), strings.HasPrefix(line, "| message |"):
			isTable = true
			continue
		}
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, m := range codeSpan.FindAllStringSubmatch(cell, -1) {
			if !isTable {
				continue
			}
			quoted++
			for part := range strings.SplitSeq(strings.TrimPrefix(m[1], "journal: "), "…") {
				if !strings.Contains(source, strings.Trim(part, " :")) {
					t.Errorf("the runbook quotes %q, and the program has no %q", m[1], part)
				}
			}
		}
	}
	if quoted < 12 {
		t.Errorf("only %d errors are found", quoted)
	}
}

// TestTheMonitoringPageNamesEveryMetric looks for each metric of the server in the operator guide.
func TestTheMonitoringPageNamesEveryMetric(t *testing.T) {
	t.Parallel()
	page, found := flatText(t, monitoringFile), map[string]bool{}
	list, err := os.ReadFile("../../cmd/gateway/testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		name, _, _ := strings.Cut(line, " ")
		if found[name] = true; !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%s does not name the metric %s", monitoringFile, name)
		}
	}
	if len(found) < 70 {
		t.Errorf("only %d metrics are found", len(found))
	}
}

// TestDocumentsLinkToFilesThatExist follows the links of README and of the documents about the source.
func TestDocumentsLinkToFilesThatExist(t *testing.T) {
	t.Parallel()
	found := 0
	for _, file := range documents(t) {
		if strings.HasPrefix(file, "app/docs/") {
			continue // The pages link to addresses of the console, which tests of app/docs and app/console follow.
		}
		raw, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range documentLink.FindAllStringSubmatch(string(raw), -1) {
			found++
			to := path.Join(path.Dir(file), m[1])
			if m[1] == "" {
				to = file
			}
			if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
				continue
			}
			if m[2] != "" && !slices.Contains(anchorsOf(t, to), m[2]) {
				t.Errorf("%s links to %s%s, and there is no such heading", file, m[1], m[2])
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d links are found", found)
	}
}

// TestDocumentsNameTargetsThatExist looks for each command of make that a document names in the Makefile.
func TestDocumentsNameTargetsThatExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range documents(t) {
		raw, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range makeCommand.FindAllStringSubmatch(string(raw), -1) {
			found++
			if !regexp.MustCompile(`(?m)^` + m[1] + `:`).Match(makefile) {
				t.Errorf("%s names make %s, and there is no such target", file, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d commands are found", found)
	}
}

// anchorsOf are the anchors of the headings of a document, made as code hosts make them.
func anchorsOf(t *testing.T, file string) (anchors []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range documentTitle.FindAllStringSubmatch(string(raw), -1) {
		anchor := regexp.MustCompile(`[^\p{L}\p{N} -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors = append(anchors, "#"+strings.ReplaceAll(anchor, " ", "-"))
	}
	return anchors
}
