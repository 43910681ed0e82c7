package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/pquerna/otp/hotp"
)

// nextKey says which key leads towards an element, nothing when the keyboard is on it. Who is at the beginning of a page and
// wants its content follows the link that skips the navigation.
const nextKey = `e => {
	const at = document.activeElement;
	if (at === e) return "";
	if (at.matches(".skip-link") && e.closest("main")) return "Enter";
	return at !== document.body && at.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_PRECEDING ? "Shift+Tab" : "Tab";
}`

// reach goes by the tabulator until the keyboard is on what is looked for.
func (p *tab) reach(what playwright.Locator) {
	p.t.Helper()
	const stepsMax = 60
	p.must(p.expect.Locator(what).ToBeVisible())
	for range stepsMax {
		key, err := what.Evaluate(nextKey, nil)
		p.must(err)
		if key == "" {
			return
		}
		p.key(key.(string))
	}
	p.t.Fatalf("the tabulator does not lead to %v on %s", what, p.URL())
}

// types puts a text into a field by keyboard alone.
func (p *tab) types(selector, text string) {
	p.t.Helper()
	p.reach(p.Locator(selector).First())
	p.key("ControlOrMeta+a")
	p.must(p.Keyboard().Type(text))
}

// activates reaches a button or a link and presses it.
func (p *tab) activates(role *playwright.AriaRole, name string) {
	p.t.Helper()
	p.reach(p.GetByRole(*role, playwright.PageGetByRoleOptions{Name: name, Exact: new(true)}).First())
	p.key("Enter")
}

// signsIn fills the form by keyboard; where it leads is the caller's to see.
func (p *tab) signsIn(g *gateway, email, password string) {
	p.t.Helper()
	p.open(g.ConsoleURL + "/console/sign-in")
	p.types("#email", email)
	p.types("#password", password)
	p.key("Enter")
}

// out insists that the person's session is over.
func (p *person) out(t *testing.T) {
	t.Helper()
	if a := p.visit(t, "/console", nil); a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/console/sign-in") {
		t.Errorf("the session is still good: %d %s", a.status, a.header.Get("Location"))
	}
}

// in insists that the person is signed in.
func (p *person) in(t *testing.T) {
	t.Helper()
	if a := p.visit(t, "/console", nil); a.status != http.StatusOK {
		t.Errorf("not signed in: %d %s", a.status, a.header.Get("Location"))
	}
}

// device shows the codes of a seed, each once.
type device struct {
	secret string
	last   uint64
}

// code is the next code that was not shown, never further ahead than the server takes.
func (d *device) code(t *testing.T) string {
	t.Helper()
	d.last = max(d.last+1, uint64(time.Now().Unix()/30))
	code, err := hotp.GenerateCode(d.secret, d.last)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

var (
	seedPattern     = regexp.MustCompile(`id="totp-secret"[^>]*>([A-Z2-7 ]+)<`)
	recoveryPattern = regexp.MustCompile(`<code>([0-9a-z]{5}-[0-9a-z]{5})</code>`)
)

func newDevice(t *testing.T, secret string) *device {
	t.Helper()
	secret = strings.ReplaceAll(strings.TrimSpace(secret), " ", "")
	if len(secret) != 32 {
		t.Fatalf("the secret is %d characters long", len(secret))
	}
	return &device{secret: secret}
}

// enrols sets the second step up by plain forms.
func (p *person) enrols(t *testing.T, password string) (*device, []string) {
	t.Helper()
	const base = "/console/settings/security/codes"
	p.visit(t, base, url.Values{"current_password": {password}})
	found := seedPattern.FindStringSubmatch(p.visit(t, base, nil).body)
	if found == nil {
		t.Fatal("no secret is shown")
	}
	d := newDevice(t, found[1])
	a := p.visit(t, base+"/confirm", url.Values{"code": {d.code(t)}})
	var codes []string
	for _, code := range recoveryPattern.FindAllStringSubmatch(a.body, -1) {
		codes = append(codes, code[1])
	}
	if a.status != http.StatusOK || len(codes) != 10 {
		t.Fatalf("confirm: %d, %d recovery codes", a.status, len(codes))
	}
	return d, codes
}

// TestSignInForgottenPassword asks for a link, sets a password with it and signs in, by keyboard alone. Sessions of before,
// the old password and the used link no longer work. The answers do not show whether an address has signed up.
func TestSignInForgottenPassword(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "forgets")
	old := c.signedIn(t)
	p := newTab(t, desktopSize)
	p.open(c.ConsoleURL + "/console/sign-in")
	p.activates(playwright.AriaRoleLink, "Forgot your password?")
	p.must(p.WaitForURL("**/console/forgot"))
	p.types("#email", "not an address")
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("#email-error")).ToBeVisible())
	p.focused("#email")
	p.types("#email", c.Email)
	p.key("Enter")
	p.sees("Check your mail")
	p.check("forgot")
	unknown := fmt.Sprintf("unknown-%d@example.com", time.Now().UnixNano())
	if a := old.visit(t, "/console/forgot", url.Values{"email": {unknown}}); a.status != http.StatusOK || !strings.Contains(a.body, "Check your mail") {
		t.Errorf("an unknown address: %d", a.status)
	}

	link := old.mailedLink(t, "reset_password", c.Email)
	// The link alone, and opening it, change nothing.
	old.in(t)
	p.open(c.ConsoleURL + link)
	p.types("#password", "short")
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("#password-error")).ToBeVisible())
	const fresh = "another quiet sentence"
	p.types("#password", fresh)
	p.key("Enter")
	p.sees("Sign in with your new password.")
	p.check("reset")
	old.out(t)
	if a := old.signIn(t, c.Email, c.Password); a.status != http.StatusUnprocessableEntity {
		t.Errorf("the old password: %d", a.status)
	}
	path, token, _ := strings.Cut(link, "?token=")
	if a := old.visit(t, path, url.Values{"token": {token}, "password": {"a third quiet sentence"}}); a.status != http.StatusConflict && a.status != http.StatusNotFound {
		t.Errorf("the link a second time: %d", a.status)
	}
	p.activates(playwright.AriaRoleLink, "Sign in")
	p.types("#email", c.Email)
	p.types("#password", fresh)
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("#balance")).ToBeVisible())
}

// TestSignInCodes sets up the second step by keyboard, signs in with a code and with a recovery code, and turns it off. A
// wrong code, and the same code twice, open nothing.
func TestSignInCodes(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "codes")
	p := newTab(t, playwright.BrowserNewContextOptions{
		ColorScheme: playwright.ColorSchemeDark, Viewport: &playwright.Size{Width: 360, Height: 800},
	})
	p.signsIn(c.gateway, c.Email, c.Password)
	p.must(p.expect.Locator(p.Locator("#balance")).ToBeVisible())
	p.open(c.ConsoleURL + "/console/settings/security")
	p.check("security")
	p.types("#current-password", c.Password)
	p.activates(playwright.AriaRoleButton, "Set up sign-in codes")
	secret, err := p.Locator("#totp-secret").TextContent()
	p.must(err)
	d := newDevice(t, secret)
	p.check("setup")
	p.types("#code", "000000")
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("#code-error")).ToBeVisible())
	p.types("#code", d.code(t))
	p.key("Enter")
	p.sees("This is the only time these codes are shown")
	p.check("recovery")
	codes, err := p.Locator(".codes code").AllTextContents()
	p.must(err)
	if len(codes) != 10 {
		t.Fatalf("%d recovery codes", len(codes))
	}
	p.signsOut()

	code := d.code(t)
	p.signsIn(c.gateway, c.Email, c.Password)
	p.focused("#code")
	p.check("code")
	// A password without a code opens no page.
	p.open(c.ConsoleURL + "/console/keys")
	p.must(p.expect.Page(p.Page).ToHaveURL(regexp.MustCompile(`/console/sign-in\?next=`)))
	p.open(c.ConsoleURL + "/console/sign-in/code")
	p.refusesCode("000000")
	p.types("#code", code)
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("#balance")).ToBeVisible())
	p.signsOut()

	p.signsIn(c.gateway, c.Email, c.Password)
	p.focused("#code")
	p.refusesCode(code)
	p.activates(playwright.AriaRoleLink, "I do not have my device")
	p.refusesCode("00000-00000")
	p.types("#code", codes[0])
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("#balance")).ToBeVisible())
	other := newPerson(t, c.gateway)
	other.signIn(t, c.Email, c.Password)
	if a := other.visit(t, "/console/sign-in/code", url.Values{"code": {codes[0]}, "with": {"recovery"}}); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a recovery code a second time: %d", a.status)
	}
	p.turnsCodesOff(c, codes[1])
}

// turnsCodesOff ends the second step by keyboard, after which the password alone signs in.
func (p *tab) turnsCodesOff(c customer, recovery string) {
	p.t.Helper()
	p.open(c.ConsoleURL + "/console/settings/security")
	p.sees("9 recovery codes are left")
	p.activates(playwright.AriaRoleLink, "Turn off")
	p.types("#current-password", "not the password")
	p.types("#code", recovery)
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("#current-password-error")).ToBeVisible())
	p.types("#current-password", c.Password)
	p.types("#code", recovery)
	p.key("Enter")
	p.sees("Sign-in codes were turned off.")
	if a := newPerson(p.t, c.gateway).signIn(p.t, c.Email, c.Password); a.header.Get("Location") != "/console" {
		p.t.Errorf("sign-in without codes leads to %q", a.header.Get("Location"))
	}
}

// refusesCode insists that a code does not sign in, and that the keyboard is where the next one is typed.
func (p *tab) refusesCode(code string) {
	p.t.Helper()
	p.types("#code", code)
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("#code-error")).ToBeVisible())
	p.focused("#code")
}

// signsOut goes through the menu of the account.
func (p *tab) signsOut() {
	p.t.Helper()
	p.reach(p.Locator("#account-menu-button"))
	p.key("Enter")
	p.activates(playwright.AriaRoleButton, "Sign out")
	p.must(p.WaitForURL("**/console/sign-in"))
}

// TestSignInSessionsAddressAndPassword ends another browser's session from the list, changes the address by the link that
// is mailed there, and the password, by keyboard alone.
func TestSignInSessionsAddressAndPassword(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "moves")
	p := newTab(t, desktopSize)
	p.signsIn(c.gateway, c.Email, c.Password)
	p.must(p.expect.Locator(p.Locator("#balance")).ToBeVisible())
	other := c.signedIn(t)
	p.open(c.ConsoleURL + "/console/settings/security")
	row := p.Locator(`[data-testid="session"]`).Filter(playwright.LocatorFilterOptions{HasText: "Go program"})
	// The session of the sign-up belongs to a program, too.
	for n, err := row.Count(); n > 1; n, err = row.Count() {
		p.must(err)
		p.reach(row.GetByRole("button").First())
		p.key("Enter")
		p.must(p.expect.Locator(row).ToHaveCount(n - 1))
	}
	p.reach(row.GetByRole("button"))
	p.key("Enter")
	p.sees("You are signed in nowhere else.")
	other.out(t)

	p.open(c.ConsoleURL + "/console/settings")
	p.check("profile")
	moved := "new-" + c.Email
	p.types("#new-email", moved)
	p.types("#email-password", c.Password)
	p.key("Enter")
	p.sees("A link is on its way to " + moved)
	link := newPerson(t, c.gateway).mailedLink(t, "change_email", moved)
	p.open(c.ConsoleURL + link)
	p.activates(playwright.AriaRoleButton, "Use this address")
	p.sees("From now on you sign in with")
	if a := newPerson(t, c.gateway).signIn(t, c.Email, c.Password); a.status != http.StatusUnprocessableEntity {
		t.Errorf("the old address: %d", a.status)
	}
	if n := c.mails(t, c.db(t), "email_changed"); n != 1 {
		t.Errorf("%d mails tell the old address", n)
	}
	c.Email = moved
	other = c.signedIn(t)
	if a := other.visit(t, link, nil); a.status != http.StatusConflict && a.status != http.StatusNotFound {
		t.Errorf("the link a second time: %d", a.status)
	}

	p.open(c.ConsoleURL + "/console/settings")
	p.types("#current-password", "not the password")
	p.types("#password", "a sentence that is new")
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("#current-password-error")).ToBeVisible())
	other.in(t)
	p.types("#current-password", c.Password)
	p.types("#password", "a sentence that is new")
	p.key("Enter")
	p.sees("Your password was changed, and all other sessions were ended.")
	other.out(t)
	c.Password = "a sentence that is new"
	c.signedIn(t).in(t)
}

// TestOperatorHelpsPeopleSignIn hands out a link for a new password and turns lost sign-in codes off, from the command line.
func TestOperatorHelpsPeopleSignIn(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "locked-out")
	p, other := c.signedIn(t), c.signedIn(t)
	d, _ := p.enrols(t, c.Password)
	env := []string{"DATABASE_URL=" + c.databaseURL(t), "UMG_BASE_URL=" + c.ConsoleURL}
	out, status := run(t, env, "operator", "reset-link", c.Email)
	link, ok := strings.CutPrefix(strings.TrimSpace(out), c.ConsoleURL)
	if status != 0 || !ok {
		t.Fatalf("reset-link: %d %s", status, out)
	}
	path, token, _ := strings.Cut(link, "?token=")
	c.Password = "chosen with a handed link"
	if a := p.visit(t, path, url.Values{"token": {token}, "password": {c.Password}}); a.status != http.StatusOK {
		t.Fatalf("the link: %d %s", a.status, a.body)
	}
	p.out(t)
	other.out(t)
	if a := p.signIn(t, c.Email, c.Password); a.header.Get("Location") != "/console/sign-in/code" {
		t.Errorf("a new password went around the second step: %q", a.header.Get("Location"))
	}
	if out, status := run(t, env, "operator", "disable-mfa", c.Email); status != 0 {
		t.Fatalf("disable-mfa: %d %s", status, out)
	}
	if a := p.visit(t, "/console/sign-in/code", url.Values{"code": {d.code(t)}}); a.status == http.StatusOK {
		t.Errorf("the half sign-in of before: %d", a.status)
	}
	c.signedIn(t).in(t)
	for _, command := range []string{"reset-link", "disable-mfa"} {
		if out, status := run(t, env, "operator", command, "nobody-at-all@example.com"); status == 0 || !strings.Contains(out, "Nobody has signed up") {
			t.Errorf("%s for an unknown address: %d %s", command, status, out)
		}
	}
	if out, status := run(t, env, "operator", "disable-mfa", c.Email); status == 0 || !strings.Contains(out, "not on") {
		t.Errorf("disable-mfa twice: %d %s", status, out)
	}
}
