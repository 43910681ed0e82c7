package views_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"umg/views/stories"
)

// TestEveryStoryIsWellFormed checks that every element of every story is closed where it was opened, and that no story has an
// element that its hostile texts would make if they were not escaped.
func TestEveryStoryIsWellFormed(t *testing.T) {
	t.Parallel()
	for _, s := range stories.All() {
		page := draw(t, s)
		if fault := unbalanced(page); fault != "" {
			t.Errorf("%s: %s", s.Name, fault)
		}
		doc := parse(t, page)
		if n := doc.Find(`img[src="x"], [onerror], script:not([src]), iframe, object, embed, base`).Length(); n > 0 {
			t.Errorf("%s: %d elements that no view writes", s.Name, n)
		}
	}
}

// unbalanced describes the first element of a page that is not closed where it was opened. It is empty for a well-formed page.
func unbalanced(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	var open []string
	for {
		kind := z.Next()
		name, _ := z.TagName()
		tag := string(name)
		switch kind {
		case html.ErrorToken:
			if len(open) > 0 {
				return "<" + open[len(open)-1] + "> is not closed"
			}
			return ""
		case html.StartTagToken:
			if !void[tag] {
				open = append(open, tag)
			}
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != tag {
				return "</" + tag + "> closes nothing"
			}
			open = open[:len(open)-1]
		}
	}
}
