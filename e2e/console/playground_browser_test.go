package console

import (
	"encoding/base64"
	"regexp"
	"testing"

	"umg/e2e/harness"
)

// withPicture is a script that makes a file of a picture in base64, and gives it to an action.
func withPicture(action string) string {
	return `async (text) => {
		const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
		const file = new File([bytes], "kite.png", { type: "image/png" });
		const area = document.querySelector("[data-composer]");
		` + action + `
	}`
}

// sendsPicture sends the picture that is attached, and finds that the model got one.
func sendsPicture(p *harness.Tab, answers int) {
	p.T.Helper()
	p.Must(p.Expect.Locator(p.Locator("[data-image-preview] img")).ToBeVisible())
	p.CheckAccessibility()
	askPlayground(p, "what is there?")
	waitForAnswer(p, answers)
	p.Must(p.Expect.Locator(p.Locator("[data-turn=user]").Last().Locator("[data-turn-picture] img")).ToBeVisible())
	p.Must(p.Expect.Locator(p.Locator("[data-answer]").Last().Locator("[data-text]")).ToContainText("I see 1 image"))
	p.Must(p.Expect.Locator(p.Locator("[data-image-preview] img")).ToBeHidden())
}

// TestPlaygroundTakesDroppedAndPastedImages drops a file on the page, and pastes a picture with the keyboard.
func TestPlaygroundTakesDroppedAndPastedImages(t *testing.T) {
	t.Parallel()
	p := playground(t, harness.SharedDemo(t).NewCustomer(t, "drop-paste"), "meridian/atlas-large", "chat")
	picture := base64.StdEncoding.EncodeToString(twoHalves(t, 32, 16))
	_, err := p.Evaluate(withPicture(`
		const dataTransfer = new DataTransfer();
		dataTransfer.items.add(file);
		for (const kind of ["dragenter", "dragover", "drop"]) {
			area.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
		}`), picture)
	p.Must(err)
	sendsPicture(p, 1)
	p.Must(p.Context().GrantPermissions([]string{"clipboard-read", "clipboard-write"}))
	_, err = p.Evaluate(withPicture(`await navigator.clipboard.write([new ClipboardItem({ "image/png": file })]);`), picture)
	p.Must(err)
	p.Must(p.GetByLabel("Your message").Focus())
	p.Must(p.Keyboard().Press("Control+V"))
	sendsPicture(p, 2)
}

// entersPlayground signs a person in, in the browser as it is, and opens the playground.
func entersPlayground(p *harness.Tab, c harness.Customer) {
	p.T.Helper()
	p.Open(c.ConsoleURL + "/console/sign-in?next=/console/playground")
	p.Fill("E-mail", c.Email)
	p.Fill("Password", c.Password)
	p.PressButton("Sign in")
	p.Must(p.Expect.Page(p.Page).ToHaveURL(regexp.MustCompile("/console/playground")))
}

// keepsRuns opens the history of the playground, and finds so many runs.
func keepsRuns(p *harness.Tab, n int) {
	p.T.Helper()
	p.PressButton("History")
	p.Must(p.Expect.Locator(p.Locator("#play-history")).ToBeVisible())
	if n == 0 {
		p.Must(p.Expect.Locator(p.Locator("[data-history-none]")).ToBeVisible())
	}
	p.Must(p.Expect.Locator(p.Locator("[data-history-open]")).ToHaveCount(n))
}

// TestPlaygroundHistoryIsThePersonsAndEndsWithSignOut lets two people use one browser: one after the session of the other was lost, and
// one after the other signed out.
func TestPlaygroundHistoryIsThePersonsAndEndsWithSignOut(t *testing.T) {
	t.Parallel()
	d := harness.SharedDemo(t)
	first, second := d.NewCustomer(t, "history-first"), d.NewCustomer(t, "history-second")
	p := playground(t, first, harness.CheapModel, "chat")
	askPlayground(p, "echo: a secret of the first")
	waitForAnswer(p, 1)
	keepsRuns(p, 1)
	p.Must(p.Context().ClearCookies())
	entersPlayground(p, second)
	keepsRuns(p, 0)
	p.Must(p.Context().ClearCookies())
	entersPlayground(p, first)
	keepsRuns(p, 1)
	p.Must(p.Keyboard().Press("Escape"))
	p.Must(p.Locator("#account-menu-button, [aria-controls=account-menu], .avatar-btn").First().Click())
	p.PressButton("Sign out")
	p.Must(p.Expect.Page(p.Page).ToHaveURL(regexp.MustCompile("/console/sign-in")))
	_, err := p.WaitForFunction(`async () => (await indexedDB.databases()).every((one) => one.name !== "umg-playground")`, nil)
	p.Must(err)
	entersPlayground(p, second)
	keepsRuns(p, 0)
	p.Must(p.Context().ClearCookies())
	entersPlayground(p, first)
	keepsRuns(p, 0)
}
