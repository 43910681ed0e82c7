package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestOperatorHelpPagesAreWhole opens every page of the operator guide as an operator, wide and narrow, light and dark: the
// accessibility checks find nothing, and no page is wider than its window.
func TestOperatorHelpPagesAreWhole(t *testing.T) {
	t.Parallel()
	g := videoDemo(t)
	c := filmmaker(t, g, "guide")
	c.runsIt(t)
	r := reads(t, g, c.signedIn(t))
	pages, err := filepath.Glob("../app/docs/operator/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	r.page("/console/operator/help", http.StatusOK)
	for _, page := range pages {
		r.page("/console/operator/help/"+strings.TrimSuffix(filepath.Base(page), ".md"), http.StatusOK)
	}
}
