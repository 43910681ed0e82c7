package console_test

import (
	"net/http"
	"strings"
	"testing"

	"umg/app/docs"
)

// TestOperatorsReadTheirGuide opens every page of the operator guide, its Markdown, its files and its search.
func TestOperatorsReadTheirGuide(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	shows(t, p.see("/console/operator"), http.StatusOK, `href="/console/operator/help"`)
	list := p.see("/console/operator/help")
	for _, page := range docs.OperatorGuide.Pages() {
		shows(t, list, http.StatusOK, `href="`+page.Path()+`"`)
		shows(t, p.see(page.Path()), http.StatusOK, "<h1>"+page.Title+"</h1>", `href="/console/operator/help"`)
		a := p.see(page.Path() + ".md")
		shows(t, a, http.StatusOK, "# "+page.Title)
		if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, "text/markdown") {
			t.Errorf("%s has the type %s", page.Name, got)
		}
	}
	for name, kind := range map[string]string{"alerts.yaml": "application/yaml", "dashboard.json": "application/json"} {
		a := p.see(docs.OperatorPath + "/" + name)
		shows(t, a, http.StatusOK, "umg_http_requests_total")
		if a.header.Get("Content-Type") != kind || !strings.Contains(a.header.Get("Content-Disposition"), name) {
			t.Errorf("%s has the header %v", name, a.header)
		}
	}
	shows(t, p.see("/console/operator/help?q=quarantined"), http.StatusOK, "/console/operator/help/runbook#settlements-are-quarantined")
	shows(t, p.see("/console/search?q=quarantined"), http.StatusOK, "/console/operator/help/runbook")
	shows(t, p.see("/console/operator/help/quickstart"), http.StatusNotFound)
}

// TestOthersDoNotReadTheOperatorGuide asks for the guide as a member who is no operator, and as a visitor, and looks for it in what
// they may read.
func TestOthersDoNotReadTheOperatorGuide(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	member, visitor := k.signedIn("bob@example.com"), k.visitor()
	paths := []string{"/console/operator/help", docs.OperatorPath + "/alerts.yaml", docs.OperatorPath + "/dashboard.json"}
	for _, page := range docs.OperatorGuide.Pages() {
		paths = append(paths, page.Path(), page.Path()+".md")
	}
	for _, path := range paths {
		// A page repeats its own address, also where it says that there is no such page.
		if a := member.see(path); a.status != http.StatusNotFound || strings.Contains(strings.ReplaceAll(a.body, path, ""), "operator/help") {
			t.Errorf("%s answers a member with %d", path, a.status)
		}
		if a := visitor.see(path); a.status == http.StatusOK || strings.Contains(strings.ReplaceAll(a.body, path, ""), "operator/help") {
			t.Errorf("%s answers a visitor with %d", path, a.status)
		}
	}
	for _, path := range []string{"/console/docs", "/console/docs?q=quarantined", "/console/search?q=quarantined", "/console/docs/runbook"} {
		for _, p := range []*person{member, visitor} {
			if a := p.see(path); strings.Contains(a.body, "/console/operator") {
				t.Errorf("%s leads to the operator guide", path)
			}
		}
	}
}
