package docs_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"umg/app/docs"
)

// operatorPages are the pages that the operator guide must have.
var operatorPages = []string{
	"catalog", "commands", "configuration", "data-protection", "demo", "deploy", "failover", "first-start", "money", "monitoring", "people", "presets",
	"prices", "provider-changes", "providers", "replicas", "routing", "runbook", "secrets", "storage", "upgrade",
}

func TestTheOperatorGuideHasItsPages(t *testing.T) {
	t.Parallel()
	var names []string
	for _, p := range docs.OperatorGuide.Pages() {
		names = append(names, p.Name)
		if p.Path() != docs.OperatorPath+"/"+p.Name || docs.OperatorGuide.Find(p.Name) != p {
			t.Errorf("%s is at %s", p.Name, p.Path())
		}
		if docs.Find(p.Name) == p || slices.Contains(docs.Pages(), p) {
			t.Errorf("the page %s is public", p.Name)
		}
		text := p.Markdown(values)
		if strings.Contains(text, "](/") || strings.Contains(text, "{{") {
			t.Errorf("%s has a link without a server, or a name that is not filled", p.Name)
		}
		for _, b := range p.Blocks(values) {
			if html := string(b.HTML); strings.Contains(html, "{{") || strings.Contains(html, "||") {
				t.Errorf("%s has marks that are not for readers: %s", p.Name, html)
			}
		}
	}
	if slices.Sort(names); !slices.Equal(names, operatorPages) {
		t.Errorf("the guide has %v", names)
	}
	listed := 0
	for _, g := range docs.OperatorGuide.Groups() {
		listed += len(g.Pages)
	}
	if listed != len(operatorPages) {
		t.Errorf("%d pages are in groups", listed)
	}
	first := docs.OperatorGuide.Pages()[0]
	if before, after := first.Around(); before != nil || after == nil || !strings.HasPrefix(after.Path(), docs.OperatorPath) {
		t.Errorf("around the first page are %v and %v", before, after)
	}
}

// TestEveryLinkOfTheOperatorGuideResolves follows links to pages of both books, to headings in them, and to files of the guide.
func TestEveryLinkOfTheOperatorGuideResolves(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(https://gateway\.example(/console/(?:docs|operator/help)[^)#]*)(#[^)]*)?\)`)
	found := 0
	for _, p := range docs.OperatorGuide.Pages() {
		for _, m := range link.FindAllStringSubmatch(p.Markdown(values), -1) {
			found++
			if name, isGuide := strings.CutPrefix(m[1], docs.OperatorPath+"/"); isGuide {
				if _, _, isFile := docs.OperatorFile(name); isFile {
					continue
				}
			}
			if !resolves(m[1], m[2]) {
				t.Errorf("%s links to %s%s, which does not exist", p.Name, m[1], m[2])
			}
		}
		local := regexp.MustCompile(`\]\((#[^)]*)\)`)
		for _, m := range local.FindAllStringSubmatch(p.Markdown(values), -1) {
			found++
			if !resolves(p.Path(), m[1]) {
				t.Errorf("%s links to its place %s, which does not exist", p.Name, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d links are found", found)
	}
}

// resolves reports whether an address is a page of one of the books, and the fragment one of its headings.
func resolves(path, fragment string) bool {
	var page *docs.Page
	if name, isGuide := strings.CutPrefix(path, docs.OperatorPath+"/"); isGuide {
		page = docs.OperatorGuide.Find(name)
	} else {
		page = docs.Find(strings.TrimPrefix(path, docs.Path+"/"))
	}
	return page != nil && (fragment == "" || slices.Contains(headings(page), strings.TrimPrefix(fragment, "#")))
}

func TestSearchKeepsTheBooksApart(t *testing.T) {
	t.Parallel()
	for _, h := range docs.Search("database", 50) {
		if strings.HasPrefix(h.Path, docs.OperatorPath) {
			t.Errorf("the public search finds %s", h.Path)
		}
	}
	hits := docs.OperatorGuide.Search("database is down", 20)
	if !slices.ContainsFunc(hits, func(h docs.Hit) bool { return h.Path == docs.OperatorPath+"/runbook#database-is-down" }) {
		t.Errorf("the search of operators finds %v", hits)
	}
	for _, h := range docs.OperatorGuide.Search("stream", 50) {
		if !strings.HasPrefix(h.Path, docs.OperatorPath) {
			t.Errorf("the search of operators finds %s", h.Path)
		}
	}
}

// TestAlertRulesNameTheirPlaceInTheRunbook reads the rules for Prometheus.
func TestAlertRulesNameTheirPlaceInTheRunbook(t *testing.T) {
	t.Parallel()
	text, kind, ok := docs.OperatorFile("alerts.yaml")
	if !ok || kind != "application/yaml" {
		t.Fatal(kind, ok)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			path, fragment, _ := strings.Cut(r.Annotations["runbook"], "#")
			switch {
			case rules[r.Alert] || !strings.HasPrefix(r.Alert, "Gateway"):
				t.Errorf("the name %q is taken, or does not begin with Gateway", r.Alert)
			case !strings.Contains(r.Expr, "umg_") || r.Annotations["summary"] == "":
				t.Errorf("%s has no metric or no summary", r.Alert)
			case !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]):
				t.Errorf("%s has the severity %q", r.Alert, r.Labels["severity"])
			case !resolves(path, "#"+fragment):
				t.Errorf("%s names %s, which does not exist", r.Alert, r.Annotations["runbook"])
			}
			rules[r.Alert] = true
		}
	}
	if len(rules) < 15 {
		t.Errorf("only %d rules", len(rules))
	}
	if _, _, ok := docs.OperatorFile("configuration.md"); ok {
		t.Error("a page is served as a file")
	}
}

// TestTheBoardHasPanelsWithQueries reads the board for Grafana.
func TestTheBoardHasPanelsWithQueries(t *testing.T) {
	t.Parallel()
	text, kind, ok := docs.OperatorFile("dashboard.json")
	if !ok || kind != "application/json" {
		t.Fatal(kind, ok)
	}
	var board struct {
		Title  string
		Panels []struct {
			ID          int
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	ids, queries := map[int]bool{}, 0
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d, %q: no title, no query, or an id that is taken", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, q := range p.Targets {
			if queries++; !strings.Contains(q.Expr, "umg_") {
				t.Errorf("%q has a query without a metric: %s", p.Title, q.Expr)
			}
		}
	}
	if board.Title == "" || queries < 30 {
		t.Errorf("%q has %d queries", board.Title, queries)
	}
}
