package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// inForce is how long a pause may take until calls feel it.
const inForce = time.Second

// runsIt makes the customer an operator, by the command.
func (c customer) runsIt(t *testing.T) {
	t.Helper()
	if out, status := run(t, []string{"DATABASE_URL=" + c.databaseURL(t)}, "operator", "add", c.Email); status != 0 {
		t.Fatal(out)
	}
}

// ownModel adds a model with an upstream of its own, whose breaker no other test trips.
func (g *gateway) ownModel(t *testing.T) (id, upstream string) {
	t.Helper()
	upstream = once("op")
	g.addModels(t, model{id: "test/" + upstream, upstream: upstream})
	return "test/" + upstream, upstream
}

// answersSoon waits until a call of the model ends with the code, or well when there is none, for as long as a pause may take.
func (c customer) answersSoon(t *testing.T, model, code string) (last answer) {
	t.Helper()
	for deadline := time.Now().Add(inForce); ; time.Sleep(10 * time.Millisecond) {
		asked := time.Now()
		if last = c.call(t, http.MethodPost, "/v1/chat/completions", ask(model, "hi")); last.header.Get("X-Error-Code") == code {
			return last
		}
		if asked.After(deadline) {
			t.Fatalf("%s after the decision: %d %s", inForce, last.status, last.body)
		}
	}
}

func (p *tab) opensBy(key, role, name string) {
	p.t.Helper()
	one := p.GetByRole(playwright.AriaRole(role), playwright.PageGetByRoleOptions{Name: name, Exact: new(true)}).First()
	p.must(p.expect.Locator(one).ToBeVisible())
	p.must(one.Focus())
	p.key(key)
}

// TestOperatorPausesAndResumesAModelByKeyboard goes from the menu to the dialog and back by keys alone, and finds that calls are
// refused in the operator's words within a second, and answered again as soon after.
func TestOperatorPausesAndResumesAModelByKeyboard(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "operator")
	c.runsIt(t)
	id, _ := c.ownModel(t)
	c.answersSoon(t, id, "")
	p := c.tab(t, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1440, Height: 900}})
	p.opensBy("Enter", "link", "Operator")
	p.must(p.expect.Locator(p.Locator("h1")).ToHaveText("Traffic"))
	p.axe()
	p.opensBy("Enter", "link", "Pause "+id)
	p.must(p.expect.Locator(p.Locator("dialog[open] #pause-reason")).ToBeFocused())
	p.must(p.expect.Locator(p.Locator("dialog[open]")).ToContainText("503 model_temporarily_unavailable"))
	p.must(p.Keyboard().Type("It moves house"))
	p.key("Enter")
	p.sees("Paused " + id)
	refused := c.answersSoon(t, id, "model_temporarily_unavailable")
	told := textAt(object(t, refused.body), "error", "message")
	if !strings.Contains(told, "It moves house.") || refused.header.Get("Retry-After") == "" {
		t.Errorf("the client's error is %s", refused.body)
	}
	group := p.Locator(fmt.Sprintf(`[data-model=%q]`, id))
	// The page shows the text that clients read.
	p.must(p.expect.Locator(group).ToContainText(told))
	p.must(p.expect.Locator(group).ToContainText(c.Email))
	p.opensBy("Enter", "link", "Resume "+id)
	p.must(p.expect.Locator(p.Locator("dialog[open]")).ToContainText("It moves house"))
	p.opensBy("Enter", "button", "Resume model")
	p.sees("Resumed " + id)
	c.answersSoon(t, id, "")
	p.must(p.expect.Locator(p.Locator(`[data-testid="traffic-deed"]`).First()).ToBeVisible())
	for _, tab := range []string{"Metrics", "Catalog history"} {
		p.follow(tab)
		p.must(p.expect.Locator(p.Locator("h1")).ToHaveText(tab))
		p.axe()
	}
	p.sees("In force")
}

// TestOperatorSeesAnUpstreamEjected lets an upstream fail until it is ejected. The page that is open says so by itself, with the
// reason, and leaves the focus where it was.
func TestOperatorSeesAnUpstreamEjected(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "watcher")
	c.runsIt(t)
	id, upstream := c.ownModel(t)
	p := c.tab(t, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 360, Height: 780}})
	p.open(c.ConsoleURL + "/console/operator")
	pause := p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Pause " + id})
	p.must(pause.Focus())
	c.breaks(t, "test", upstream)
	for range 5 {
		if a := c.call(t, http.MethodPost, "/v1/chat/completions", ask(id, "hi")); a.header.Get("X-Error-Code") != "upstream_error" {
			t.Fatalf("a broken upstream: %d %s", a.status, a.body)
		}
	}
	route := p.Locator(fmt.Sprintf(`[data-model=%q] [data-state="ejected"]`, id))
	p.must(p.expect.Locator(route).ToContainText("It had a fault of its own (503)"))
	p.must(p.expect.Locator(route).ToContainText("until"))
	p.must(p.expect.Locator(pause).ToBeFocused())
	p.axe()
	if wide, err := p.Evaluate(`document.documentElement.scrollWidth > innerWidth`); err != nil || wide.(bool) {
		t.Errorf("the page is wider than the window: %v, %v", wide, err)
	}
}

// TestOperatorPagesAreNoneToOthers asks as an owner who is no operator, without scripts.
func TestOperatorPagesAreNoneToOthers(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "owner")
	owner := c.signedIn(t)
	for _, path := range []string{"", "/metrics", "/catalog", "/catalog/1", "/catalog/1/catalog.yaml", "/pause?kind=model&id=" + cheapModel, "/queues", "/trials"} {
		if a := owner.visit(t, "/console/operator"+path, nil); a.status != http.StatusNotFound || strings.Contains(a.body, "/static/account-") {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if strings.Contains(owner.visit(t, "/console", nil).body, "/console/operator") {
		t.Error("the menu leads an owner to the operators' pages")
	}
	// The next page knows that the person is an operator.
	c.runsIt(t)
	if !strings.Contains(owner.visit(t, "/console", nil).body, `href="/console/operator"`) {
		t.Error("the menu does not lead an operator to their pages")
	}
	for path, says := range map[string]string{
		"": cheapModel, "/metrics": "Gateway overhead", "/catalog": "What changed", "/pause?kind=model&id=" + cheapModel: "What clients get until it goes on",
		"/queues": "Kinds of work", "/trials": "The policy in force",
	} {
		if a := owner.visit(t, "/console/operator"+path, nil); a.status != http.StatusOK || !strings.Contains(a.body, says) {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}
