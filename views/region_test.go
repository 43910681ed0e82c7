package views_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"umg/views"
	"umg/views/format"
	"umg/views/stories"
)

// TestNumbersOfPagesAreWrittenByTheRegion looks for amounts and counts that every region sees alike: those with a point on a French page,
// and those with a comma on a Swiss one. What a story itself wrote stands for texts of other packages.
func TestNumbersOfPagesAreWrittenByTheRegion(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("stories/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var written strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		written.Write(source)
	}
	for id, pattern := range map[string]string{
		"fr-FR": `\$\d+\.\d+|\d+\.\d+ ?(?:%|s\b|ms\b|[kM]?B\b|tokens)`, "de-CH": `\$?\d{1,3}(?:,\d{3})+\b`,
	} {
		region, _ := format.FindRegion(id)
		alike := regexp.MustCompile(pattern)
		for _, s := range stories.All() {
			adjust := s.Adjust
			s.Adjust = func(shell *views.Shell) {
				if adjust != nil {
					adjust(shell)
				}
				shell.Region = region
			}
			doc := parse(t, draw(t, s))
			doc.Find("code, pre, textarea, script, [name=region]").Remove()
			for n := range doc.Find("body").Nodes[0].Descendants() {
				if n.Type != html.TextNode {
					continue
				}
				for _, word := range alike.FindAllString(n.Data, -1) {
					if !strings.Contains(written.String(), word) {
						t.Errorf("%s: %q in %q", s.Name, word, strings.TrimSpace(n.Data))
					}
				}
			}
		}
	}
}
