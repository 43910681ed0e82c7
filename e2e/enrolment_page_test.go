package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// TestOperatorsOfAServerEnrolBeforeTheirPages goes the whole way in a browser, on a server that is no demo: a user who is signed in is
// made an operator, is led to set up sign-in codes, types one and is on the page they had asked for. The server sends no mail, and
// has said at its start what that means.
func TestOperatorsOfAServerEnrolBeforeTheirPages(t *testing.T) {
	t.Parallel()
	g := start(t)
	server := serve(t, g)
	t.Cleanup(func() {
		if err := server.stop(); err != nil {
			t.Error(err)
		}
	})
	if log := server.log.String(); !strings.Contains(log, `"accounts: no mail server, addresses are not verified"`) {
		t.Error("the server does not say that it sends no mail")
	}
	c := g.newCustomer(t, "enrol")
	for _, screen := range []playwright.BrowserNewContextOptions{
		{ColorScheme: playwright.ColorSchemeLight, Viewport: &playwright.Size{Width: 1440, Height: 900}},
		{ColorScheme: playwright.ColorSchemeDark, Viewport: &playwright.Size{Width: 360, Height: 800}},
	} {
		p := newTab(t, screen)
		p.signsIn(server.gateway, c.Email, c.Password)
		p.must(p.expect.Locator(p.Locator("#balance")).ToBeVisible())
		c.runsIt(t)
		p.open(server.ConsoleURL + "/console/operator/catalog")
		p.sees("Set up sign-in codes to run this gateway")
		p.check("enrol-" + string(*screen.ColorScheme))
		p.types("#current-password", c.Password)
		p.activates(playwright.AriaRoleButton, "Set up sign-in codes")
		p.sees("Set up sign-in codes to run this gateway")
		p.check("setup-" + string(*screen.ColorScheme))
		secret, err := p.Locator("#totp-secret").TextContent()
		p.must(err)
		p.types("#code", newDevice(t, secret).code(t))
		p.key("Enter")
		p.sees("This is the only time these codes are shown")
		p.activates(playwright.AriaRoleLink, "I stored them")
		p.must(p.expect.Page(p.Page).ToHaveURL(regexp.MustCompile(`/console/operator/catalog$`)))
		// The next screen must begin in the same state as this one.
		if _, err := g.db(t).Exec(`delete from totp_secrets`); err != nil {
			t.Fatal(err)
		}
	}

	plain := newPerson(t, server.gateway)
	a := plain.visit(t, "/console/sign-in", url.Values{"email": {c.Email}, "password": {c.Password}, "next": {"/console/operator/queues"}})
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/settings/security" {
		t.Fatalf("an operator signs in: %d %s", a.status, a.header.Get("Location"))
	}
	plain.enrols(t, c.Password)
	if a := plain.visit(t, "/console/operator/queues", nil); a.status != http.StatusOK {
		t.Errorf("after enrolling: %d", a.status)
	}
	// Operators of the demo need no second factor.
	demo := newPerson(t, g)
	if _, err := g.db(t).Exec(`delete from totp_secrets`); err != nil {
		t.Fatal(err)
	}
	demo.signIn(t, c.Email, c.Password)
	if a := demo.visit(t, "/console/operator/queues", nil); a.status != http.StatusOK {
		t.Errorf("the demo: %d", a.status)
	}
}
