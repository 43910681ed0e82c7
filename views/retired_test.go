package views_test

import (
	"os"
	"strings"
	"testing"

	"umg/views/stories"
)

// retiredFile lists what the console does not say any more. The tests of e2e/console look for the same phrases in running pages.
const retiredFile = "testdata/retired_phrases.txt"

// TestNoStorySaysRetiredPhrases checks the texts of every story, and of its attributes, against the phrases that better ones replaced.
func TestNoStorySaysRetiredPhrases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(retiredFile)
	if err != nil {
		t.Fatal(err)
	}
	var phrases []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			phrases = append(phrases, strings.ToLower(line))
		}
	}
	if len(phrases) < 100 {
		t.Fatalf("%s has only %d phrases", retiredFile, len(phrases))
	}
	for _, s := range stories.All() {
		page := strings.ToLower(strings.Join(strings.Fields(draw(t, s)), " "))
		for _, phrase := range phrases {
			if strings.Contains(page, phrase) {
				t.Errorf("%s says %q, which is in %s", s.Name, phrase, retiredFile)
			}
		}
	}
}
