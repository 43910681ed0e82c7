package console

import (
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// newCustomerTab is a browser in which the customer has signed in.
func newCustomerTab(t *testing.T, c harness.Customer, o playwright.BrowserNewContextOptions) *harness.Tab {
	t.Helper()
	p := harness.NewTab(t, o)
	p.Open(c.ConsoleURL + "/console/sign-in")
	p.Fill("E-mail", c.Email)
	p.Fill("Password", c.Password)
	p.PressButton("Sign in")
	p.RequireText("Recent requests")
	return p
}

// TestConsoleModelsAreFoundByPriceAndPurpose looks for a model as a person does, and finds in the address what was
// looked for.
func TestConsoleModelsAreFoundByPriceAndPurpose(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "models")
	p := newCustomerTab(t, c, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
	p.FollowLink("Models")
	rows := p.Locator(`[data-testid="model"]`)
	// This is the price of a second of video.
	p.RequireText("$0.10")
	p.RequireText("per second")
	p.RequireText("per image")
	p.RequireText("per 1M characters")

	p.Must(p.Keyboard().Press("/"))
	p.Must(p.Keyboard().Type("fjord"))
	p.Must(p.Expect.Locator(rows).ToHaveCount(3))
	p.Must(p.Expect.Page(p.Page).ToHaveURL(c.ConsoleURL + "/console/models?q=fjord"))
	p.Must(p.Expect.Locator(p.Locator("#models-q")).ToBeFocused())
	p.Must(p.GetByLabel("Code").Check())
	p.Must(p.Expect.Locator(rows).ToHaveCount(2))
	p.Must(p.Expect.Page(p.Page).ToHaveURL(c.ConsoleURL + "/console/models?capability=code&q=fjord"))
	p.FollowLink("Input / 1M")
	p.Must(p.Expect.Locator(rows.First()).ToContainText("Fjord Flash"))
	p.FollowLink("Input / 1M")
	p.Must(p.Expect.Locator(rows.First()).ToContainText("Fjord Pro"))
	// The filters are part of the address, so they survive a reload.
	if _, err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	p.Must(p.Expect.Locator(rows).ToHaveCount(2))
	p.Must(p.Expect.Locator(rows.First()).ToContainText("Fjord Pro"))
	p.CheckAccessibility()

	p.FollowLink("Fjord Pro")
	p.Must(p.Expect.Locator(p.Locator("h1")).ToHaveText("Fjord Pro"))
	p.RequireText("1M tokens")
	p.CheckAccessibility()
	p.FollowLink("Performance")
	p.RequireText("Last 90 days")
	p.CheckAccessibility()
	p.FollowLink("API")
	p.Must(p.Locator("#fields-style").GetByRole("tab", playwright.LocatorGetByRoleOptions{Name: "Native"}).Click())
	p.Must(p.Expect.Locator(p.Locator("#fields-style-panel-native").GetByText("generationConfig").First()).ToBeVisible())
	// Both sets of tabs follow the same choice.
	p.Must(p.Expect.Locator(p.Locator("#code-style-panel-native")).ToBeVisible())
	p.CheckAccessibility()
	p.FollowLink("Open in playground")
	p.Must(p.Expect.Locator(p.Locator("#play-model")).ToContainText("Fjord Pro"))
}

// TestConsoleModelPageSaysWhatTheAPIDoes compares limits, prices and the contract's version with the answers of the API.
func TestConsoleModelPageSaysWhatTheAPIDoes(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "model-page")
	person := harness.NewConsoleClient(t, c.Gateway)
	person.SignIn(t, c.Email, c.Password)
	page := person.Visit(t, "/console/models/"+harness.CheapModel, nil).Body + person.Visit(t, "/console/models/"+harness.CheapModel+"?tab=api", nil).Body
	call := c.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: limits"))
	for _, header := range []string{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Limit-Tokens"} {
		limit := call.Header.Get(header)
		if limit == "" || !strings.Contains(strings.ReplaceAll(page, ",", ""), ">"+limit+"<") {
			t.Errorf("%s is %q, which the page does not say", header, limit)
		}
	}
	entry := c.Call(t, "GET", "/v1/models/"+harness.CheapModel, "").Body
	_, hashes, _ := strings.Cut(entry, `"contract_hashes":{`)
	for pair := range strings.SplitSeq(hashes[:strings.IndexByte(hashes, '}')], ",") {
		style, hash, _ := strings.Cut(strings.ReplaceAll(pair, `"`, ""), ":")
		if !strings.Contains(page, hash) {
			t.Errorf("the page does not name the version %s of the contract for %s", hash, style)
		}
	}
	api := c.Call(t, "GET", "/v1/model/api.md?model="+harness.CheapModel, "").Body
	if a := person.Visit(t, "/console/model/api.md?model="+harness.CheapModel, nil); a.Body != api {
		t.Error("the console's api.md is not the API's")
	}
	filtered := person.Visit(t, "/console/models?style=native&sort=-context", nil).Body
	if strings.Contains(filtered, "meridian/forge") || strings.Index(filtered, "boreal/fjord-pro") > strings.Index(filtered, "quillon/folio-large") {
		t.Error("without scripts the list is not filtered or not sorted")
	}
	for _, path := range []string{"/console/models", "/console/models/" + harness.CheapModel, "/console/model/api.md?model=" + harness.CheapModel} {
		if a := harness.NewConsoleClient(t, c.Gateway).Visit(t, path, nil); a.Status != 200 {
			t.Errorf("%s for a visitor: %d", path, a.Status)
		}
	}
}
