package console

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// TestConsoleFirstProofWithoutASession opens the link to an address in a browser that is not signed in, by keyboard alone. The person
// who knows the password verifies with it and is signed in. The owner of an address with which a stranger signed up chooses a new
// password, and the stranger has nothing left.
func TestConsoleFirstProofWithoutASession(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	const password, fresh = "a quiet sentence to keep", "another quiet sentence"
	email := fmt.Sprintf("elsewhere-%d@example.com", time.Now().UnixNano())
	signUp := harness.NewConsoleClient(t, g)
	signUp.SignUp(t, email, password)
	p := harness.NewTab(t, desktopSize)
	p.Open(g.ConsoleURL + signUp.MailedLink(t, "verify_email", email))
	typeText(p, "#password", password)
	pressKey(p, "Enter")
	p.RequireText(email + " is verified.")
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToContainText("$5"))
	signUp.RequireSignedOut(t)

	squatter, address := harness.NewConsoleClient(t, g), "owner-"+email
	squatter.SignUp(t, address, password)
	owner := harness.NewTab(t, desktopSize)
	owner.Open(g.ConsoleURL + squatter.MailedLink(t, "verify_email", address))
	checkPage(owner, "verify-out")
	typeText(owner, "#password", "not the password")
	pressKey(owner, "Enter")
	owner.Must(owner.Expect.Locator(owner.Locator("#password-error")).ToBeVisible())
	focused(owner, "#password")
	squatter.RequireSignedIn(t)
	activates(owner, playwright.AriaRoleButton, "Choose a new password")
	owner.RequireText("Check your mail")
	owner.Open(g.ConsoleURL + squatter.MailedLink(t, "reset_password", address))
	typeText(owner, "#password", fresh)
	pressKey(owner, "Enter")
	owner.RequireText("Sign in with your new password.")
	squatter.RequireSignedOut(t)
	if a := squatter.SignIn(t, address, password); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("the squatter signs in: %d", a.Status)
	}
	if a := harness.NewConsoleClient(t, g).SignIn(t, address, fresh); a.Status != http.StatusSeeOther {
		t.Errorf("the owner signs in: %d", a.Status)
	}
}
