package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// askPlayground sends a message in the playground.
func askPlayground(p *harness.Tab, message string) {
	p.T.Helper()
	p.Fill("Your message", message)
	p.Must(p.Locator("[data-send]").Click())
}

// waitForAnswer waits until so many answers are complete, with what they took.
func waitForAnswer(p *harness.Tab, n int) {
	p.T.Helper()
	p.Must(p.Expect.Locator(p.Locator("#play[data-state=idle] [data-answer] [data-facts] dl")).ToHaveCount(n))
}

// requireFact is the text below the newest answer.
func requireFact(p *harness.Tab, name string) string {
	p.T.Helper()
	text, err := p.Locator("[data-answer]").Last().Locator("[data-facts] div").
		Filter(playwright.LocatorFilterOptions{Has: p.Locator("dt", playwright.PageLocatorOptions{HasText: name})}).Locator("dd").First().TextContent()
	p.Must(err)
	return strings.TrimSpace(text)
}

// viewCode opens the inspector at the request as programs.
func viewCode(p *harness.Tab) {
	p.T.Helper()
	p.Must(p.Locator("#play-menu-button").Click())
	p.PressButton("View code")
	p.RequireText("Exactly what the playground sends")
}

func playground(t *testing.T, c harness.Customer, model, style string) *harness.Tab {
	t.Helper()
	p := newCustomerTab(t, c, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
	p.Open(c.ConsoleURL + "/console/playground?" + url.Values{"model": {model}, "style": {style}}.Encode())
	return p
}

// TestPlaygroundCostsWhatItSays holds a conversation in each style and finds that what was shown is what was paid, to the
// nano-dollar.
func TestPlaygroundCostsWhatItSays(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "playground")
	before := c.SettledBalance(t, c.AccountID)
	p := playground(t, c, "meridian/atlas-large", "chat")
	var shown int64
	for i, style := range []string{"Chat", "Messages", "Responses", "Native"} {
		p.Must(p.Locator("#play-style-" + strings.ToLower(style)).Check())
		p.Must(p.Expect.Locator(p.Locator("#play-side .route-line")).ToContainText(map[string]string{
			"Chat": "/v1/chat/completions", "Messages": "/v1/messages", "Responses": "/v1/responses", "Native": "/vendorc/native",
		}[style]))
		askPlayground(p, "echo: hello in "+style)
		waitForAnswer(p, i+1)
		p.Must(p.Expect.Locator(p.Locator("[data-answer]").Last().Locator("[data-text]")).ToHaveText("hello in " + style))
		if requireFact(p, "Finish") != "stop" || requireFact(p, "First token") == "" || requireFact(p, "Output") == "" {
			t.Errorf("%s: finish %q, output %q", style, requireFact(p, "Finish"), requireFact(p, "Output"))
		}
		shown += harness.Nanos(t, strings.TrimPrefix(requireFact(p, "Cost"), "$"))
	}
	b := c.SettledBalance(t, c.AccountID)
	if before.Posted-b.Posted != shown || b.Held != 0 {
		t.Errorf("shown %d, paid %d, held %d", shown, before.Posted-b.Posted, b.Held)
	}
	var styles, keys int
	if err := c.DB(t).QueryRow(`select count(distinct style), count(*) filter (where key_id <> '') from usage_records where account_id = $1`,
		c.AccountID).Scan(&styles, &keys); err != nil || styles != 4 || keys != 0 {
		t.Errorf("%d styles, %d of keys, %v", styles, keys, err)
	}
	shownBalance, err := p.Locator("#balance .num").TextContent()
	p.Must(err)
	if want := strings.TrimSpace(shownBalance); !strings.HasPrefix(want, "$4.") {
		t.Errorf("the balance on the page is %q", want)
	}
	p.CheckAccessibility()
	p.Open(c.ConsoleURL + "/console")
	p.RequireText("Playground")
}

// TestPlaygroundStopKeepsWhatCame stops an answer with the keyboard alone: what came stays, and only that is paid.
func TestPlaygroundStopKeepsWhatCame(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "stop")
	p := playground(t, c, harness.CheapModel, "chat")
	p.Must(p.GetByLabel("Your message").Focus())
	p.Must(p.Keyboard().Type("count to 4000"))
	p.Must(p.Expect.Locator(p.Locator("[data-estimate]")).ToContainText("Est. ≤ $"))
	p.Must(p.Keyboard().Press("Control+Enter"))
	p.Must(p.Expect.Locator(p.Locator("[data-answer] [data-text]")).ToContainText("1 2 3"))
	p.Must(p.Expect.Locator(p.Locator("[data-stop]")).ToBeVisible())
	p.SaveScreenshot("streaming")
	p.CheckAccessibility()
	p.Must(p.Keyboard().Press("Escape"))
	waitForAnswer(p, 1)
	if requireFact(p, "Finish") != "stopped by you" || !strings.Contains(requireFact(p, "Cost"), "$0.0") {
		t.Errorf("finish %q, cost %q", requireFact(p, "Finish"), requireFact(p, "Cost"))
	}
	p.SaveScreenshot("stopped")
	if b := c.SettledBalance(t, c.AccountID); b.Held != 0 {
		t.Errorf("still held: %+v", b)
	}
	askPlayground(p, "echo: go on")
	waitForAnswer(p, 2)
	p.Must(p.Expect.Locator(p.Locator("[data-answer]").Last().Locator("[data-text]")).ToHaveText("go on"))
}

// TestPlaygroundShowsModelOutputAsText: nothing that a model or a person writes becomes a part of the page, and the
// browser reports nothing that its policy had to block.
func TestPlaygroundShowsModelOutputAsText(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "hostile")
	p := playground(t, c, harness.CheapModel, "chat")
	const evil = `<img src=x onerror=alert(1)><script>alert(2)</script><b hx-get="/console" hx-trigger="load">x</b>`
	askPlayground(p, "echo: "+evil)
	waitForAnswer(p, 1)
	p.Must(p.Expect.Locator(p.Locator("[data-answer] [data-text]")).ToHaveText(evil))
	if n, err := p.Locator("#play-log img, #play-log script, #play-log b").Count(); err != nil || n > 0 {
		t.Errorf("%d elements came from the text, %v", n, err)
	}
	viewCode(p)
	if n, err := p.Locator("#play-inspector img, #play-inspector script, #play-inspector b").Count(); err != nil || n > 0 {
		t.Errorf("%d elements came from the text, %v", n, err)
	}
}

// TestPlaygroundTellsMistakesWhereTheyAre: a refused parameter is said beside its field, and the message is not lost.
func TestPlaygroundTellsMistakesWhereTheyAre(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "mistakes")
	p := playground(t, c, "meridian/atlas-large", "native")
	p.Must(p.Locator("#play-temperature").Fill("9"))
	askPlayground(p, "echo: hello")
	p.Must(p.Expect.Locator(p.Locator("[data-trouble]")).ToContainText("generationConfig.temperature"))
	p.Must(p.Expect.Locator(p.Locator("#play-temperature")).ToBeFocused())
	p.Must(p.Expect.Locator(p.Locator("#play-temperature")).ToHaveAttribute("aria-invalid", "true"))
	p.Must(p.Expect.Locator(p.GetByLabel("Your message")).ToHaveValue("echo: hello"))
	p.SaveScreenshot("refused")
	p.CheckAccessibility()
	p.Must(p.Locator("#play-temperature").Fill("0.3"))
	p.Must(p.Locator("[data-send]").Click())
	waitForAnswer(p, 1)
	p.Must(p.Expect.Locator(p.Locator("[data-trouble]")).ToBeEmpty())
}

// TestPlaygroundKeepsTheMessageWhenTheModelChanges: settings change with the model and the style, the conversation and
// the values that still fit stay.
func TestPlaygroundKeepsTheMessageWhenTheModelChanges(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "settings")
	p := playground(t, c, "meridian/atlas-large", "chat")
	p.Must(p.Locator("#play-temperature").Fill("0.7"))
	p.Fill("System prompt", "Answer briefly.")
	askPlayground(p, "echo: kept")
	waitForAnswer(p, 1)
	p.Fill("Your message", "echo: again")
	p.Must(p.Locator("#play-style-native").Check())
	p.Must(p.Expect.Locator(p.Locator(`[data-param="generationConfig.temperature"] input`)).ToHaveValue("0.7"))
	p.Must(p.Locator("#play-model").Click())
	p.Must(p.Locator(`#play-models input[value="meridian/delta-think"]`).Click())
	p.Must(p.Expect.Locator(p.Locator(`[data-param="reasoning_effort"] select`)).ToBeVisible())
	p.Must(p.Expect.Locator(p.GetByLabel("Your message")).ToHaveValue("echo: again"))
	p.Must(p.Expect.Locator(p.Locator("[data-answer]")).ToHaveCount(1))
	viewCode(p)
	code, err := p.Locator("#play-request-chat-text-curl").TextContent()
	p.Must(err)
	for _, want := range []string{"meridian/delta-think", "Answer briefly.", "echo: kept", "kept", "echo: again"} {
		if !strings.Contains(code, want) {
			t.Errorf("the code lacks %q:\n%s", want, code)
		}
	}
	p.Must(p.Locator("[data-turn]").First().Locator("[data-edit]").Click())
	p.Must(p.Expect.Locator(p.Locator("[data-editor] textarea")).ToHaveValue("echo: kept"))
	p.Must(p.Locator("[data-editor] textarea").Fill("echo: changed"))
	p.PressButton("Save and ask again")
	waitForAnswer(p, 1)
	p.Must(p.Expect.Locator(p.Locator("[data-answer] [data-text]")).ToContainText("changed"))
	p.Must(p.Expect.Locator(p.GetByLabel("Your message")).ToHaveValue("echo: again"))
}

// TestPlaygroundShowsTheNewestStyle presses an arrow key twice in the styles and lets the settings of the first press arrive after those
// of the second. The page must show the style that was chosen last, and keep what was entered before its settings arrived.
func TestPlaygroundShowsTheNewestStyle(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "newest-style")
	p := playground(t, c, "meridian/atlas-large", "chat")
	held, ended := make(chan playwright.Route, 2), make(chan playwright.Request, 2)
	p.Must(p.Route("**/console/playground/settings", func(r playwright.Route) { held <- r }))
	end := func(r playwright.Request) {
		if strings.HasSuffix(r.URL(), "/console/playground/settings") {
			ended <- r
		}
	}
	p.OnRequestFinished(end)
	p.OnRequestFailed(end)
	p.Must(p.Locator("#play-style-chat").Focus())
	p.Must(p.Keyboard().Press("ArrowRight"))
	first := <-held
	p.Must(p.Keyboard().Press("ArrowRight"))
	second := <-held
	p.Must(p.Locator("#play-temperature").Fill("0.4"))
	p.Must(second.Continue())
	route, style := p.Locator("#play-side .route-line"), p.Locator("#play-style-responses")
	p.Must(p.Expect.Locator(route).ToContainText("/v1/responses"))
	// The page may have cancelled the first request already, which then cannot be continued.
	_ = first.Continue()
	<-ended
	<-ended
	_, err := p.Evaluate(drawnTwice)
	p.Must(err)
	p.Must(p.Expect.Locator(route).ToContainText("/v1/responses"))
	p.Must(p.Expect.Locator(style).ToBeChecked())
	p.Must(p.Expect.Locator(p.Locator("#play-temperature")).ToHaveValue("0.4"))
	askPlayground(p, "echo: newest")
	waitForAnswer(p, 1)
	p.PressButton("Inspect the request")
	p.Must(p.Expect.Locator(p.Locator("[data-sent-line]")).ToContainText("POST /v1/responses"))
}

// TestPlaygroundWithoutScripts answers a plain form with the whole page, and takes forms from its own pages only.
func TestPlaygroundWithoutScripts(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "no-scripts")
	person := harness.NewConsoleClient(t, c.Gateway)
	person.SignIn(t, c.Email, c.Password)
	form := url.Values{"model": {harness.CheapModel}, "style": {"responses"}, "prompt": {"echo: no <i>scripts</i>"}}
	a := person.Visit(t, "/console/playground", form)
	if a.Status != http.StatusOK || !strings.Contains(a.Body, "no &lt;i&gt;scripts&lt;/i&gt;") || !strings.Contains(a.Body, "Cost") {
		t.Errorf("%d %.300s", a.Status, a.Body)
	}
	foreign := []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}
	for _, path := range []string{"/console/playground", "/console/playground/code", "/console/playground/settings"} {
		if a := person.Visit(t, path, form, foreign...); a.Status != http.StatusForbidden {
			t.Errorf("%s from another site: %d", path, a.Status)
		}
	}
	if a := harness.NewConsoleClient(t, c.Gateway).Visit(t, "/console/playground", form); a.Status != http.StatusSeeOther {
		t.Errorf("a visitor: %d", a.Status)
	}
	c.CheckLedger(t)
}

// TestPlaygroundLeavesNoCallBehind: a page that is left ends the call that it had made.
func TestPlaygroundLeavesNoCallBehind(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "leaves")
	p := playground(t, c, harness.CheapModel, "chat")
	askPlayground(p, "count to 4000")
	p.Must(p.Expect.Locator(p.Locator("[data-answer] [data-text]")).ToContainText("1 2 3"))
	p.Open(c.ConsoleURL + "/console")
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(50 * time.Millisecond) {
		var outcome string
		err := c.DB(t).Get(&outcome, `select outcome from usage_records where account_id = $1`, c.AccountID)
		if err == nil && outcome == "client_left" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the call goes on after its page was left: %q, %v", outcome, err)
		}
	}
	if b := c.SettledBalance(t, c.AccountID); b.Held != 0 {
		t.Errorf("still held: %+v", b)
	}
}

// TestPanesOfOneModelAreToldApart asks one model twice side by side. Each pane says its name once, also when another one is gone.
func TestPanesOfOneModelAreToldApart(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "twins")
	p := playground(t, c, harness.CheapModel, "chat")
	p.Open(c.ConsoleURL + "/console/playground?model=" + harness.CheapModel + "&model=" + harness.CheapModel)
	named := func(step string, want ...string) {
		t.Helper()
		p.Must(p.Expect.Locator(p.Locator("[data-pane] h2")).ToHaveText(want))
		if got := measure(p, `() => [...document.querySelectorAll("[data-pane], [data-talk]")].map((e) => e.ariaLabel).join(", ")`); strings.Contains(
			fmt.Sprint(got), "Atlas") || len(want) == 2 && got != "Conversation 1, Messages, Conversation 2, Messages" {
			t.Errorf("%s: %v", step, got)
		}
	}
	named("drawn", "Atlas Small (1) (choose another model)", "Atlas Small (2) (choose another model)")
	p.Fill("Your message", "echo: both")
	p.PressButton("Send to 2")
	p.Must(p.Expect.Locator(p.Locator("[data-compare-rows] th")).ToHaveText([]string{"Atlas Small (1)", "Atlas Small (2)"}))
	named("asked", "Atlas Small (1) (choose another model)", "Atlas Small (2) (choose another model)")
	p.PressButton("More for Atlas Small (1)")
	p.Must(p.Locator("[data-pane]").First().Locator("[data-remove-pane]").Click())
	named("one left", "Atlas Small (choose another model)")
}
