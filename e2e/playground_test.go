package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// ask sends a message in the playground.
func (p *tab) ask(message string) {
	p.t.Helper()
	p.fill("Your message", message)
	p.must(p.Locator("[data-send]").Click())
}

// answered waits until so many answers are complete, with what they took.
func (p *tab) answered(n int) {
	p.t.Helper()
	p.must(p.expect.Locator(p.Locator("#play[data-state=idle] [data-answer] [data-facts] dl")).ToHaveCount(n))
}

// fact is the text below the newest answer.
func (p *tab) fact(name string) string {
	p.t.Helper()
	text, err := p.Locator("[data-answer]").Last().Locator("[data-facts] div").
		Filter(playwright.LocatorFilterOptions{Has: p.Locator("dt", playwright.PageLocatorOptions{HasText: name})}).Locator("dd").First().TextContent()
	p.must(err)
	return strings.TrimSpace(text)
}

// viewCode opens the inspector at the request as programs.
func (p *tab) viewCode() {
	p.t.Helper()
	p.must(p.Locator("#play-menu-button").Click())
	p.press("View code")
	p.sees("Exactly what the playground sends")
}

func (c customer) playground(t *testing.T, model, style string) *tab {
	t.Helper()
	p := c.tab(t, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
	p.open(c.ConsoleURL + "/console/playground?" + url.Values{"model": {model}, "style": {style}}.Encode())
	return p
}

// TestPlaygroundCostsWhatItSays holds a conversation in each style and finds that what was shown is what was paid, to the
// nano-dollar.
func TestPlaygroundCostsWhatItSays(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "playground")
	before := c.balanceOf(t, c.accountID)
	p := c.playground(t, "meridian/atlas-large", "chat")
	var shown int64
	for i, style := range []string{"Chat", "Messages", "Responses", "Native"} {
		p.must(p.Locator("#play-style-" + strings.ToLower(style)).Check())
		p.must(p.expect.Locator(p.Locator("#play-side .route-line")).ToContainText(map[string]string{
			"Chat": "/v1/chat/completions", "Messages": "/v1/messages", "Responses": "/v1/responses", "Native": "/vendorc/native",
		}[style]))
		p.ask("echo: hello in " + style)
		p.answered(i + 1)
		p.must(p.expect.Locator(p.Locator("[data-answer]").Last().Locator("[data-text]")).ToHaveText("hello in " + style))
		if p.fact("Finish") != "stop" || p.fact("First token") == "" || p.fact("Output") == "" {
			t.Errorf("%s: finish %q, output %q", style, p.fact("Finish"), p.fact("Output"))
		}
		shown += nanos(t, strings.TrimPrefix(p.fact("Cost"), "$"))
	}
	b := c.balanceOf(t, c.accountID)
	if before.Posted-b.Posted != shown || b.Held != 0 {
		t.Errorf("shown %d, paid %d, held %d", shown, before.Posted-b.Posted, b.Held)
	}
	var styles, keys int
	if err := c.db(t).QueryRow(`select count(distinct style), count(*) filter (where key_id <> '') from usage_records where account_id = $1`,
		c.accountID).Scan(&styles, &keys); err != nil || styles != 4 || keys != 0 {
		t.Errorf("%d styles, %d of keys, %v", styles, keys, err)
	}
	shownBalance, err := p.Locator("#balance .money").TextContent()
	p.must(err)
	if want := strings.TrimSpace(shownBalance); !strings.HasPrefix(want, "$4.") {
		t.Errorf("the balance on the page is %q", want)
	}
	p.axe()
	p.open(c.ConsoleURL + "/console")
	p.sees("Playground")
}

// TestPlaygroundStopKeepsWhatCame stops an answer with the keyboard alone: what came stays, and only that is paid.
func TestPlaygroundStopKeepsWhatCame(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "stop")
	p := c.playground(t, cheapModel, "chat")
	p.must(p.GetByLabel("Your message").Focus())
	p.must(p.Keyboard().Type("count to 4000"))
	p.must(p.expect.Locator(p.Locator("[data-estimate]")).ToContainText(" – $"))
	p.must(p.Keyboard().Press("Control+Enter"))
	p.must(p.expect.Locator(p.Locator("[data-answer] [data-text]")).ToContainText("1 2 3"))
	p.must(p.expect.Locator(p.Locator("[data-stop]")).ToBeVisible())
	p.picture("streaming")
	p.axe()
	p.must(p.Keyboard().Press("Escape"))
	p.answered(1)
	if p.fact("Finish") != "stopped by you" || !strings.Contains(p.fact("Cost"), "$0.0") {
		t.Errorf("finish %q, cost %q", p.fact("Finish"), p.fact("Cost"))
	}
	p.picture("stopped")
	if b := c.balanceOf(t, c.accountID); b.Held != 0 {
		t.Errorf("still held: %+v", b)
	}
	p.ask("echo: go on")
	p.answered(2)
	p.must(p.expect.Locator(p.Locator("[data-answer]").Last().Locator("[data-text]")).ToHaveText("go on"))
}

// TestPlaygroundShowsModelOutputAsText: nothing that a model or a person writes becomes a part of the page, and the
// browser reports nothing that its policy had to block.
func TestPlaygroundShowsModelOutputAsText(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "hostile")
	p := c.playground(t, cheapModel, "chat")
	const evil = `<img src=x onerror=alert(1)><script>alert(2)</script><b hx-get="/console" hx-trigger="load">x</b>`
	p.ask("echo: " + evil)
	p.answered(1)
	p.must(p.expect.Locator(p.Locator("[data-answer] [data-text]")).ToHaveText(evil))
	if n, err := p.Locator("#play-log img, #play-log script, #play-log b").Count(); err != nil || n > 0 {
		t.Errorf("%d elements came from the text, %v", n, err)
	}
	p.viewCode()
	if n, err := p.Locator("#play-inspector img, #play-inspector script, #play-inspector b").Count(); err != nil || n > 0 {
		t.Errorf("%d elements came from the text, %v", n, err)
	}
}

// TestPlaygroundTellsMistakesWhereTheyAre: a refused parameter is said beside its field, and the message is not lost.
func TestPlaygroundTellsMistakesWhereTheyAre(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "mistakes")
	p := c.playground(t, "meridian/atlas-large", "native")
	p.must(p.Locator("#play-temperature").Fill("9"))
	p.ask("echo: hello")
	p.must(p.expect.Locator(p.Locator("[data-trouble]")).ToContainText("generationConfig.temperature"))
	p.must(p.expect.Locator(p.Locator("#play-temperature")).ToBeFocused())
	p.must(p.expect.Locator(p.Locator("#play-temperature")).ToHaveAttribute("aria-invalid", "true"))
	p.must(p.expect.Locator(p.GetByLabel("Your message")).ToHaveValue("echo: hello"))
	p.picture("refused")
	p.axe()
	p.must(p.Locator("#play-temperature").Fill("0.3"))
	p.must(p.Locator("[data-send]").Click())
	p.answered(1)
	p.must(p.expect.Locator(p.Locator("[data-trouble]")).ToBeEmpty())
}

// TestPlaygroundKeepsTheMessageWhenTheModelChanges: settings change with the model and the style, the conversation and
// the values that still fit stay.
func TestPlaygroundKeepsTheMessageWhenTheModelChanges(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "settings")
	p := c.playground(t, "meridian/atlas-large", "chat")
	p.must(p.Locator("#play-temperature").Fill("0.7"))
	p.fill("System prompt", "Answer briefly.")
	p.ask("echo: kept")
	p.answered(1)
	p.fill("Your message", "echo: again")
	p.must(p.Locator("#play-style-native").Check())
	p.must(p.expect.Locator(p.Locator(`[data-param="generationConfig.temperature"] input`)).ToHaveValue("0.7"))
	p.must(p.Locator("#play-model").Click())
	p.must(p.Locator(`#play-models input[value="meridian/delta-think"]`).Click())
	p.must(p.expect.Locator(p.Locator(`[data-param="reasoning_effort"] select`)).ToBeVisible())
	p.must(p.expect.Locator(p.GetByLabel("Your message")).ToHaveValue("echo: again"))
	p.must(p.expect.Locator(p.Locator("[data-answer]")).ToHaveCount(1))
	p.viewCode()
	code, err := p.Locator("#play-request-chat-text-curl").TextContent()
	p.must(err)
	for _, want := range []string{"meridian/delta-think", "Answer briefly.", "echo: kept", "kept", "echo: again"} {
		if !strings.Contains(code, want) {
			t.Errorf("the code lacks %q:\n%s", want, code)
		}
	}
	p.must(p.Locator("[data-turn]").First().Locator("[data-edit]").Click())
	p.must(p.expect.Locator(p.Locator("[data-editor] textarea")).ToHaveValue("echo: kept"))
	p.must(p.Locator("[data-editor] textarea").Fill("echo: changed"))
	p.press("Save and ask again")
	p.answered(1)
	p.must(p.expect.Locator(p.Locator("[data-answer] [data-text]")).ToContainText("changed"))
	p.must(p.expect.Locator(p.GetByLabel("Your message")).ToHaveValue("echo: again"))
}

// TestPlaygroundWithoutScripts answers a plain form with the whole page, and takes forms from its own pages only.
func TestPlaygroundWithoutScripts(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "no-scripts")
	person := newPerson(t, c.gateway)
	person.signIn(t, c.Email, c.Password)
	form := url.Values{"model": {cheapModel}, "style": {"responses"}, "prompt": {"echo: no <i>scripts</i>"}}
	a := person.visit(t, "/console/playground", form)
	if a.status != http.StatusOK || !strings.Contains(a.body, "no &lt;i&gt;scripts&lt;/i&gt;") || !strings.Contains(a.body, "Cost") {
		t.Errorf("%d %.300s", a.status, a.body)
	}
	foreign := []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}
	for _, path := range []string{"/console/playground", "/console/playground/code", "/console/playground/settings"} {
		if a := person.visit(t, path, form, foreign...); a.status != http.StatusForbidden {
			t.Errorf("%s from another site: %d", path, a.status)
		}
	}
	if a := newPerson(t, c.gateway).visit(t, "/console/playground", form); a.status != http.StatusSeeOther {
		t.Errorf("a visitor: %d", a.status)
	}
	c.books(t)
}

// TestPlaygroundLeavesNoCallBehind: a page that is left ends the call that it had made.
func TestPlaygroundLeavesNoCallBehind(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "leaves")
	p := c.playground(t, cheapModel, "chat")
	p.ask("count to 4000")
	p.must(p.expect.Locator(p.Locator("[data-answer] [data-text]")).ToContainText("1 2 3"))
	p.open(c.ConsoleURL + "/console")
	for deadline := time.Now().Add(callTimeMax); ; time.Sleep(50 * time.Millisecond) {
		var outcome string
		err := c.db(t).Get(&outcome, `select outcome from usage_records where account_id = $1`, c.accountID)
		if err == nil && outcome == "client_left" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the call goes on after its page was left: %q, %v", outcome, err)
		}
	}
	if b := c.balanceOf(t, c.accountID); b.Held != 0 {
		t.Errorf("still held: %+v", b)
	}
}
