package console

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// TestOperatorHelpPagesAreWhole opens every page of the operator guide as an operator, wide and narrow, light and dark: the
// accessibility checks find nothing, and no page is wider than its window.
func TestOperatorHelpPagesAreWhole(t *testing.T) {
	t.Parallel()
	g := harness.SharedVideoDemo(t)
	c := harness.NewVideoCustomer(t, g, "guide")
	runsIt(t, c)
	r := reads(t, g, c.SignInToConsole(t))
	pages, err := filepath.Glob("../../app/docs/operator/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	r.page("/console/operator/help", http.StatusOK)
	for _, page := range pages {
		r.page("/console/operator/help/"+strings.TrimSuffix(filepath.Base(page), ".md"), http.StatusOK)
	}
}
