package e2e

import (
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// tab is a browser in which the customer has signed in.
func (c customer) tab(t *testing.T, o playwright.BrowserNewContextOptions) *tab {
	t.Helper()
	p := newTab(t, o)
	p.open(c.ConsoleURL + "/console/sign-in")
	p.fill("E-mail", c.Email)
	p.fill("Password", c.Password)
	p.press("Sign in")
	p.sees("Recent requests")
	return p
}

// TestConsoleModelsAreFoundByPriceAndPurpose looks for a model as a person does, and finds in the address what was
// looked for.
func TestConsoleModelsAreFoundByPriceAndPurpose(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "models")
	p := c.tab(t, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
	p.follow("Models")
	rows := p.Locator(`[data-testid="model"]`)
	// This is the price of a second of video.
	p.sees("$0.10")
	p.sees("per second")
	p.sees("per image")
	p.sees("per 1M characters")

	p.must(p.Keyboard().Press("/"))
	p.must(p.Keyboard().Type("fjord"))
	p.must(p.expect.Locator(rows).ToHaveCount(3))
	p.must(p.expect.Page(p.Page).ToHaveURL(c.ConsoleURL + "/console/models?q=fjord"))
	p.must(p.expect.Locator(p.Locator("#models-q")).ToBeFocused())
	p.must(p.GetByLabel("Code").Check())
	p.must(p.expect.Locator(rows).ToHaveCount(2))
	p.must(p.expect.Page(p.Page).ToHaveURL(c.ConsoleURL + "/console/models?capability=code&q=fjord"))
	p.follow("Input / 1M")
	p.must(p.expect.Locator(rows.First()).ToContainText("Fjord Flash"))
	p.follow("Input / 1M")
	p.must(p.expect.Locator(rows.First()).ToContainText("Fjord Pro"))
	// The filters are part of the address, so they survive a reload.
	if _, err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	p.must(p.expect.Locator(rows).ToHaveCount(2))
	p.must(p.expect.Locator(rows.First()).ToContainText("Fjord Pro"))
	p.axe()

	p.follow("Fjord Pro")
	p.must(p.expect.Locator(p.Locator("h1")).ToHaveText("Fjord Pro"))
	p.sees("1M tokens")
	p.must(p.Locator("#fields-style").GetByRole("tab", playwright.LocatorGetByRoleOptions{Name: "Native"}).Click())
	p.must(p.expect.Locator(p.Locator("#fields-style-panel-native").GetByText("generationConfig").First()).ToBeVisible())
	// Both sets of tabs follow the same choice.
	p.must(p.expect.Locator(p.Locator("#code-style-panel-native")).ToBeVisible())
	p.axe()
	p.follow("Open in playground")
	p.must(p.expect.Locator(p.Locator("#play-model")).ToContainText("Fjord Pro"))
}

// TestConsoleModelPageSaysWhatTheAPIDoes compares limits, prices and the contract's version with the answers of the API.
func TestConsoleModelPageSaysWhatTheAPIDoes(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "model-page")
	person := newPerson(t, c.gateway)
	person.signIn(t, c.Email, c.Password)
	page := person.visit(t, "/console/models/"+cheapModel, nil).body
	call := c.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: limits"))
	for _, header := range []string{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Limit-Tokens"} {
		limit := call.header.Get(header)
		if limit == "" || !strings.Contains(strings.ReplaceAll(page, ",", ""), ">"+limit+"<") {
			t.Errorf("%s is %q, which the page does not say", header, limit)
		}
	}
	entry := c.call(t, "GET", "/v1/models/"+cheapModel, "").body
	_, hashes, _ := strings.Cut(entry, `"contract_hashes":{`)
	for pair := range strings.SplitSeq(hashes[:strings.IndexByte(hashes, '}')], ",") {
		style, hash, _ := strings.Cut(strings.ReplaceAll(pair, `"`, ""), ":")
		if !strings.Contains(page, hash) {
			t.Errorf("the page does not name the version %s of the contract for %s", hash, style)
		}
	}
	api := c.call(t, "GET", "/v1/model/api.md?model="+cheapModel, "").body
	if a := person.visit(t, "/console/model/api.md?model="+cheapModel, nil); a.body != api {
		t.Error("the console's api.md is not the API's")
	}
	filtered := person.visit(t, "/console/models?style=native&sort=-context", nil).body
	if strings.Contains(filtered, "meridian/forge") || strings.Index(filtered, "boreal/fjord-pro") > strings.Index(filtered, "quillon/folio-large") {
		t.Error("without scripts the list is not filtered or not sorted")
	}
	for _, path := range []string{"/console/models", "/console/models/" + cheapModel, "/console/model/api.md?model=" + cheapModel} {
		if a := newPerson(t, c.gateway).visit(t, path, nil); a.status != 200 {
			t.Errorf("%s for a visitor: %d", path, a.status)
		}
	}
}
