package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// inForce is how long a pause may take until calls feel it.
const inForce = time.Second

// runsIt makes the customer an operator, by the command.
func runsIt(t *testing.T, c harness.Customer) {
	t.Helper()
	if out, status := harness.RunCommand(t, []string{"DATABASE_URL=" + c.DatabaseURL(t)}, "operator", "add", c.Email); status != 0 {
		t.Fatal(out)
	}
}

// ownModel adds a model with an upstream of its own, whose breaker no other test trips.
func ownModel(t *testing.T, g *harness.Gateway) (id, upstream string) {
	t.Helper()
	upstream = harness.UniqueName("op")
	g.AddModels(t, harness.Model{ID: "test/" + upstream, UpstreamModel: upstream})
	return "test/" + upstream, upstream
}

// answersSoon waits until a call of the model ends with the code, or well when there is none, for as long as a pause may take.
func answersSoon(t *testing.T, c harness.Customer, model, code string) (last harness.Response) {
	t.Helper()
	for deadline := time.Now().Add(inForce); ; time.Sleep(10 * time.Millisecond) {
		asked := time.Now()
		if last = c.Call(t, http.MethodPost, "/v1/chat/completions", harness.ChatRequest(model, "hi")); last.Header.Get("X-Error-Code") == code {
			return last
		}
		if asked.After(deadline) {
			t.Fatalf("%s after the decision: %d %s", inForce, last.Status, last.Body)
		}
	}
}

func opensBy(p *harness.Tab, key, role, name string) {
	p.T.Helper()
	one := p.GetByRole(playwright.AriaRole(role), playwright.PageGetByRoleOptions{Name: name, Exact: new(true)}).First()
	p.Must(p.Expect.Locator(one).ToBeVisible())
	p.Must(one.Focus())
	pressKey(p, key)
}

// TestOperatorPausesAndResumesAModelByKeyboard goes from the menu to the dialog and back by keys alone, and finds that calls are
// refused in the operator's words within a second, and answered again as soon after.
func TestOperatorPausesAndResumesAModelByKeyboard(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "operator")
	runsIt(t, c)
	id, _ := ownModel(t, c.Gateway)
	answersSoon(t, c, id, "")
	p := newCustomerTab(t, c, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1440, Height: 900}})
	opensBy(p, "Enter", "link", "Operator")
	p.Must(p.Expect.Locator(p.Locator("h1")).ToHaveText("Traffic"))
	p.CheckAccessibility()
	opensBy(p, "Enter", "link", "Pause "+id)
	p.Must(p.Expect.Locator(p.Locator("dialog[open] #pause-reason")).ToBeFocused())
	p.Must(p.Expect.Locator(p.Locator("dialog[open]")).ToContainText("503 model_temporarily_unavailable"))
	p.Must(p.Keyboard().Type("It moves to new servers"))
	pressKey(p, "Enter")
	p.RequireText("Paused " + id)
	refused := answersSoon(t, c, id, "model_temporarily_unavailable")
	told := harness.TextMember(harness.DecodeObject(t, refused.Body), "error", "message")
	if !strings.Contains(told, "It moves to new servers.") || refused.Header.Get("Retry-After") == "" {
		t.Errorf("the client's error is %s", refused.Body)
	}
	group := p.Locator(fmt.Sprintf(`[data-model=%q]`, id))
	// The page shows the text that clients read.
	p.Must(p.Expect.Locator(group).ToContainText(told))
	p.Must(p.Expect.Locator(group).ToContainText(c.Email))
	opensBy(p, "Enter", "link", "Resume "+id)
	p.Must(p.Expect.Locator(p.Locator("dialog[open]")).ToContainText("It moves to new servers"))
	opensBy(p, "Enter", "button", "Resume model")
	p.RequireText("Resumed " + id)
	answersSoon(t, c, id, "")
	p.Must(p.Expect.Locator(p.Locator(`[data-testid="traffic-action"]`).First()).ToBeVisible())
	for _, tab := range []string{"Metrics", "Catalog history"} {
		p.FollowLink(tab)
		p.Must(p.Expect.Locator(p.Locator("h1")).ToHaveText(tab))
		p.CheckAccessibility()
	}
	p.RequireText("In force")
}

// TestOperatorSeesAnUpstreamEjected lets an upstream fail until it is ejected. The page that is open says so by itself, with the
// reason, and leaves the focus where it was.
func TestOperatorSeesAnUpstreamEjected(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "watcher")
	runsIt(t, c)
	id, upstream := ownModel(t, c.Gateway)
	p := newCustomerTab(t, c, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 360, Height: 780}})
	p.Open(c.ConsoleURL + "/console/operator")
	pause := p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Pause " + id})
	p.Must(pause.Focus())
	c.BreakProvider(t, "test", upstream)
	for range 5 {
		if a := c.Call(t, http.MethodPost, "/v1/chat/completions", harness.ChatRequest(id, "hi")); a.Header.Get("X-Error-Code") != "upstream_error" {
			t.Fatalf("a broken upstream: %d %s", a.Status, a.Body)
		}
	}
	route := p.Locator(fmt.Sprintf(`[data-model=%q] [data-state="ejected"]`, id))
	p.Must(p.Expect.Locator(route).ToContainText("It failed with a server error (503)"))
	p.Must(p.Expect.Locator(route).ToContainText("until"))
	p.Must(p.Expect.Locator(pause).ToBeFocused())
	p.CheckAccessibility()
	if wide, err := p.Evaluate(`document.documentElement.scrollWidth > innerWidth`); err != nil || wide.(bool) {
		t.Errorf("the page is wider than the window: %v, %v", wide, err)
	}
}

// TestOperatorPagesAreNoneToOthers asks as an owner who is no operator, without scripts.
func TestOperatorPagesAreNoneToOthers(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "owner")
	owner := c.SignInToConsole(t)
	for _, path := range []string{"", "/metrics", "/catalog", "/catalog/1", "/catalog/1/catalog.yaml", "/pause?kind=model&id=" + harness.CheapModel, "/queues", "/trials"} {
		if a := owner.Visit(t, "/console/operator"+path, nil); a.Status != http.StatusNotFound || strings.Contains(a.Body, "/static/account-") {
			t.Errorf("%s: %d", path, a.Status)
		}
	}
	if strings.Contains(owner.Visit(t, "/console", nil).Body, "/console/operator") {
		t.Error("the menu leads an owner to the operators' pages")
	}
	// The next page knows that the person is an operator.
	runsIt(t, c)
	if !strings.Contains(owner.Visit(t, "/console", nil).Body, `href="/console/operator"`) {
		t.Error("the menu does not lead an operator to their pages")
	}
	for path, says := range map[string]string{
		"": harness.CheapModel, "/metrics": "Gateway overhead", "/catalog": "What changed", "/pause?kind=model&id=" + harness.CheapModel: "What clients get until it goes on",
		"/queues": "Kinds of work", "/trials": "The policy in force",
	} {
		if a := owner.Visit(t, "/console/operator"+path, nil); a.Status != http.StatusOK || !strings.Contains(a.Body, says) {
			t.Errorf("%s: %d", path, a.Status)
		}
	}
}
