package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// requireNamed is a link or button of the page by its whole name.
func requireNamed(p *harness.Tab, role *playwright.AriaRole, name string) playwright.Locator {
	return p.GetByRole(*role, playwright.PageGetByRoleOptions{Name: name, Exact: new(true)}).First()
}

// registers makes an asset in the console by keyboard alone: first from a source that is none, then from a picture. The
// page becomes active without being loaded again. The asset's id comes back.
func registers(p *harness.Tab, c harness.Customer, name string) (id string) {
	p.T.Helper()
	p.Open(c.ConsoleURL + "/console/assets")
	p.RequireText("No assets yet")
	activates(p, playwright.AriaRoleLink, "New asset")
	p.Must(p.Expect.Locator(p.Locator("dialog[open] #asset-url")).ToBeVisible())
	typeText(p, "dialog[open] #asset-url", c.SampleURL("text.png"))
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("#asset-url-error")).ToBeVisible())
	focused(p, "dialog[open] #asset-url")
	p.CheckAccessibility()
	typeText(p, "dialog[open] #asset-url", c.SampleURL("picture.png"))
	typeText(p, "dialog[open] #asset-name", name)
	pressKey(p, "Enter")
	p.Must(p.WaitForURL("**/console/assets/asset_*"))
	measure(p, `() => { window.sameDocument = true; }`)
	p.Must(p.Expect.Locator(p.Locator("#asset-live[data-poll]")).ToBeVisible())
	reachByKeyboard(p, requireNamed(p, playwright.AriaRoleLink, "Delete…"))
	p.Must(p.Expect.Locator(p.Locator("#asset-live:not([data-poll]) [role=status]")).ToContainText("Active"))
	p.Must(p.Expect.Locator(requireNamed(p, playwright.AriaRoleLink, "Make a video with it")).ToBeVisible())
	p.Must(p.Expect.Locator(requireNamed(p, playwright.AriaRoleLink, "Delete…")).ToBeFocused())
	if measure(p, `() => window.sameDocument === true`) != true {
		p.T.Error("the page was loaded again to show that the asset is active")
	}
	_, id, _ = strings.Cut(p.URL(), "/console/assets/")
	// The fragment of the address is the place on the page.
	id, _, _ = strings.Cut(id, "#")
	return id
}

// filters narrows the list by a word and by a type.
func filters(p *harness.Tab, c harness.Customer, first, second string) {
	p.T.Helper()
	rows := p.Locator("[data-testid=asset]")
	p.Open(c.ConsoleURL + "/console/assets")
	p.Must(p.Expect.Locator(rows).ToHaveCount(2))
	inEverySize(p, "list")
	pressKey(p, "/")
	focused(p, "#assets-q")
	p.Must(p.Keyboard().Type("BELL"))
	p.Must(p.Expect.Locator(rows).ToHaveCount(1))
	p.Must(p.Expect.Locator(rows).ToContainText(second))
	pressKey(p, "ControlOrMeta+a")
	pressKey(p, "Delete")
	p.Must(p.Expect.Locator(rows).ToHaveCount(2))
	reachByKeyboard(p, p.Locator("#assets-type"))
	pressKey(p, "ArrowDown")
	p.Must(p.Expect.Locator(rows).ToHaveCount(1))
	p.Must(p.Expect.Locator(rows).ToContainText(first))
	if !strings.Contains(p.URL(), "type=image") {
		p.T.Errorf("the address does not say what is filtered: %s", p.URL())
	}
}

// TestAssetIsRegisteredUsedAndDeletedWithTheKeyboardAlone goes the whole way of an asset in a browser. The video that was
// made with it names it even when it is gone.
func TestAssetIsRegisteredUsedAndDeletedWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	c := harness.SharedVideoDemo(t).NewCustomer(t, "assets")
	p := wideTab(t, c)
	id := registers(p, c, "simulate: render=4s Harbour at dusk")
	inEverySize(p, "active")
	c.CreateAsset(t, "audio", "sound.wav", "Ship's bell")
	filters(p, c, "Harbour at dusk", "Ship's bell")

	p.Open(c.ConsoleURL + "/console/playground/video?model=" + harness.TasksModel)
	typeText(p, "#video-prompt", "a boat leaves the harbour")
	box := p.Locator(`#video-assets input[value="` + id + `"]`)
	reachByKeyboard(p, box)
	pressKey(p, "Space")
	p.Must(p.Expect.Locator(box).ToBeChecked())
	inEverySize(p, "playground")
	reachByKeyboard(p, p.Locator("[data-video-button]"))
	pressKey(p, "Enter")
	focused(p, "#started-title")
	reachByKeyboard(p, p.Locator(".video-result footer a").First())
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator(`#video-facts a[href="/console/assets/` + id + `"]`)).ToBeVisible())
	film := p.URL()

	p.Open(c.ConsoleURL + "/console/assets/" + id)
	activates(p, playwright.AriaRoleLink, "Delete…")
	p.Must(p.Expect.Locator(p.Locator("dialog[open]")).ToContainText("Harbour at dusk"))
	// The head of a dialog must not count as a second banner of the page.
	p.Must(p.Expect.Locator(p.GetByRole("banner")).ToHaveCount(1))
	p.Must(p.Expect.Locator(p.GetByRole("contentinfo")).ToHaveCount(0))
	p.CheckAccessibility()
	pressKey(p, "Escape")
	p.Must(p.Expect.Locator(requireNamed(p, playwright.AriaRoleLink, "Delete…")).ToBeFocused())
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("dialog[open]")).ToContainText("Harbour at dusk"))
	activates(p, playwright.AriaRoleButton, "Delete asset")
	p.RequireText("The asset was deleted.")
	p.Must(p.Expect.Locator(p.Locator("[data-testid=asset]")).ToHaveCount(1))
	if a := c.CallAssets(t, "/get", `{"asset_id":"`+id+`"}`); a.Status != http.StatusNotFound {
		t.Errorf("the API still knows it: %d %s", a.Status, a.Body)
	}
	p.Open(film)
	p.Must(p.Expect.Locator(p.Locator("#video-facts")).ToContainText(id[len(id)-4:]))
	p.Open(film + "/code")
	p.Must(p.Expect.Locator(p.Locator("#main")).ToContainText(id))
}
