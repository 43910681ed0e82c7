package views_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"umg/views/stories"
	"umg/views/ui"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// draw is a story as HTML.
func draw(t *testing.T, s stories.Story) string {
	t.Helper()
	var b strings.Builder
	if err := s.Render(ui.System, false).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hashed finds the names of assets, which change with their content and not with the page.
var hashed = regexp.MustCompile(`/static/([a-z-]+)-[0-9a-f]{12}`)

// tidy puts every tag and text on a line of its own, so that a difference is seen where it is.
func tidy(page string) string {
	page = hashed.ReplaceAllString(page, "/static/$1")
	z := html.NewTokenizer(strings.NewReader(page))
	var out strings.Builder
	for depth, verbatim := 0, false; ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out.String()
		}
		raw := string(z.Raw())
		name, _ := z.TagName()
		tag := string(name)
		switch kind {
		case html.EndTagToken:
			depth = max(depth-1, 0)
			verbatim = verbatim && tag != "pre"
		case html.TextToken:
			if !verbatim {
				raw = strings.Join(strings.Fields(raw), " ")
			}
		}
		if raw != "" {
			out.WriteString(strings.Repeat(" ", depth) + raw + "\n")
		}
		if kind == html.StartTagToken && !void[tag] {
			depth++
			verbatim = verbatim || tag == "pre"
		}
	}
}

var void = map[string]bool{"meta": true, "link": true, "input": true, "br": true, "wbr": true, "hr": true, "img": true}

// framed are stories that are compared with all that surrounds them. Of the others only what is theirs is kept, so that a
// change of the frame is seen in a few files and not in all.
var framed = map[string]bool{"overview": true, "sign-in": true, "not-found": true, "not-found-out": true, "status-one": true, "status-many": true}

// own is the part of a page that is not the frame's. A story that is no page is all its own.
func own(page string) string {
	_, inside, found := strings.Cut(page, "<main ")
	if !found {
		return page
	}
	inside, _, _ = strings.Cut(inside, "</main>")
	return "<main " + inside + "</main>"
}

func TestStoriesLookAsAgreed(t *testing.T) {
	t.Parallel()
	for _, s := range stories.All() {
		page := draw(t, s)
		if !framed[s.Name] {
			page = own(page)
		}
		got := tidy(page)
		file := filepath.Join("testdata", s.Name+".html")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s has no golden file; run the test with -update and look at it: %v", s.Name, err)
			continue
		}
		if got != string(want) {
			t.Errorf("%s changed; look at it and run with -update if that is meant\n%s", s.Name, firstDifference(string(want), got))
		}
	}
}

// TestEveryGoldenFileHasItsStory keeps files of stories that are gone from staying behind.
func TestEveryGoldenFileHasItsStory(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, ok := stories.Find(strings.TrimSuffix(filepath.Base(file), ".html")); !ok {
			t.Errorf("%s belongs to no story", file)
		}
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return "want " + w[i] + "\ngot  " + g[i]
		}
	}
	return "one is longer than the other"
}
