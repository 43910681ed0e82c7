package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// invites asks a person to join, by keyboard, and returns the page that the mailed link leads to.
func (p *tab) invites(c customer, email string) string {
	p.t.Helper()
	p.open(c.ConsoleURL + "/console/settings/members")
	p.types("#invite-email", "not an address")
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("#invite-email-error")).ToBeVisible())
	p.focused("#invite-email")
	p.types("#invite-email", email)
	p.activates(playwright.AriaRoleButton, "Invite")
	p.sees(email + " is invited.")
	p.must(p.expect.Locator(p.Locator(`[data-testid="invitation"]`).Filter(playwright.LocatorFilterOptions{HasText: email})).ToContainText("eveloper"))
	p.check("members")
	return newPerson(p.t, c.gateway).mailedLink(p.t, "invitation", email)
}

// joins signs up through the link of an invitation, by keyboard, and accepts it.
func (p *tab) joins(c customer, link, email string) {
	p.t.Helper()
	p.open(c.ConsoleURL + link)
	p.check("offer")
	p.activates(playwright.AriaRoleLink, "Sign up")
	p.types("#email", email)
	p.types("#password", "a sentence of the newcomer")
	p.key("Enter")
	p.must(p.expect.Page(p.Page).ToHaveURL(regexp.MustCompile(regexp.QuoteMeta(link) + "$")))
	p.activates(playwright.AriaRoleButton, "Join")
	p.sees("You are developer of ")
}

// TestInvitationLeadsIntoTheAccount invites an address by keyboard; its owner signs up through the mailed link and works
// in the account, with what developers may do and nothing else. The only owner stays.
func TestInvitationLeadsIntoTheAccount(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "inviter")
	owner := newTab(t, playwright.BrowserNewContextOptions{
		ColorScheme: playwright.ColorSchemeDark, Viewport: &playwright.Size{Width: 360, Height: 800},
	})
	owner.signsIn(c.gateway, c.Email, c.Password)
	owner.must(owner.expect.Locator(owner.Locator("#balance")).ToBeVisible())
	email := fmt.Sprintf("newcomer-%d@example.com", time.Now().UnixNano())
	link := owner.invites(c, email)

	p := newTab(t, desktopSize)
	p.joins(c, link, email)
	p.open(c.ConsoleURL + "/console/keys")
	p.must(p.expect.Locator(p.Locator(`[data-testid="key"]`).Filter(playwright.LocatorFilterOptions{HasText: "inviter"})).ToHaveCount(1))
	for path, sees := range map[string]string{
		"/billing": "Available to spend", "/settings/members": "Owners and admins of the account invite people and change roles.",
	} {
		p.open(c.ConsoleURL + "/console" + path)
		p.sees(sees)
		p.must(p.expect.Locator(p.Locator(`main form[method="post"]`)).ToHaveCount(0))
	}
	p.open(c.ConsoleURL + link)
	p.sees("This invitation was accepted already.")
	asOwner := c.signedIn(t)
	if a := asOwner.visit(t, link, nil); a.status != http.StatusNotFound {
		t.Errorf("the used link for another person: %d", a.status)
	}
	owner.staysOwner(c, email)
}

// staysOwner finds the newcomer among the members, and no way out for the only owner.
func (p *tab) staysOwner(c customer, newcomer string) {
	p.t.Helper()
	p.open(c.ConsoleURL + "/console/settings/members")
	p.must(p.expect.Locator(p.Locator(`[data-testid="member"]`).Filter(playwright.LocatorFilterOptions{HasText: newcomer})).ToHaveCount(1))
	p.must(p.expect.Locator(p.Locator(`[data-testid="invitation"]`)).ToHaveCount(0))
	p.open(c.ConsoleURL + "/console/settings/account")
	p.sees("You are the only owner, so you cannot leave.")
	p.check("account")
	p.open(c.ConsoleURL + "/console/settings/members/leave")
	p.activates(playwright.AriaRoleButton, "Leave the account")
	p.sees("An account has at least one owner, and this is the only one.")
	p.open(c.ConsoleURL + "/console/settings/audit")
	p.must(p.expect.Locator(p.Locator("main table")).ToContainText("joined the account"))
	p.check("audit")
}
