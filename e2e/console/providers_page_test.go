package console

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// TestOperatorAddsAProviderAndChoosesItsModels looks at what scripts do on the pages of a new provider: a test that shows its steps as they
// end, and a selection that follows each key and each check box without losing the focus.
func TestOperatorAddsAProviderAndChoosesItsModels(t *testing.T) {
	t.Parallel()
	lists := make(chan struct{})
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			<-lists
			_, _ = io.WriteString(w, `{"data": [{"type": "model", "id": "claude-haiku-4-5"}, {"type": "model", "id": "claude-sonnet-4-5"}], "has_more": false}`)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"type": "error", "error": {"type": "permission_error", "message": "no access to this model"}}`)
	}))
	t.Cleanup(vendor.Close)
	c := harness.StartDemo(t).NewCustomer(t, "operator")
	runsIt(t, c)
	p := newCustomerTab(t, c, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1440, Height: 900}})
	p.Open(c.ConsoleURL + "/console/operator/providers/new")
	p.Must(p.Locator("#preset-search").Fill("anthr"))
	p.Must(p.Expect.Locator(p.Locator("[data-testid=preset]")).ToHaveCount(1))
	p.Must(p.Locator("[data-preset=anthropic] a").Click())
	p.Must(p.Expect.Locator(p.Locator("#provider-reference")).ToBeHidden())
	p.Must(p.Locator("#provider-key").Fill("sk-ant-recognisable-0001"))
	p.Must(p.GetByText("Advanced").Click())
	p.Must(p.Locator("#provider-address").Fill(vendor.URL + "/v1"))
	p.Must(p.GetByText("Save and continue").Click())

	p.Must(p.GetByText("Start the test").Click())
	p.Must(p.Expect.Locator(p.Locator("#test[data-state=running]")).ToContainText("Running"))
	p.CheckAccessibility()
	close(lists)
	p.Must(p.Expect.Locator(p.Locator("#test[data-state=failed]")).ToContainText("no access to this model"))
	p.Must(p.Expect.Locator(p.Locator("#test-form")).ToContainText("Test again"))
	p.CheckAccessibility()
	p.Must(p.GetByText("Choose models without a test").Click())

	selected := p.Locator("[data-testid=selected]")
	p.Must(p.Expect.Locator(p.Locator("[data-testid=choice]")).ToHaveCount(2))
	haiku := p.Locator(`[data-model="anthropic/claude-haiku-4-5"] input[type=checkbox]`)
	p.Must(haiku.Focus())
	pressKey(p, "Space")
	p.Must(p.Expect.Locator(selected).ToHaveText("1 model selected"))
	p.Must(p.Expect.Locator(haiku).ToBeFocused())
	p.Must(p.Locator("#choice-search").PressSequentially("sonnet"))
	p.Must(p.Expect.Locator(p.Locator("[data-testid=choice]")).ToHaveCount(1))
	p.Must(p.Expect.Locator(p.Locator("#choice-search")).ToBeFocused())
	p.Must(p.Expect.Locator(selected).ToHaveText("1 model selected"))
	p.Must(p.Locator("#choice-select").Click())
	p.Must(p.Expect.Locator(selected).ToHaveText("2 models selected"))
	markup := p.Locator(`[data-model="anthropic/claude-sonnet-4-5"] .cell-markup input`)
	p.Must(markup.Fill("50%"))
	pressKey(p, "Tab")
	p.Must(p.Expect.Locator(p.Locator(`[data-model="anthropic/claude-sonnet-4-5"] .cell-price`)).ToContainText("$4.50"))
	p.CheckAccessibility()
	p.Must(p.Locator("#choice-publish").Click())
	p.Must(p.Expect.Locator(p.Locator("h1")).ToHaveText("Publish 2 models of Anthropic"))
	p.CheckAccessibility()
}
