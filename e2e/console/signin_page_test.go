package console

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
	"umg/e2e/harness"
)

// nextKey says which key leads towards an element, nothing when the keyboard is on it. Who is at the beginning of a page and
// wants its content follows the link that skips the navigation.
const nextKey = `e => {
	const at = document.activeElement;
	if (at === e) return "";
	if (at.matches(".skip-link") && e.closest("main")) return "Enter";
	return at !== document.body && at.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_PRECEDING ? "Shift+Tab" : "Tab";
}`

// reachByKeyboard goes by the tabulator until the keyboard is on what is looked for.
func reachByKeyboard(p *harness.Tab, what playwright.Locator) {
	p.T.Helper()
	const stepsMax = 60
	p.Must(p.Expect.Locator(what).ToBeVisible())
	for range stepsMax {
		key, err := what.Evaluate(nextKey, nil)
		p.Must(err)
		if key == "" {
			return
		}
		pressKey(p, key.(string))
	}
	p.T.Fatalf("the tabulator does not lead to %v on %s", what, p.URL())
}

// typeText puts a text into a field by keyboard alone.
func typeText(p *harness.Tab, selector, text string) {
	p.T.Helper()
	reachByKeyboard(p, p.Locator(selector).First())
	pressKey(p, "ControlOrMeta+a")
	p.Must(p.Keyboard().Type(text))
}

// activates reaches a button or a link and presses it.
func activates(p *harness.Tab, role *playwright.AriaRole, name string) {
	p.T.Helper()
	reachByKeyboard(p, p.GetByRole(*role, playwright.PageGetByRoleOptions{Name: name, Exact: new(true)}).First())
	pressKey(p, "Enter")
}

// signsIn fills the form by keyboard; where it leads is the caller's to see.
func signsIn(p *harness.Tab, g *harness.Gateway, email, password string) {
	p.T.Helper()
	p.Open(g.ConsoleURL + "/console/sign-in")
	typeText(p, "#email", email)
	typeText(p, "#password", password)
	pressKey(p, "Enter")
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
func enrols(t *testing.T, p *harness.ConsoleClient, password string) (*device, []string) {
	t.Helper()
	const base = "/console/settings/security/codes"
	p.Visit(t, base, url.Values{"current_password": {password}})
	found := seedPattern.FindStringSubmatch(p.Visit(t, base, nil).Body)
	if found == nil {
		t.Fatal("no secret is shown")
	}
	d := newDevice(t, found[1])
	a := p.Visit(t, base+"/confirm", url.Values{"code": {d.code(t)}})
	var codes []string
	for _, code := range recoveryPattern.FindAllStringSubmatch(a.Body, -1) {
		codes = append(codes, code[1])
	}
	if a.Status != http.StatusOK || len(codes) != 10 {
		t.Fatalf("confirm: %d, %d recovery codes", a.Status, len(codes))
	}
	return d, codes
}

// TestSignInForgottenPassword asks for a link, sets a password with it and signs in, by keyboard alone. Sessions of before,
// the old password and the used link no longer work. The answers do not show whether an address has signed up.
func TestSignInForgottenPassword(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "forgets")
	old := c.SignInToConsole(t)
	p := harness.NewTab(t, desktopSize)
	p.Open(c.ConsoleURL + "/console/sign-in")
	activates(p, playwright.AriaRoleLink, "Forgot your password?")
	p.Must(p.WaitForURL("**/console/forgot"))
	typeText(p, "#email", "not an address")
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("#email-error")).ToBeVisible())
	focused(p, "#email")
	typeText(p, "#email", c.Email)
	pressKey(p, "Enter")
	p.RequireText("Check your mail")
	checkPage(p, "forgot")
	unknown := fmt.Sprintf("unknown-%d@example.com", time.Now().UnixNano())
	if a := old.Visit(t, "/console/forgot", url.Values{"email": {unknown}}); a.Status != http.StatusOK || !strings.Contains(a.Body, "Check your mail") {
		t.Errorf("an unknown address: %d", a.Status)
	}

	link := old.MailedLink(t, "reset_password", c.Email)
	// The link alone, and opening it, change nothing.
	old.RequireSignedIn(t)
	p.Open(c.ConsoleURL + link)
	typeText(p, "#password", "short")
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("#password-error")).ToBeVisible())
	const fresh = "another quiet sentence"
	typeText(p, "#password", fresh)
	pressKey(p, "Enter")
	p.RequireText("Sign in with your new password.")
	checkPage(p, "reset")
	old.RequireSignedOut(t)
	if a := old.SignIn(t, c.Email, c.Password); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("the old password: %d", a.Status)
	}
	path, token, _ := strings.Cut(link, "?token=")
	if a := old.Visit(t, path, url.Values{"token": {token}, "password": {"a third quiet sentence"}}); a.Status != http.StatusConflict && a.Status != http.StatusNotFound {
		t.Errorf("the link a second time: %d", a.Status)
	}
	activates(p, playwright.AriaRoleLink, "Sign in")
	typeText(p, "#email", c.Email)
	typeText(p, "#password", fresh)
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToBeVisible())
}

// TestSignInCodes sets up the second step by keyboard, signs in with a code and with a recovery code, and turns it off. A
// wrong code, and the same code twice, open nothing.
func TestSignInCodes(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "codes")
	p := harness.NewTab(t, playwright.BrowserNewContextOptions{
		ColorScheme: playwright.ColorSchemeDark, Viewport: &playwright.Size{Width: 360, Height: 800},
	})
	signsIn(p, c.Gateway, c.Email, c.Password)
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToBeVisible())
	p.Open(c.ConsoleURL + "/console/settings/security")
	checkPage(p, "security")
	typeText(p, "#current-password", c.Password)
	activates(p, playwright.AriaRoleButton, "Set up sign-in codes")
	secret, err := p.Locator("#totp-secret").TextContent()
	p.Must(err)
	d := newDevice(t, secret)
	checkPage(p, "setup")
	typeText(p, "#code", "000000")
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("#code-error")).ToBeVisible())
	typeText(p, "#code", d.code(t))
	pressKey(p, "Enter")
	p.RequireText("This is the only time these codes are shown")
	checkPage(p, "recovery")
	codes, err := p.Locator(".codes code").AllTextContents()
	p.Must(err)
	if len(codes) != 10 {
		t.Fatalf("%d recovery codes", len(codes))
	}
	signsOut(p)

	code := d.code(t)
	signsIn(p, c.Gateway, c.Email, c.Password)
	focused(p, "#code")
	checkPage(p, "code")
	// A password without a code opens no page.
	p.Open(c.ConsoleURL + "/console/keys")
	p.Must(p.Expect.Page(p.Page).ToHaveURL(regexp.MustCompile(`/console/sign-in\?next=`)))
	p.Open(c.ConsoleURL + "/console/sign-in/code")
	refusesCode(p, "000000")
	typeText(p, "#code", code)
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToBeVisible())
	signsOut(p)

	signsIn(p, c.Gateway, c.Email, c.Password)
	focused(p, "#code")
	refusesCode(p, code)
	activates(p, playwright.AriaRoleLink, "I do not have my device")
	refusesCode(p, "00000-00000")
	typeText(p, "#code", codes[0])
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToBeVisible())
	other := harness.NewConsoleClient(t, c.Gateway)
	other.SignIn(t, c.Email, c.Password)
	if a := other.Visit(t, "/console/sign-in/code", url.Values{"code": {codes[0]}, "with": {"recovery"}}); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("a recovery code a second time: %d", a.Status)
	}
	turnsCodesOff(p, c, codes[1])
}

// turnsCodesOff ends the second step by keyboard, after which the password alone signs in.
func turnsCodesOff(p *harness.Tab, c harness.Customer, recovery string) {
	p.T.Helper()
	p.Open(c.ConsoleURL + "/console/settings/security")
	p.RequireText("9 recovery codes are left")
	activates(p, playwright.AriaRoleLink, "Turn off")
	typeText(p, "#current-password", "not the password")
	typeText(p, "#code", recovery)
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("#current-password-error")).ToBeVisible())
	typeText(p, "#current-password", c.Password)
	typeText(p, "#code", recovery)
	pressKey(p, "Enter")
	p.RequireText("Sign-in codes were turned off.")
	if a := harness.NewConsoleClient(p.T, c.Gateway).SignIn(p.T, c.Email, c.Password); a.Header.Get("Location") != "/console" {
		p.T.Errorf("sign-in without codes leads to %q", a.Header.Get("Location"))
	}
}

// refusesCode insists that a code does not sign in, and that the keyboard is where the next one is typed.
func refusesCode(p *harness.Tab, code string) {
	p.T.Helper()
	typeText(p, "#code", code)
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("#code-error")).ToBeVisible())
	focused(p, "#code")
}

// signsOut goes through the menu of the account.
func signsOut(p *harness.Tab) {
	p.T.Helper()
	reachByKeyboard(p, p.Locator("#account-menu-button"))
	pressKey(p, "Enter")
	activates(p, playwright.AriaRoleButton, "Sign out")
	p.Must(p.WaitForURL("**/console/sign-in"))
}

// TestSignInSessionsAddressAndPassword ends another browser's session from the list, changes the address by the link that
// is mailed there, and the password, by keyboard alone.
func TestSignInSessionsAddressAndPassword(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "moves")
	p := harness.NewTab(t, desktopSize)
	signsIn(p, c.Gateway, c.Email, c.Password)
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToBeVisible())
	other := c.SignInToConsole(t)
	p.Open(c.ConsoleURL + "/console/settings/security")
	row := p.Locator(`[data-testid="session"]`).Filter(playwright.LocatorFilterOptions{HasText: "Go program"})
	// The session of the sign-up belongs to a program, too.
	for n, err := row.Count(); n > 1; n, err = row.Count() {
		p.Must(err)
		reachByKeyboard(p, row.GetByRole("button").First())
		pressKey(p, "Enter")
		p.Must(p.Expect.Locator(row).ToHaveCount(n - 1))
	}
	reachByKeyboard(p, row.GetByRole("button"))
	pressKey(p, "Enter")
	p.RequireText("You are signed in nowhere else.")
	other.RequireSignedOut(t)

	p.Open(c.ConsoleURL + "/console/settings")
	checkPage(p, "profile")
	moved := "new-" + c.Email
	typeText(p, "#new-email", moved)
	typeText(p, "#email-password", c.Password)
	pressKey(p, "Enter")
	p.RequireText("A link is on its way to " + moved)
	link := harness.NewConsoleClient(t, c.Gateway).MailedLink(t, "change_email", moved)
	p.Open(c.ConsoleURL + link)
	activates(p, playwright.AriaRoleButton, "Use this address")
	p.RequireText("From now on you sign in with")
	if a := harness.NewConsoleClient(t, c.Gateway).SignIn(t, c.Email, c.Password); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("the old address: %d", a.Status)
	}
	if n := mails(t, c, c.DB(t), "email_changed"); n != 1 {
		t.Errorf("%d mails tell the old address", n)
	}
	c.Email = moved
	other = c.SignInToConsole(t)
	if a := other.Visit(t, link, nil); a.Status != http.StatusConflict && a.Status != http.StatusNotFound {
		t.Errorf("the link a second time: %d", a.Status)
	}

	p.Open(c.ConsoleURL + "/console/settings")
	typeText(p, "#current-password", "not the password")
	typeText(p, "#password", "a sentence that is new")
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("#current-password-error")).ToBeVisible())
	other.RequireSignedIn(t)
	typeText(p, "#current-password", c.Password)
	typeText(p, "#password", "a sentence that is new")
	pressKey(p, "Enter")
	p.RequireText("Your password was changed, and all other sessions were ended.")
	other.RequireSignedOut(t)
	c.Password = "a sentence that is new"
	c.SignInToConsole(t).RequireSignedIn(t)
}

// TestOperatorHelpsPeopleSignIn hands out a link for a new password and turns lost sign-in codes off, from the command line.
func TestOperatorHelpsPeopleSignIn(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "locked-out")
	p, other := c.SignInToConsole(t), c.SignInToConsole(t)
	d, _ := enrols(t, p, c.Password)
	env := []string{"DATABASE_URL=" + c.DatabaseURL(t), "UMG_BASE_URL=" + c.ConsoleURL}
	out, status := harness.RunCommand(t, env, "operator", "reset-link", c.Email)
	link, ok := strings.CutPrefix(strings.TrimSpace(out), c.ConsoleURL)
	if status != 0 || !ok {
		t.Fatalf("reset-link: %d %s", status, out)
	}
	path, token, _ := strings.Cut(link, "?token=")
	c.Password = "chosen with a handed link"
	if a := p.Visit(t, path, url.Values{"token": {token}, "password": {c.Password}}); a.Status != http.StatusOK {
		t.Fatalf("the link: %d %s", a.Status, a.Body)
	}
	p.RequireSignedOut(t)
	other.RequireSignedOut(t)
	if a := p.SignIn(t, c.Email, c.Password); a.Header.Get("Location") != "/console/sign-in/code" {
		t.Errorf("a new password went around the second step: %q", a.Header.Get("Location"))
	}
	if out, status := harness.RunCommand(t, env, "operator", "disable-mfa", c.Email); status != 0 {
		t.Fatalf("disable-mfa: %d %s", status, out)
	}
	if a := p.Visit(t, "/console/sign-in/code", url.Values{"code": {d.code(t)}}); a.Status == http.StatusOK {
		t.Errorf("the half sign-in of before: %d", a.Status)
	}
	c.SignInToConsole(t).RequireSignedIn(t)
	for _, command := range []string{"reset-link", "disable-mfa"} {
		if out, status := harness.RunCommand(t, env, "operator", command, "unknown-at-all@example.com"); status == 0 || !strings.Contains(out, "No one has signed up") {
			t.Errorf("%s for an unknown address: %d %s", command, status, out)
		}
	}
	if out, status := harness.RunCommand(t, env, "operator", "disable-mfa", c.Email); status == 0 || !strings.Contains(out, "not on") {
		t.Errorf("disable-mfa twice: %d %s", status, out)
	}
}
