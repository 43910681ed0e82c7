package console

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// invites asks a person to join, by keyboard, and returns the page that the mailed link leads to.
func invites(p *harness.Tab, c harness.Customer, email string) string {
	p.T.Helper()
	p.Open(c.ConsoleURL + "/console/settings/members")
	typeText(p, "#invite-email", "not an address")
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("#invite-email-error")).ToBeVisible())
	focused(p, "#invite-email")
	typeText(p, "#invite-email", email)
	activates(p, playwright.AriaRoleButton, "Invite")
	p.RequireText(email + " is invited.")
	p.Must(p.Expect.Locator(p.Locator(`[data-testid="invitation"]`).Filter(playwright.LocatorFilterOptions{HasText: email})).ToContainText("eveloper"))
	checkPage(p, "members")
	return harness.NewConsoleClient(p.T, c.Gateway).MailedLink(p.T, "invitation", email)
}

// joins signs up through the link of an invitation, by keyboard, and accepts it.
func joins(p *harness.Tab, c harness.Customer, link, email string) {
	p.T.Helper()
	p.Open(c.ConsoleURL + link)
	checkPage(p, "offer")
	activates(p, playwright.AriaRoleLink, "Sign up")
	typeText(p, "#email", email)
	typeText(p, "#password", "a sentence of the newcomer")
	pressKey(p, "Enter")
	p.Must(p.Expect.Page(p.Page).ToHaveURL(regexp.MustCompile(regexp.QuoteMeta(link) + "$")))
	activates(p, playwright.AriaRoleButton, "Join")
	p.RequireText("You are developer of ")
}

// TestInvitationLeadsIntoTheAccount invites an address by keyboard; its owner signs up through the mailed link and works
// in the account, with what developers may do and nothing else. The only owner stays.
func TestInvitationLeadsIntoTheAccount(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "inviter")
	owner := harness.NewTab(t, playwright.BrowserNewContextOptions{
		ColorScheme: playwright.ColorSchemeDark, Viewport: &playwright.Size{Width: 360, Height: 800},
	})
	signsIn(owner, c.Gateway, c.Email, c.Password)
	owner.Must(owner.Expect.Locator(owner.Locator("#balance")).ToBeVisible())
	email := fmt.Sprintf("newcomer-%d@example.com", time.Now().UnixNano())
	link := invites(owner, c, email)

	p := harness.NewTab(t, desktopSize)
	joins(p, c, link, email)
	p.Open(c.ConsoleURL + "/console/keys")
	p.Must(p.Expect.Locator(p.Locator(`[data-testid="key"]`).Filter(playwright.LocatorFilterOptions{HasText: "inviter"})).ToHaveCount(1))
	for path, sees := range map[string]string{
		"/billing": "Available to spend", "/settings/members": "Owners and admins of the account invite people and change roles.",
	} {
		p.Open(c.ConsoleURL + "/console" + path)
		p.RequireText(sees)
		p.Must(p.Expect.Locator(p.Locator(`main form[method="post"]`)).ToHaveCount(0))
	}
	p.Open(c.ConsoleURL + link)
	p.RequireText("This invitation was accepted already.")
	asOwner := c.SignInToConsole(t)
	if a := asOwner.Visit(t, link, nil); a.Status != http.StatusNotFound {
		t.Errorf("the used link for another person: %d", a.Status)
	}
	staysOwner(owner, c, email)
}

// staysOwner finds the newcomer among the members, and no way out for the only owner.
func staysOwner(p *harness.Tab, c harness.Customer, newcomer string) {
	p.T.Helper()
	p.Open(c.ConsoleURL + "/console/settings/members")
	p.Must(p.Expect.Locator(p.Locator(`[data-testid="member"]`).Filter(playwright.LocatorFilterOptions{HasText: newcomer})).ToHaveCount(1))
	p.Must(p.Expect.Locator(p.Locator(`[data-testid="invitation"]`)).ToHaveCount(0))
	p.Open(c.ConsoleURL + "/console/settings/account")
	p.RequireText("You are the only owner, so you cannot leave.")
	checkPage(p, "account")
	p.Open(c.ConsoleURL + "/console/settings/members/leave")
	activates(p, playwright.AriaRoleButton, "Leave the account")
	p.RequireText("An account has at least one owner, and this is the only one.")
	p.Open(c.ConsoleURL + "/console/settings/audit")
	p.Must(p.Expect.Locator(p.Locator("main table")).ToContainText("joined the account"))
	checkPage(p, "audit")
}
