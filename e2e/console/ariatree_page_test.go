package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// Parts of a tree that a screen reader reads badly: what can be pressed or filled in and has no name, and a table without a caption.
var (
	unnamed = regexp.MustCompile(`(?m)^ *- (button|link|textbox|searchbox|combobox|checkbox|radio|spinbutton|slider|table|figure|dialog|img)( \[[^\]]*\])*:?$`)
	heading = regexp.MustCompile(`- heading "[^"]+" \[level=([1-6])\]`)
)

// TestScreenReadersFindTheirWayOnTheMainPages reads the trees of the pages that people use most.
func TestScreenReadersFindTheirWayOnTheMainPages(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "aria-tree")
	c.UsageRecord(t, c.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: x")).Header.Get("X-Request-Id"))
	p := newCustomerTab(t, c, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1390, Height: 900}})
	for _, page := range []struct{ path, row string }{
		{"", `rowheader`}, {"/models", `rowheader "[^"]*Atlas Small`}, {"/requests", `rowheader "\d`}, {"/usage", `rowheader "` + harness.CheapModel}, {"/playground", ""},
	} {
		p.Open(c.ConsoleURL + "/console" + page.path)
		p.Must(p.Expect.Locator(p.Locator("h1")).ToBeAttached())
		tree, err := p.Locator("body").AriaSnapshot()
		p.Must(err)
		for _, line := range unnamed.FindAllString(tree, -1) {
			t.Errorf("%s has %q without a name", page.path, strings.TrimSpace(line))
		}
		level := "0"
		for _, found := range heading.FindAllStringSubmatch(tree, -1) {
			if found[1] > level && found[1][0] != level[0]+1 {
				t.Errorf("%s goes from a heading of level %s to %s", page.path, level, found[0])
			}
			level = found[1]
		}
		if !regexp.MustCompile(page.row).MatchString(tree) {
			t.Errorf("the rows of %s have no header like %s", page.path, page.row)
		}
	}
}
