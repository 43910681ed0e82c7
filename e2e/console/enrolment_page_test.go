package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// TestOperatorsOfAServerEnrolBeforeTheirPages goes the whole way in a browser, on a server that is no demo: a user who is signed in is
// made an operator, is led to set up sign-in codes, types one and is on the page they had asked for. The server sends no mail, and
// has said at its start what that means.
func TestOperatorsOfAServerEnrolBeforeTheirPages(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	server := harness.StartReplica(t, g)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	if log := server.Log.String(); !strings.Contains(log, `"accounts: no mail server, addresses are not verified"`) {
		t.Error("the server does not say that it sends no mail")
	}
	c := g.NewCustomer(t, "enrol")
	for _, screen := range []playwright.BrowserNewContextOptions{
		{ColorScheme: playwright.ColorSchemeLight, Viewport: &playwright.Size{Width: 1440, Height: 900}},
		{ColorScheme: playwright.ColorSchemeDark, Viewport: &playwright.Size{Width: 360, Height: 800}},
	} {
		p := harness.NewTab(t, screen)
		signsIn(p, server.Gateway, c.Email, c.Password)
		p.Must(p.Expect.Locator(p.Locator("#balance")).ToBeVisible())
		runsIt(t, c)
		p.Open(server.ConsoleURL + "/console/operator/catalog")
		p.RequireText("Set up sign-in codes to run this gateway")
		checkPage(p, "enrol-"+string(*screen.ColorScheme))
		typeText(p, "#current-password", c.Password)
		activates(p, playwright.AriaRoleButton, "Set up sign-in codes")
		p.RequireText("Set up sign-in codes to run this gateway")
		checkPage(p, "setup-"+string(*screen.ColorScheme))
		secret, err := p.Locator("#totp-secret").TextContent()
		p.Must(err)
		typeText(p, "#code", newDevice(t, secret).code(t))
		pressKey(p, "Enter")
		p.RequireText("This is the only time these codes are shown")
		activates(p, playwright.AriaRoleLink, "I stored them")
		p.Must(p.Expect.Page(p.Page).ToHaveURL(regexp.MustCompile(`/console/operator/catalog$`)))
		// The next screen must begin in the same state as this one.
		if _, err := g.DB(t).Exec(`delete from totp_secrets`); err != nil {
			t.Fatal(err)
		}
	}

	plain := harness.NewConsoleClient(t, server.Gateway)
	a := plain.Visit(t, "/console/sign-in", url.Values{"email": {c.Email}, "password": {c.Password}, "next": {"/console/operator/queues"}})
	if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/console/settings/security" {
		t.Fatalf("an operator signs in: %d %s", a.Status, a.Header.Get("Location"))
	}
	enrols(t, plain, c.Password)
	if a := plain.Visit(t, "/console/operator/queues", nil); a.Status != http.StatusOK {
		t.Errorf("after enrolling: %d", a.Status)
	}
	// Operators of the demo need no second factor.
	demo := harness.NewConsoleClient(t, g)
	if _, err := g.DB(t).Exec(`delete from totp_secrets`); err != nil {
		t.Fatal(err)
	}
	demo.SignIn(t, c.Email, c.Password)
	if a := demo.Visit(t, "/console/operator/queues", nil); a.Status != http.StatusOK {
		t.Errorf("the demo: %d", a.Status)
	}
}
