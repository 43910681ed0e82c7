package console

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// retiredFile lists what the console does not say any more. The tests of views look for the same phrases in stories.
const retiredFile = "../../views/testdata/retired_phrases.txt"

// retiredPhrases is retiredFile in small letters, without its comments.
func retiredPhrases(t *testing.T) (phrases []string) {
	t.Helper()
	text, err := os.ReadFile(retiredFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			phrases = append(phrases, strings.ToLower(line))
		}
	}
	return phrases
}

// retiredIn are the retired phrases that a page says.
func retiredIn(phrases []string, page string) (found []string) {
	page = strings.ToLower(strings.Join(strings.Fields(page), " "))
	for _, phrase := range phrases {
		if strings.Contains(page, phrase) {
			found = append(found, phrase)
		}
	}
	return found
}

// probeWords opens every page as each member, and as the owner, and looks for retired phrases. Operators and visitors open theirs in
// TestPagesAreWholeForReadersAndVisitors.
func (m *tenants) probeWords(t *testing.T) {
	phrases := retiredPhrases(t)
	people := map[string]*harness.ConsoleClient{"owner": m.signedIn}
	for role := range lackingRoles {
		people[role] = m.members[role]
	}
	for who, p := range people {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			opened := 0
			for _, r := range m.routes {
				look := pageLooks[r.Path]
				if r.Area != "console" || r.Method != http.MethodGet || r.Operator || look.part != "" || look.who != "" {
					continue
				}
				path, _ := intrusion{query: look.query}.fill(t, r.Path, m.theirs)
				a := p.Visit(t, path, nil)
				if a.Status == http.StatusOK {
					opened++
				}
				for _, phrase := range retiredIn(phrases, a.Body) {
					t.Errorf("%s says %q, which is in %s", path, phrase, retiredFile)
				}
			}
			if opened < 20 {
				t.Errorf("only %d pages could be opened", opened)
			}
		})
	}
}
