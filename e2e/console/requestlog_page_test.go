package console

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"umg/e2e/harness"
)

// firstRowMax is where the first row of the log begins on a phone at the latest, in pixels.
const firstRowMax = 300

// TestARequestOpensBesideTheLog opens a request by its row, walks through the rows by keys, and closes the drawer by going back.
func TestARequestOpensBesideTheLog(t *testing.T) {
	t.Parallel()
	c := harness.SharedVideoDemo(t).NewCustomer(t, "log-drawer")
	call := func() string {
		id := c.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: listed")).Header.Get("X-Request-Id")
		c.UsageRecord(t, id)
		return id
	}
	ids := []string{call(), call()}
	p := wideTab(t, c)
	p.Must(p.SetViewportSize(1440, 900))
	p.Open(c.ConsoleURL + "/console/requests")
	drawer, rows := p.Locator("#log-drawer"), p.Locator("tr[data-row]")
	p.Must(p.Expect.Locator(rows).ToHaveCount(2))
	p.Must(p.SetViewportSize(390, 844))
	if top, ok := measure(p, `() => Math.round(document.querySelector("tr[data-row]").getBoundingClientRect().top)`).(int); !ok || top > firstRowMax {
		t.Errorf("on a phone the first row is at %d pixels, which should be %d at most", top, firstRowMax)
	}
	p.Must(p.SetViewportSize(1440, 900))
	measure(p, `() => { window.sameDocument = true; }`)
	if height := measure(p, `() => Math.round(document.querySelector("tr[data-row]").getBoundingClientRect().height)`); height != 36 && height != 37 {
		t.Errorf("a row is %v pixels high", height)
	}

	p.Must(rows.First().Locator(".cell-model").Click())
	p.Must(p.Expect.Locator(drawer).ToContainText("What it cost"))
	p.Must(p.Expect.Page(p.Page).ToHaveURL(regexp.MustCompile(ids[1])))
	p.CheckAccessibility()
	pressKey(p, "j")
	p.Must(p.Expect.Locator(drawer).ToContainText(ids[0]))
	p.Must(p.Expect.Page(p.Page).ToHaveURL(regexp.MustCompile(ids[0])))
	_, err := p.GoBack()
	p.Must(err)
	p.Must(p.Expect.Locator(drawer).ToBeHidden())
	p.Must(p.Expect.Page(p.Page).ToHaveURL(regexp.MustCompile(`/console/requests(\?[^/]*)?$`)))
	pressKey(p, "k")
	pressKey(p, "o")
	p.Must(p.Expect.Locator(drawer).ToContainText(ids[1]))
	pressKey(p, "x")
	p.Must(p.Expect.Locator(drawer).ToBeHidden())
	if measure(p, `() => window.sameDocument === true`) != true {
		t.Error("the list was loaded again")
	}

	// The focus is on a row, so new rows wait until the reader asks for them.
	fresh := call()
	p.Must(p.Expect.Locator(p.Locator("[data-log-show]")).ToHaveText("Show 1 new"))
	p.PressButton("Show 1 new")
	p.Must(p.Expect.Locator(p.Locator("#row-" + fresh)).ToBeVisible())
	p.PressButton("Pause")
	held := call()
	p.Must(p.Expect.Locator(p.Locator("[data-log-show]")).ToHaveText("Show 1 new"))
	p.PressButton("Resume")
	p.Must(p.Expect.Locator(p.Locator("#row-" + held)).ToBeVisible())
}

// TestTheLogBeginsNearTheTopOfAPhone opens the log in a narrow window. The first row begins near the top, and a button opens the filters.
func TestTheLogBeginsNearTheTopOfAPhone(t *testing.T) {
	t.Parallel()
	c := harness.SharedVideoDemo(t).NewCustomer(t, "log-phone")
	c.UsageRecord(t, c.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: x")).Header.Get("X-Request-Id"))
	p := wideTab(t, c)
	p.Must(p.SetViewportSize(390, 844))
	p.Open(c.ConsoleURL + "/console/requests")
	p.Must(p.Expect.Locator(p.Locator("tr[data-row]")).ToHaveCount(1))
	if top, ok := measure(p, `() => Math.round(document.querySelector("tr[data-row]").getBoundingClientRect().top)`).(int); !ok || top > 300 {
		t.Errorf("the first row begins at %v pixels", top)
	}
	p.Must(p.Expect.Locator(p.Locator("#requests-model")).ToBeHidden())
	p.Must(p.Locator(".log-toggle").Click())
	p.Must(p.Expect.Locator(p.Locator("#requests-model")).ToBeVisible())
	p.CheckWidth("the filters of the log")
}

// TestTimesAreInTheZoneThatAPersonChose checks that one time zone holds for a person on every page. The person chooses it.
func TestTimesAreInTheZoneThatAPersonChose(t *testing.T) {
	t.Parallel()
	c := harness.SharedVideoDemo(t).NewCustomer(t, "log-zone")
	c.UsageRecord(t, c.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: x")).Header.Get("X-Request-Id"))
	b := c.SignInToConsole(t)
	wrong := b.Visit(t, "/console/settings/times", url.Values{"time_zone": {"Mars/Olympus"}})
	if wrong.Status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown zone is answered with %d", wrong.Status)
	}
	b.Visit(t, "/console/settings/times", url.Values{"time_zone": {"Asia/Tokyo"}, "clock": {"12"}})
	for _, path := range []string{"/console/requests", "/console/usage"} {
		if page := b.Visit(t, path, nil); !regexp.MustCompile(`Asia/Tokyo`).MatchString(page.Body) {
			t.Errorf("%s does not name the zone", path)
		}
	}
}
