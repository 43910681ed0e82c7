package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"umg/app"
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

func TestThePaletteKeepsToTheRoleAndTheAccount(t *testing.T) {
	t.Parallel()
	h := setup(t)
	other := h.signedIn("other@example.com")
	other.send("/console/keys", url.Values{"name": {"zebra theirs"}, "mode": {"standard"}})
	other.send("/console/prompts", url.Values{"name": {"zebra prompt"}, "model": {"meridian/atlas-small"}, "prompt": {"Hello"}})
	p := h.signedIn("keeper@example.com")
	p.send("/console/prompts", url.Values{"name": {"My zebra"}, "model": {"meridian/atlas-small"}, "prompt": {"Hello"}})
	p.headers["HX-Request"], other.headers["HX-Request"] = "true", "true"
	theirs := other.see("/console/search?q=zebra").body
	for _, want := range []string{"zebra theirs", "zebra prompt"} {
		if !strings.Contains(theirs, want) {
			t.Errorf("its own account does not find %s", want)
		}
	}
	if mine := p.see("/console/search?q=zebra").body; !strings.Contains(mine, "My zebra") || strings.Contains(mine, "zebra theirs") || strings.Contains(mine, "zebra prompt") {
		t.Errorf("the palette mixes accounts: %s", mine)
	}
	var id string
	if err := h.db.Get(&id, `select id from prompts where name = 'zebra prompt'`); err != nil {
		t.Fatal(err)
	}
	if a := p.see("/console/search?q=" + id); strings.Contains(a.body, "/console/prompts/") {
		t.Error("another account's id leads somewhere")
	}
	for _, one := range []struct {
		role      app.Role
		query     string
		want, not []string
	}{
		{app.RoleOwner, "credit", []string{"#add-credit"}, nil},
		{app.RoleDeveloper, "credit", nil, []string{"#add-credit"}},
		{app.RoleDeveloper, "zebra", []string{"My zebra"}, nil},
		{app.RoleDeveloper, "invite", nil, []string{"/members"}},
		{app.RoleBilling, "zebra", nil, []string{"My zebra"}},
		{app.RoleBilling, "key", []string{"/console/docs/"}, []string{`href="/console/keys`}},
		{app.RoleBilling, "limits", []string{"/console/limits"}, nil},
		{app.RoleBilling, "prompts", nil, []string{`href="/console/prompts"`}},
	} {
		h.role("keeper@example.com", one.role)
		body := p.see("/console/search?q=" + one.query).body
		for _, want := range one.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s looking for %s does not find %s", one.role, one.query, want)
			}
		}
		for _, not := range one.not {
			if strings.Contains(body, not) {
				t.Errorf("%s looking for %s finds %s", one.role, one.query, not)
			}
		}
	}
}

func TestVisitorsSearchWhatIsOpenToAll(t *testing.T) {
	t.Parallel()
	v := withModels(t).visitor()
	if a := v.see("/console/docs"); !strings.Contains(a.body, `id="palette"`) || !strings.Contains(a.body, "data-palette") {
		t.Error("a visitor of the documentation has no palette")
	}
	for _, script := range []bool{false, true} {
		if script {
			v.headers["HX-Request"] = "true"
		}
		for query, want := range map[string]string{
			"": "/console/sign-up", "atlas": "/console/models/meridian/atlas", "webhooks": "/console/docs/webhooks", "dark": "Change between light and dark",
		} {
			a := v.see("/console/search?q=" + query)
			if a.status != http.StatusOK || !strings.Contains(a.body, want) {
				t.Errorf("a visitor looking for %q: %d, without %s", query, a.status, want)
			}
			for _, not := range []string{"/console/keys", "/console/settings", "/console/billing", "Sign out", "/console/shortcuts"} {
				if strings.Contains(a.body, not) {
					t.Errorf("a visitor looking for %q is shown %s", query, not)
				}
			}
		}
	}
}

// TestThePaletteActsOnObjects finds what can be done with a key and a model, and errors and parameters by their names.
func TestThePaletteActsOnObjects(t *testing.T) {
	t.Parallel()
	h := withModels(t)
	p := h.signedIn("actor@example.com")
	p.send("/console/keys", url.Values{"name": {"zebra crossing"}, "mode": {"standard"}})
	var id string
	if err := h.db.Get(&id, `select id from api_keys where name = 'zebra crossing'`); err != nil {
		t.Fatal(err)
	}
	p.headers["HX-Request"] = "true"
	for query, want := range map[string]string{
		"rotate zebra": "/console/keys/" + id + "/rotate", "zebra requests": "/console/requests?key=" + id,
		"open atlas small playground": "/console/playground?model=meridian", "insufficient quota": "/console/docs/errors#insufficient_quota",
		"reasoning effort": "/console/models?parameter=reasoning_effort",
	} {
		holds(t, query, p.see("/console/search?q="+url.QueryEscape(query)), http.StatusOK, want)
	}
	h.role("actor@example.com", app.RoleBilling)
	for _, query := range []string{"rotate zebra", "open atlas small playground"} {
		if a := p.see("/console/search?q=" + url.QueryEscape(query)); strings.Contains(a.body, id) || strings.Contains(a.body, "/playground?") {
			t.Errorf("a billing member finds %s", query)
		}
	}
}

func TestAPathThatIsNotThereSuggestsOthers(t *testing.T) {
	t.Parallel()
	h := withModels(t)
	p := h.signedIn("lost@example.com")
	holds(t, "the words of a model", p.see("/console/model/atlas-small-latest"), http.StatusNotFound, "Were you looking for", "/console/models/meridian/atlas-small")
	holds(t, "the words of a page", p.see("/console/api/webhooks/new-one"), http.StatusNotFound, `href="/console/webhooks"`)
	if a := p.see("/console/%3Cscript%3E/qqq"); a.status != http.StatusNotFound || strings.Contains(a.body, "Were you looking for") {
		t.Errorf("words that fit nothing: %d", a.status)
	}
	if a := h.visitor().see("/console/keys/atlas"); strings.Contains(a.body, "near-title") && strings.Contains(a.body, `href="/console/keys"`) {
		t.Error("a visitor is led to pages of an account")
	}
}
