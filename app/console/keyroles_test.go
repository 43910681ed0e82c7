package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"umg/app"
)

func TestManagementKeysAreForThoseWhoManageMembers(t *testing.T) {
	t.Parallel()
	h := setup(t)
	p := h.signedIn("manages@example.com")
	form := url.Values{
		"name": {"Maker"}, "mode": {"documented"}, "kind": {"management"}, "scopes": {"inference:text", "videos", "usage:read"}, "budget": {"5"},
		"models": {"aurora-mini"},
	}
	id, _ := madeKey(t, p, form)
	if k := h.keyNamed("Maker"); k.Scopes != "usage:read management" || k.Budget != "" || k.Models != "" {
		t.Errorf("what such a key cannot have was kept: %+v", k)
	}
	plain, _ := madeKey(t, p, url.Values{"name": {"Plain"}, "mode": {"standard"}})
	before := h.keyNamed("Maker")
	h.role("manages@example.com", app.RoleDeveloper)
	if a := p.see("/console/keys/new"); strings.Contains(a.body, "Managing the account") {
		t.Error("a developer is offered a management key")
	}
	form.Set("name", "Second")
	if a := p.send("/console/keys", form); a.status != http.StatusForbidden || !strings.Contains(a.body, "This is for other roles") {
		t.Errorf("a developer's management key: %d", a.status)
	}
	if a := p.see("/console/keys/" + id); a.status != http.StatusOK || strings.Contains(a.body, `id="key-name"`) || strings.Contains(a.body, "Rotate…") {
		t.Errorf("a developer is offered to change one: %d", a.status)
	}
	form.Set("name", "Stolen")
	for path, form := range map[string]url.Values{
		"": form, "/rotate": {"overlap": {"0"}}, "/disable": {}, "/delete": {}, "/end-old": {},
	} {
		if a := p.send("/console/keys/"+id+path, form); a.status != http.StatusForbidden || secretPattern.MatchString(a.body) {
			t.Errorf("a developer's %s: %d", path, a.status)
		}
	}
	// What a key is for stays as it was made, whatever a form says.
	escalate := fullForm()
	escalate.Set("name", "Plain")
	escalate.Set("kind", "management")
	escalate["scopes"] = []string{"management", "usage:read"}
	if p.send("/console/keys/"+plain, escalate); h.keyNamed("Plain").Scopes != "usage:read" {
		t.Errorf("a key became %s", h.keyNamed("Plain").Scopes)
	}
	if h.keyNamed("Maker") != before {
		t.Error("a developer changed a management key")
	}
}

func TestPagesFitTheRole(t *testing.T) {
	t.Parallel()
	h := setup(t)
	p := h.signedIn("books@example.com")
	id, _ := madeKey(t, p, url.Values{"name": {"Made"}, "mode": {"standard"}})
	h.role("books@example.com", app.RoleBilling)
	a := p.see("/console")
	if a.status != http.StatusOK || !strings.Contains(a.body, "Your role in this account is billing") || strings.Contains(a.body, "/console/keys") ||
		strings.Contains(a.body, "/console/playground") {
		t.Errorf("the overview: %d", a.status)
	}
	for _, path := range []string{"/console/keys", "/console/keys/new", "/console/keys/" + id, "/console/keys/" + id + "/rotate", "/console/playground"} {
		a := p.see(path)
		if a.status != http.StatusForbidden || !strings.Contains(a.body, "This is for other roles") || !strings.Contains(a.body, "can change your role") ||
			strings.Contains(a.body, "Try again") || strings.Contains(a.body, "Made") {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	before := h.keyNamed("Made")
	for path, form := range map[string]url.Values{
		"": fullForm(), "/" + id: fullForm(), "/" + id + "/rotate": {"overlap": {"0"}}, "/" + id + "/disable": {}, "/" + id + "/enable": {},
		"/" + id + "/end-old": {}, "/" + id + "/delete": {},
	} {
		if a := p.send("/console/keys"+path, form); a.status != http.StatusForbidden {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if h.keyNamed("Made") != before {
		t.Error("a form for other roles did something")
	}
	if a := p.see("/console/models"); a.status != http.StatusOK {
		t.Errorf("models: %d", a.status)
	}
	h.role("books@example.com", app.RoleDeveloper)
	if a := p.see("/console/billing"); a.status != http.StatusOK || strings.Contains(a.body, `action="/console/billing`) {
		t.Errorf("billing for a developer: %d", a.status)
	}
}

// TestForeignKeysAreUnknown: what is another account's is answered as what never was, by every page and form of a key.
func TestForeignKeysAreUnknown(t *testing.T) {
	t.Parallel()
	h := setup(t)
	p := h.signedIn("curious@example.com")
	id, _ := madeKey(t, h.signedIn("quiet@example.com"), url.Values{"name": {"Quiet"}, "mode": {"standard"}})
	before := h.keyNamed("Quiet")
	const none = "key_00000000000000000000000000"
	for _, path := range []string{"", "/rotate", "/end-old", "/delete"} {
		foreign, unknown := p.see("/console/keys/"+id+path), p.see("/console/keys/"+none+path)
		if foreign.status != http.StatusNotFound || strings.ReplaceAll(foreign.body, id, none) != unknown.body {
			t.Errorf("%s: %d and %d", path, foreign.status, unknown.status)
		}
	}
	for path, form := range map[string]url.Values{
		"": fullForm(), "/rotate": {"overlap": {"0"}}, "/end-old": {}, "/delete": {"name": {"Quiet"}}, "/disable": {}, "/enable": {},
	} {
		if a := p.send("/console/keys/"+id+path, form); a.status != http.StatusNotFound || strings.Contains(a.body, "Quiet") {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if h.keyNamed("Quiet") != before {
		t.Error("another account's key was changed")
	}
}

// TestAFormLeadsBackToTheListItStoodOn with its filters, and nowhere else.
func TestAFormLeadsBackToTheListItStoodOn(t *testing.T) {
	t.Parallel()
	p := setup(t).signedIn("back-to@example.com")
	id, _ := madeKey(t, p, url.Values{"name": {"Back"}, "mode": {"standard"}})
	for from, to := range map[string]string{
		"http://gateway.test/console/keys?status=active&x=1": "/console/keys?status=active", "http://gateway.test/console/keys/" + id: "/console/keys/" + id,
		"https://evil.example/console/elsewhere": "/console/keys", "": "/console/keys", "http://gateway.test/console/billing": "/console/keys",
	} {
		p.headers["Referer"] = from
		if a := p.send("/console/keys/"+id+"/disable", nil); a.header.Get("Location") != to {
			t.Errorf("from %q to %q, want %q", from, a.header.Get("Location"), to)
		}
	}
}
