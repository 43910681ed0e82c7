package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// TestConsoleFirstProofWithoutASession opens the link to an address in a browser that is not signed in, by keyboard alone. The person
// who knows the password verifies with it and is signed in. The owner of an address with which a stranger signed up chooses a new
// password, and the stranger has nothing left.
func TestConsoleFirstProofWithoutASession(t *testing.T) {
	t.Parallel()
	g := running(t)
	const password, fresh = "a quiet sentence to keep", "another quiet sentence"
	email := fmt.Sprintf("elsewhere-%d@example.com", time.Now().UnixNano())
	signUp := newPerson(t, g)
	signUp.signUp(t, email, password)
	p := newTab(t, desktopSize)
	p.open(g.ConsoleURL + signUp.mailedLink(t, "verify_email", email))
	p.types("#password", password)
	p.key("Enter")
	p.sees(email + " is verified.")
	p.must(p.expect.Locator(p.Locator("#balance")).ToContainText("$5"))
	signUp.out(t)

	squatter, address := newPerson(t, g), "owner-"+email
	squatter.signUp(t, address, password)
	owner := newTab(t, desktopSize)
	owner.open(g.ConsoleURL + squatter.mailedLink(t, "verify_email", address))
	owner.check("verify-out")
	owner.types("#password", "not the password")
	owner.key("Enter")
	owner.must(owner.expect.Locator(owner.Locator("#password-error")).ToBeVisible())
	owner.focused("#password")
	squatter.in(t)
	owner.activates(playwright.AriaRoleButton, "Choose a new password")
	owner.sees("Check your mail")
	owner.open(g.ConsoleURL + squatter.mailedLink(t, "reset_password", address))
	owner.types("#password", fresh)
	owner.key("Enter")
	owner.sees("Sign in with your new password.")
	squatter.out(t)
	if a := squatter.signIn(t, address, password); a.status != http.StatusUnprocessableEntity {
		t.Errorf("the squatter signs in: %d", a.status)
	}
	if a := newPerson(t, g).signIn(t, address, fresh); a.status != http.StatusSeeOther {
		t.Errorf("the owner signs in: %d", a.status)
	}
}
