package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestThePaletteFindsWhatTheReaderMayUse(t *testing.T) {
	t.Parallel()
	h := setup(t)
	p := h.signedIn("finder@example.com")
	p.send("/console/keys", url.Values{"name": {"zebra crossing"}, "env": {"development"}, "from": {"overview"}})
	p.headers["HX-Request"] = "true"
	for query, want := range map[string]string{
		"": `href="/console/keys"`, "two-factor": "Settings: Security", "ZEBRA": "zebra crossing", "dark": `data-do="theme"`, "nowhere": "Nothing fits",
	} {
		a := p.see("/console/search?q=" + url.QueryEscape(query))
		if a.status != http.StatusOK || !strings.Contains(a.body, want) || strings.Contains(a.body, "<html") {
			t.Errorf("%q does not find %s: %d %s", query, want, a.status, a.body)
		}
	}
	if a := p.see("/console/search?q=%3Cimg%20src%3Dx%3E"); strings.Contains(a.body, "<img") {
		t.Error("what was asked for became markup")
	}
}
