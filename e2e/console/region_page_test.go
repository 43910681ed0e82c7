package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// TestNumbersAndDaysAreWrittenAsAPersonReadsThem looks at a call with a German browser, and then as its person chose. Exports stay as
// programs read them.
func TestNumbersAndDaysAreWrittenAsAPersonReadsThem(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "region")
	id := c.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: x")).Header.Get("X-Request-Id")
	c.UsageRecord(t, id)
	p := newCustomerTab(t, c, playwright.BrowserNewContextOptions{Locale: new("de-DE"), TimezoneId: new("UTC")})
	shows := func(cost, day string) {
		t.Helper()
		p.Open(c.ConsoleURL + "/console/requests")
		row := p.Locator("#row-" + id)
		p.Must(p.Expect.Locator(row.Locator(".column-money")).ToHaveText(regexp.MustCompile(cost)))
		p.Must(p.Expect.Locator(row.Locator("time")).ToHaveAttribute("title", regexp.MustCompile("^"+time.Now().UTC().Format(day)+", ")))
		p.Open(c.ConsoleURL + "/console/models/" + harness.CheapModel)
		if text, err := p.Locator("main").InnerText(); err != nil || strings.Contains(text, "\x1f") {
			t.Errorf("a mark is in the page: %v", err)
		}
	}
	shows(`^\$0,\d{6}$`, "02.01.2006")
	p.Must(p.Expect.Locator(p.Locator("#balance .num")).ToHaveText(regexp.MustCompile(`^\$\d+,\d\d$`)))
	b := c.SignInToConsole(t)
	if a := b.Visit(t, "/console/settings/times", url.Values{"region": {"mars"}}); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown region is answered with %d", a.Status)
	}
	p.Open(c.ConsoleURL + "/console/settings")
	_, err := p.GetByLabel("Format of dates and numbers").SelectOption(playwright.SelectOptionValues{Values: &[]string{"ja-JP"}})
	p.Must(err)
	p.PressButton("Save formats")
	p.RequireText("Dates and numbers are saved.")
	shows(`^\$0\.\d{6}$`, "2006/01/02")
	p.Must(p.Expect.Locator(p.Locator("#balance .num")).ToHaveText(regexp.MustCompile(`^\$\d+\.\d\d$`)))
	b.Visit(t, "/console/settings/times", url.Values{"region": {"de-DE"}})
	file := b.Visit(t, "/console/requests.csv", nil)
	if !regexp.MustCompile(`,0\.0\d+,`).MatchString(file.Body) || strings.Contains(file.Body, "\x1f") {
		t.Errorf("the export is not as programs read it: %s", file.Body)
	}
}

// TestUsageIsReadableOnAPhone expects all figures of the table of models within the window of a phone, each under its heading.
func TestUsageIsReadableOnAPhone(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "phone")
	id := c.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: x")).Header.Get("X-Request-Id")
	c.UsageRecord(t, id)
	p := newCustomerTab(t, c, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 390, Height: 844}})
	p.Open(c.ConsoleURL + "/console/usage")
	p.Must(p.Expect.Locator(p.GetByTestId("usage-group")).ToHaveCount(1))
	if beyond := measure(p, `() => [...document.querySelectorAll(".usage-groups :is(tbody, tfoot) :is(th, td)")]
		.filter((cell) => cell.getBoundingClientRect().right > innerWidth).map((cell) => cell.textContent.trim()).join(", ")`); beyond != "" {
		t.Errorf("beyond the window: %v", beyond)
	}
	p.Must(p.Expect.Locator(p.GetByTestId("usage-group").Locator("td[data-label='Tokens out']")).ToBeVisible())
}

// TestScriptsWriteNumbersAsAPersonReadsThem looks with a German browser at what scripts write: an estimate, a price that is agreed to, and
// the time of a frame.
func TestScriptsWriteNumbersAsAPersonReadsThem(t *testing.T) {
	t.Parallel()
	c := harness.SharedVideoDemo(t).NewCustomer(t, "comma")
	c.SignInToConsole(t).Visit(t, "/console/settings/videos", url.Values{"video_ask_above": {"0.1"}})
	p := newCustomerTab(t, c, playwright.BrowserNewContextOptions{Locale: new("de-DE")})
	p.Open(c.ConsoleURL + "/console/playground?model=" + harness.CheapModel)
	p.Fill("Your message", "echo: eins")
	p.Must(p.Expect.Locator(p.Locator("[data-estimate]")).ToHaveText(regexp.MustCompile(`^Est\. ≤ \$0,\d+$`)))
	p.Open(c.ConsoleURL + "/console/playground/video")
	p.Fill("Prompt", "a kite")
	p.Must(p.Locator("#video-seconds-4").Check())
	p.Must(p.Expect.Locator(p.Locator("[data-video-price]")).ToHaveText("4 s × $0,10 = $0,40"))
	p.PressButton("Make video")
	p.PressButton("Yes, make it for $0,40")
	p.Must(p.Expect.Locator(p.Locator(".video-result video")).ToBeVisible())
	p.FollowLink("Open, download, remix")
	p.Must(p.Locator("#scrub").Press("ArrowRight"))
	p.Must(p.Expect.Locator(p.Locator("[data-scrub-at]")).ToHaveText("Frame 2 of 10, at 0,4 s"))
}
