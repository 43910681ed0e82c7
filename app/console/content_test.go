package console_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/console"
	"umg/app/contentlog"
	"umg/app/postgres/pgtest"
	"umg/app/simulator"
)

// keeping is a console over the simulator that keeps content.
func keeping(t *testing.T) (*fixture, *contentlog.Service) {
	t.Helper()
	db := pgtest.New(t)
	file, err := catalog.ParseFile(catalog.Default())
	if err == nil {
		err = catalog.Apply(t.Context(), db, file)
	}
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(simulator.New(simulator.Options{}))
	t.Cleanup(upstream.Close)
	ids := app.IDs{Now: time.Now, Random: rand.Reader}
	history := audit.New(db, time.Now, ids)
	room := contentlog.New(db, contentlog.Options{Audit: history, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	return newFixture(t, db, db, map[string]string{"UMG_SIMULATOR_URL": upstream.URL, "UMG_SIMULATOR_KEY": "any"},
		func(o *console.Options) { o.Content, o.Audit = room, history }), room
}

func TestContentOfThePlaygroundIsShownToWhoMaySeeItAndUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	h, room := keeping(t)
	p, stranger := h.signedIn("keeps@example.com"), h.signedIn("stranger@example.com")
	// ask makes a call and returns the address of its page, once what waits is written.
	ask := func(stream string) string {
		t.Helper()
		events := p.stream(url.Values{"model": {allStyles}, "style": {"chat"}, "stream": {stream},
			"prompt": {"echo: <i>my key</i> sk-umg-" + strings.Repeat("aB3", 12)}})
		ended, end := context.WithCancel(t.Context())
		end()
		if err := room.Run(ended); err != nil { // Run flushes once more when its context ends.
			t.Fatal(err)
		}
		return "/console/requests/" + events[len(events)-1].Request
	}
	const choose = "/console/settings/account/content"
	has(t, "the settings", p.see("/console/settings/account"), 200, "Content of calls", `value="never" checked`, "Nothing is kept now")
	has(t, "before a choice", p.see(ask("true")), 200, `data-content="off"`, "Choose what is kept")
	for field, form := range map[string]url.Values{
		"content-days-error": {"keep": {"all"}, "days": {"91"}}, "content-keep-error": {"keep": {"some"}, "days": {"30"}},
	} {
		has(t, field, p.send(choose, form), http.StatusUnprocessableEntity, `id="`+field+`"`)
	}
	has(t, "keys that ask", p.send(choose, url.Values{"keep": {"asked"}, "days": {"7"}}), http.StatusSeeOther)
	has(t, "the form of a key", p.see("/console/keys/new"), 200, "stores the content of keys that opt in, for 7 days")
	has(t, "the playground, with keys that ask", p.see(ask("")), 200, `data-content="played"`)
	has(t, "all", p.send(choose, url.Values{"keep": {"all"}, "days": {"7"}}), http.StatusSeeOther)

	whole, streamed := ask(""), ask("true")
	for _, path := range []string{whole, streamed} {
		a := p.see(path)
		has(t, "kept", a, 200, `data-content="kept"`, "&lt;i&gt;my key&lt;/i&gt; [redacted API key]", "2 secrets were taken out", `class="request-content" hx-ignore`)
		if strings.Contains(a.body, "<i>my key") || strings.Contains(a.body, "aB3aB3") {
			t.Errorf("%s shows markup or a secret", path)
		}
		has(t, "a stranger", stranger.see(path), http.StatusNotFound)
		has(t, "a stranger who asks to delete", stranger.see(path+"/content/delete"), http.StatusNotFound)
		has(t, "a stranger who deletes", stranger.send(path+"/content/delete", nil), http.StatusNotFound)
	}
	has(t, "the settings", p.see("/console/settings/account"), 200, "are kept now", "Delete stored content now")

	h.role("keeps@example.com", app.RoleBilling)
	has(t, "for billing people", p.see(whole), 200, `data-content="hidden"`)
	has(t, "billing people who delete", p.send(whole+"/content/delete", nil), http.StatusForbidden)
	h.role("keeps@example.com", app.RoleDeveloper)
	has(t, "for developers", p.see(whole), 200, `data-content="kept"`)
	has(t, "developers who choose", p.send(choose, url.Values{"keep": {"never"}, "days": {"7"}}), http.StatusForbidden)
	has(t, "the settings for developers", p.see("/console/settings/account"), 200, "the content of all calls, for 7 days")
	has(t, "the question", p.see(whole+"/content/delete"), 200, "Delete the content of this call")
	has(t, "one is deleted", p.send(whole+"/content/delete", nil), http.StatusSeeOther)
	has(t, "a deleted one", p.see(whole), 200, `data-content="deleted"`, "A member of this account deleted it")

	h.role("keeps@example.com", app.RoleOwner)
	has(t, "the question about all", p.see(choose+"/delete"), 200, "Delete all stored content")
	has(t, "all is deleted", p.send(choose+"/delete", nil), http.StatusSeeOther)
	has(t, "one of all", p.see(streamed), 200, `data-content="cleared"`)
	log := p.see("/console/settings/audit").body
	for _, words := range []string{"changed what is kept of the calls of", "deleted all kept content of", "deleted the kept content of the call"} {
		if !strings.Contains(log, words) {
			t.Errorf("the audit log lacks %q", words)
		}
	}
}
