package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// plainForm is a form as a browser without scripts fills it: fields by their selector, a button, and a text on the page that
// answers.
type plainForm struct {
	path   string
	fields [][2]string
	// button is the last submit button of the first field's form when empty.
	button string
	sees   string
}

// plainForms are walked one after the other; {key} is the id of the account's key.
var plainForms = []plainForm{
	{path: "/keys/new", fields: [][2]string{{"#key-name", "No scripts"}}, sees: "This is the only time the key is shown"},
	{path: "/keys/{key}", fields: [][2]string{{".key-edit #key-name", "Renamed plainly"}}, sees: "Renamed plainly"},
	{path: "/keys/{key}/rotate", button: `main form[action$="/rotate"] button[type=submit]`, sees: "This is the only time the secret is shown"},
	{path: "/webhooks/new", fields: [][2]string{{"#hook-name", "Plain hook"}, {"#hook-url", "{receiver}"}}, sees: "This is the only time the secret is shown"},
	{path: "/limits", fields: [][2]string{{"#wish-reason", "Our nightly batch needs more"}}, sees: "Your request was sent"},
	{path: "/settings", fields: [][2]string{{"#name", "Ada Plain"}}, sees: "Your name was saved."},
	{path: "/settings/notifications", button: "form.notify > button[type=submit], form.notify footer button[type=submit], form.notify button[data-variant=primary]", sees: "saved"},
	{path: "/models", fields: [][2]string{{"#models-q", "fjord"}}, sees: "Fjord Pro"},
	{path: "/models/meridian/atlas-large?tab=cost", fields: [][2]string{{"#calc-requests", "1000"}}, sees: "Atlas Large"},
	{path: "/docs", fields: [][2]string{{"#docs-q", "webhook"}}, sees: "Webhooks"},
	{path: "/requests", fields: [][2]string{{"#requests-q", "req_nothing"}}, sees: "No request"},
	{path: "/playground", fields: [][2]string{{"#play-prompt", "echo: without any scripts"}}, button: "[data-send]", sees: "without any scripts"},
}

// TestFormsWorkWithoutScripts fills the forms of the console in a browser whose scripts are off.
func TestFormsWorkWithoutScripts(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "plain")
	var key string
	if err := c.DB(t).Get(&key, `select id from api_keys where account_id = $1`, c.AccountID); err != nil {
		t.Fatal(err)
	}
	words := strings.NewReplacer("{key}", key, "{receiver}", harness.NewWebhookReceiver(t).URL)
	p := harness.NewTab(t, playwright.BrowserNewContextOptions{
		JavaScriptEnabled: new(false), Viewport: &playwright.Size{Width: 1280, Height: 900}, StorageState: consoleState(c.SignInToConsole(t), c.Gateway),
	})
	for _, form := range plainForms {
		answer, err := p.Goto(c.ConsoleURL + "/console" + words.Replace(form.path))
		p.Must(err)
		if answer.Status() != http.StatusOK {
			t.Errorf("%s: %d", form.path, answer.Status())
			continue
		}
		sends(p, form, words)
	}
	p.Open(c.ConsoleURL + "/console/compare?m=" + harness.CheapModel + "&m=boreal/fjord-pro")
	p.RequireText("Fjord Pro")
	if n, err := p.Locator("[data-js]:visible").Count(); err != nil || n > 0 {
		t.Errorf("%d things are shown that do nothing without scripts, %v", n, err)
	}
}

// sends fills a form and sends it.
func sends(p *harness.Tab, form plainForm, words *strings.Replacer) {
	p.T.Helper()
	for _, field := range form.fields {
		p.Must(p.Locator(field[0]).First().Fill(words.Replace(field[1])))
	}
	button := p.Locator(form.button)
	if form.button == "" {
		button = p.Locator(fmt.Sprintf("form:has(%s) button[type=submit]", form.fields[0][0])).Last()
		// A search field has no button and is sent by Enter.
		if n, err := button.Count(); err == nil && n == 0 {
			p.Must(p.Locator(form.fields[0][0]).First().Press("Enter"))
			p.Must(p.Expect.Locator(p.Locator("main").GetByText(form.sees).First()).ToBeVisible())
			return
		}
	}
	p.Must(button.Last().Click())
	found := p.Locator("main, .toaster, [data-toasts], body").GetByText(form.sees).First()
	if err := p.Expect.Locator(found).ToBeAttached(); err != nil {
		p.T.Errorf("%s: %q does not stand on the page that answers, %s", form.path, form.sees, p.URL())
	}
}
