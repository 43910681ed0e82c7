package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// named is a link or button of the page by its whole name.
func (p *tab) named(role *playwright.AriaRole, name string) playwright.Locator {
	return p.GetByRole(*role, playwright.PageGetByRoleOptions{Name: name, Exact: new(true)}).First()
}

// registers makes an asset in the console by keyboard alone: first from a source that is none, then from a picture. The
// page becomes active without being loaded again. The asset's id comes back.
func (p *tab) registers(c customer, name string) (id string) {
	p.t.Helper()
	p.open(c.ConsoleURL + "/console/assets")
	p.sees("No assets yet")
	p.activates(playwright.AriaRoleLink, "New asset")
	p.must(p.expect.Locator(p.Locator("dialog[open] #asset-url")).ToBeVisible())
	p.types("dialog[open] #asset-url", c.source("text.png"))
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("#asset-url-error")).ToBeVisible())
	p.focused("dialog[open] #asset-url")
	p.axe()
	p.types("dialog[open] #asset-url", c.source("picture.png"))
	p.types("dialog[open] #asset-name", name)
	p.key("Enter")
	p.must(p.WaitForURL("**/console/assets/asset_*"))
	p.measure(`() => { window.sameDocument = true; }`)
	p.must(p.expect.Locator(p.Locator("#asset-live[data-poll]")).ToBeVisible())
	p.reach(p.named(playwright.AriaRoleLink, "Delete…"))
	p.must(p.expect.Locator(p.Locator("#asset-live:not([data-poll]) [role=status]")).ToContainText("Active"))
	p.must(p.expect.Locator(p.named(playwright.AriaRoleLink, "Make a video with it")).ToBeVisible())
	p.must(p.expect.Locator(p.named(playwright.AriaRoleLink, "Delete…")).ToBeFocused())
	if p.measure(`() => window.sameDocument === true`) != true {
		p.t.Error("the page was loaded again to show that the asset is active")
	}
	_, id, _ = strings.Cut(p.URL(), "/console/assets/")
	// The fragment of the address is the place on the page.
	id, _, _ = strings.Cut(id, "#")
	return id
}

// filters narrows the list by a word and by a type.
func (p *tab) filters(c customer, first, second string) {
	p.t.Helper()
	rows := p.Locator("[data-testid=asset]")
	p.open(c.ConsoleURL + "/console/assets")
	p.must(p.expect.Locator(rows).ToHaveCount(2))
	p.inEverySize("list")
	p.key("/")
	p.focused("#assets-q")
	p.must(p.Keyboard().Type("BELL"))
	p.must(p.expect.Locator(rows).ToHaveCount(1))
	p.must(p.expect.Locator(rows).ToContainText(second))
	p.key("ControlOrMeta+a")
	p.key("Delete")
	p.must(p.expect.Locator(rows).ToHaveCount(2))
	p.reach(p.Locator("#assets-type"))
	p.key("ArrowDown")
	p.must(p.expect.Locator(rows).ToHaveCount(1))
	p.must(p.expect.Locator(rows).ToContainText(first))
	if !strings.Contains(p.URL(), "type=image") {
		p.t.Errorf("the address does not say what is filtered: %s", p.URL())
	}
}

// TestAssetIsRegisteredUsedAndDeletedWithTheKeyboardAlone goes the whole way of an asset in a browser. The video that was
// made with it names it even when it is gone.
func TestAssetIsRegisteredUsedAndDeletedWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	c := videoDemo(t).newCustomer(t, "assets")
	p := c.wide(t)
	id := p.registers(c, "simulate: render=4s Harbour at dusk")
	p.inEverySize("active")
	c.makeAsset(t, "audio", "sound.wav", "Ship's bell")
	p.filters(c, "Harbour at dusk", "Ship's bell")

	p.open(c.ConsoleURL + "/console/playground/video?model=" + swiftModel)
	p.types("#video-prompt", "a boat leaves the harbour")
	box := p.Locator(`#video-assets input[value="` + id + `"]`)
	p.reach(box)
	p.key("Space")
	p.must(p.expect.Locator(box).ToBeChecked())
	p.inEverySize("playground")
	p.reach(p.Locator("[data-video-button]"))
	p.key("Enter")
	p.focused("#started-title")
	p.reach(p.Locator(".video-result footer a").First())
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator(`#video-facts a[href="/console/assets/` + id + `"]`)).ToBeVisible())
	film := p.URL()

	p.open(c.ConsoleURL + "/console/assets/" + id)
	p.activates(playwright.AriaRoleLink, "Delete…")
	p.must(p.expect.Locator(p.Locator("dialog[open]")).ToContainText("Harbour at dusk"))
	// The head of a dialog must not count as a second banner of the page.
	p.must(p.expect.Locator(p.GetByRole("banner")).ToHaveCount(1))
	p.must(p.expect.Locator(p.GetByRole("contentinfo")).ToHaveCount(0))
	p.axe()
	p.key("Escape")
	p.must(p.expect.Locator(p.named(playwright.AriaRoleLink, "Delete…")).ToBeFocused())
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("dialog[open]")).ToContainText("Harbour at dusk"))
	p.activates(playwright.AriaRoleButton, "Delete asset")
	p.sees("The asset was deleted.")
	p.must(p.expect.Locator(p.Locator("[data-testid=asset]")).ToHaveCount(1))
	if a := c.assets(t, "/get", `{"asset_id":"`+id+`"}`); a.status != http.StatusNotFound {
		t.Errorf("the API still knows it: %d %s", a.status, a.body)
	}
	p.open(film)
	p.must(p.expect.Locator(p.Locator("#video-facts")).ToContainText(id[len(id)-4:]))
	p.open(film + "/code")
	p.must(p.expect.Locator(p.Locator("#main")).ToContainText(id))
}

// asset is an asset of the customer that is there for good.
func (c customer) asset(t *testing.T) string {
	t.Helper()
	body := fmt.Sprintf(`{"asset_type":"image","url":%q,"name":"a picture"}`, c.SimulatorURL+"/media/samples/picture.png")
	a := c.call(t, http.MethodPost, "/v1/files/vendorx/assets", body)
	id := textAt(object(t, a.body), "asset_id")
	if a.status != http.StatusOK || !strings.HasPrefix(id, "asset_") {
		t.Fatalf("no asset: %d %s", a.status, a.body)
	}
	for deadline := time.Now().Add(callTimeMax); ; time.Sleep(20 * time.Millisecond) {
		a := c.call(t, http.MethodPost, "/v1/files/vendorx/assets/get", `{"asset_id":"`+id+`"}`)
		if textAt(object(t, a.body), "status") == "active" {
			return id
		}
		if time.Now().After(deadline) {
			t.Fatalf("the asset does not become active: %d %s", a.status, a.body)
		}
	}
}
