//go:build shots

package console

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// countingHand counts what a hand does.
type countingHand struct {
	hand

	clicks, fields int
}

func (h *countingHand) presses(what playwright.Locator) {
	h.clicks++
	h.hand.presses(what)
}

func (h *countingHand) writes(where playwright.Locator, text string) {
	h.fields++
	h.hand.writes(where, text)
}

func (h *countingHand) chooses(from playwright.Locator, option string) {
	h.clicks++
	h.hand.chooses(from, option)
}

// task is what a person wants to do in the console, from a page where people are. Prepare is not counted.
type task struct {
	name      string
	clicksMax int
	prepare   func(w *walker)
	does      func(w *walker)
}

// tasks are those by which the console is compared with its earlier state. The bounds are what they took when they were written.
var tasks = []task{
	{"sign up to the first answer, with the mail", 5, func(w *walker) { w.to("/sign-up") }, taskFirstAnswer},
	{"cheapest model for images with a context over 200,000", 4, func(w *walker) { w.enters("task-vision") }, taskCheapestVision},
	{"compare three models with a tool", 10, func(w *walker) { w.enters("task-compare") }, taskCompare},
	{"why did it fail", 1, func(w *walker) { w.failed("simulate: status=500") }, taskWhyFailed},
	{"why was it refused", 1, func(w *walker) { w.failed("") }, taskWhyRefused},
	{"the key that cost most yesterday", 1, func(w *walker) { w.enters("task-top"); w.calls() }, taskTopKey},
	{"buy credit", 3, func(w *walker) { w.enters("task-buys") }, taskBuy},
	{"budget and alert of a key", 4, func(w *walker) { w.enters("task-budget") }, taskBudget},
	{"rotate a key", 4, func(w *walker) { w.enters("task-rotates") }, taskRotate},
	{"webhook: add, test and resend", 6, func(w *walker) { w.enters("task-hook") }, taskWebhook},
	{"invite a member", 3, func(w *walker) { w.enters("task-invites") }, taskInvite},
	{"make a video and remix it", 5, func(w *walker) { w.enters("task-video") }, taskVideo},
	{"operator: pause a model", 3, taskOperatorEnters, taskPause},
	{"operator: give credit", 7, taskOperatorEnters, taskCredit},
}

// TestTasks does each task with the mouse, prints how many clicks, fields and seconds it takes, and fails when one takes more clicks than
// its bound. The seconds are those of a program that waits for each page and thinks about none.
func TestTasks(t *testing.T) {
	g := harness.SharedVideoDemo(t)
	var table strings.Builder
	for _, one := range tasks {
		t.Run(one.name, func(t *testing.T) {
			p := harness.NewTab(t, desktopSize)
			h := &countingHand{hand: mouseHand{p}}
			w := &walker{Tab: p, c: harness.Customer{Gateway: g}, hand: h}
			one.prepare(w)
			h.clicks, h.fields = 0, 0
			began := time.Now()
			one.does(w)
			took := time.Since(began)
			fmt.Fprintf(&table, "| %s | %d | %d | %.1f |\n", one.name, h.clicks, h.fields, took.Seconds())
			if h.clicks > one.clicksMax {
				t.Errorf("%d clicks, more than %d", h.clicks, one.clicksMax)
			}
		})
	}
	t.Logf("\n| task | clicks | fields | seconds |\n| --- | --- | --- | --- |\n%s", table.String())
	if err := os.MkdirAll(shotsFolder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shotsFolder, "tasks.md"), []byte(table.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (w *walker) calls() {
	w.T.Helper()
	w.c.Call(w.T, http.MethodPost, "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: hi"))
}

// failed enters with a call of the customer that has failed, or that was refused when there is no prompt.
func (w *walker) failed(prompt string) {
	w.T.Helper()
	w.c = w.c.NewCustomer(w.T, "task-fails")
	model := harness.CheapModel
	if prompt == "" {
		model = "meridian/no-such-model"
	}
	w.c.Call(w.T, http.MethodPost, "/v1/chat/completions", harness.ChatRequest(model, prompt))
	w.signsWith(w.c.Email, w.c.Password)
	w.title("Overview")
}

func taskFirstAnswer(w *walker) {
	email := fmt.Sprintf("task-%d@example.com", time.Now().UnixNano())
	w.text("E-mail", email)
	w.text("Password", "a quiet sentence to keep")
	w.button("Create account")
	w.RequireText("Make your first request")
	link := harness.NewConsoleClient(w.T, w.c.Gateway).MailedLink(w.T, "verify_email", email)
	w.hand.(*countingHand).clicks++ // This is the link in the mail.
	w.Open(w.c.ConsoleURL + link)
	w.button("Verify this address")
	w.shows("#balance", "$5.00")
	w.button("Make my key")
	w.RequireText("Waiting for")
	w.button("Send it from here")
	w.RequireText("Your first request was answered")
}

func taskCheapestVision(w *walker) {
	w.menu("Models")
	w.hand.presses(w.Locator("summary", playwright.PageLocatorOptions{HasText: "More filters"}))
	w.hand.presses(w.Locator(`input[name=input][value=image]`))
	w.text("Context at least", "200000")
	w.link("Input / 1M")
	first := w.Locator(`[data-testid="model"]`).First()
	w.Must(w.Expect.Locator(first).ToContainText("Fjord Flash"))
}

func taskCompare(w *walker) {
	w.menu("Models")
	for _, id := range []string{harness.CheapModel, "meridian/atlas-large", "quillon/folio-swift"} {
		w.at(`input[name=m][value="` + id + `"]`)
	}
	w.at(".compare-bar button, .compare-bar a")
	w.title("Compare")
	w.link("Open all in playground")
	w.count("[data-pane]", 3)
	w.at("[data-toggle-side]")
	w.hand.presses(w.Locator(".play-tools summary").First())
	w.at("[data-example=tools]")
	w.asks("call the tool with city=Rome")
	w.Must(w.Expect.Locator(w.Locator("[data-turn=tool] [data-call-arguments]")).ToHaveCount(3))
}

func taskWhyFailed(w *walker) {
	w.hand.presses(w.Locator(`a[href*="/console/requests/req_"]`).First())
	w.title("ailed")
	w.RequireText("Cause and fix")
}

func taskWhyRefused(w *walker) {
	w.hand.presses(w.Locator(`a[href*="/console/requests/req_"]`).First())
	w.title("efused")
	w.RequireText("Cause and fix")
}

func taskTopKey(w *walker) {
	w.link("Yesterday by key")
	w.title("Usage")
	w.Must(w.Expect.Locator(w.labelled("Range")).ToHaveValue("yesterday"))
	w.Must(w.Expect.Locator(w.labelled("by")).ToHaveValue("key"))
}

func taskBuy(w *walker) {
	w.hand.presses(w.Locator("#balance"))
	w.button("Continue to payment")
	w.hand.(*countingHand).clicks++ // This button is on the payment service's page.
	w.PressButton("Pay with test card")
	topUpIs(w.Tab, "paid")
	requireContent(w.Tab, "$30")
}

func taskBudget(w *walker) {
	w.menu("API keys")
	w.at(`[data-testid="key"] a.row-link`)
	w.hand.writes(w.Locator("#key-budget"), "7")
	w.at(halfSpent)
	w.button("Save changes")
	w.RequireText("$7")
}

func taskRotate(w *walker) {
	w.menu("API keys")
	w.at(`[data-testid="key"] [aria-label^='Actions for']`)
	w.hand.presses(w.Locator(`[data-testid="key"] .menu-item`).Filter(playwright.LocatorFilterOptions{HasText: "Rotate…"}))
	w.button("Rotate key")
	w.Must(w.Expect.Locator(w.Locator("#fresh-key")).ToBeVisible())
}

func taskWebhook(w *walker) {
	r := harness.NewWebhookReceiver(w.T)
	w.menu("Webhooks")
	w.link("Add endpoint")
	w.hand.writes(w.Locator("#hook-name"), "Task")
	w.hand.writes(w.Locator("#hook-url"), r.URL)
	w.button("Add endpoint")
	w.link("I stored it")
	w.button("Send test event")
	w.RequireText("Answered 204 No Content")
	w.button("Send test event")
	for deadline := time.Now().Add(harness.CallTimeMax); len(r.Received()) < 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.T.Fatal("the event was not sent again")
		}
	}
}

func taskInvite(w *walker) {
	w.menu("Settings")
	w.link("Members")
	email := fmt.Sprintf("task-invited-%d@example.com", time.Now().UnixNano())
	w.hand.writes(w.Locator("#invite-email"), email)
	w.button("Invite")
	w.RequireText(email + " is invited.")
}

func taskVideo(w *walker) {
	w.menu("Playground")
	w.link("Video")
	w.hand.writes(w.Locator("#video-prompt"), "a red kite")
	w.button("Make video")
	w.count(".video-result video", 1)
	w.link("Open, download, remix")
	w.text("New prompt", "a blue kite")
	w.button("Remix")
	w.RequireText("Made from")
}

func taskOperatorEnters(w *walker) {
	w.c = w.c.NewCustomer(w.T, "task-operator")
	runsIt(w.T, w.c)
	w.signsWith(w.c.Email, w.c.Password)
}

func taskPause(w *walker) {
	id, _ := ownModel(w.T, w.c.Gateway)
	w.menu("Operator")
	w.link("Pause " + id)
	w.hand.writes(w.Locator("#pause-reason"), "It moves to new servers")
	w.button("Pause model")
	w.RequireText("Paused " + id)
}

func taskCredit(w *walker) {
	w.menu("Operator")
	w.link("Accounts")
	w.text("Find", w.c.Email)
	w.count(`[data-testid="account"]`, 1)
	w.at(`[data-testid="account"] a.row-link`)
	w.link("Add credit")
	w.text("Amount", "2.5")
	w.text("Reason", "An outage")
	w.button("Continue")
	w.RequireText("You are a member of this account")
	w.text("Your current password", w.c.Password)
	w.button("Add $2.50")
	w.RequireText("Added $2.50 to")
}
