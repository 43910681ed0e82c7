package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// everywhere runs the accessibility checks in both themes.
func everywhere(p *harness.Tab) {
	p.T.Helper()
	for _, scheme := range []*playwright.ColorScheme{playwright.ColorSchemeDark, playwright.ColorSchemeLight} {
		p.Must(p.EmulateMedia(playwright.PageEmulateMediaOptions{
			// With reduced motion colours change at once.
			ColorScheme: scheme, ReducedMotion: playwright.ReducedMotionReduce,
		}))
		_, err := p.Evaluate(coloursSettled)
		p.Must(err)
		p.CheckAccessibility()
	}
}

// coloursSettled waits, for at most two seconds or so, until no colour is on its way from one theme to the other.
const coloursSettled = `async () => {
	for (let frame = 0, still = 0; frame < 120 && still < 5; frame++) {
		await new Promise(requestAnimationFrame);
		still = document.getAnimations().length === 0 ? still + 1 : 0;
	}
}`

// addHook adds an endpoint by keyboard alone, and gives its secret.
func addHook(p *harness.Tab, url string) string {
	p.T.Helper()
	p.Must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Add endpoint"}).Focus())
	p.Must(p.Keyboard().Press("Enter"))
	p.Must(p.Expect.Locator(p.Locator("#modal #hook-name")).ToBeFocused())
	everywhere(p)
	p.Must(p.Keyboard().Type("Render pipeline"))
	p.Must(p.Keyboard().Press("Tab"))
	p.Must(p.Keyboard().Type("http://10.0.0.1/hook"))
	p.Must(p.Keyboard().Press("Enter"))
	p.Must(p.Expect.Locator(p.Locator("#hook-url-error")).ToBeVisible())
	p.Must(p.Expect.Locator(p.Locator("#modal #hook-url")).ToBeFocused())
	p.Must(p.Keyboard().Press("ControlOrMeta+a"))
	p.Must(p.Keyboard().Type(url))
	p.Must(p.Keyboard().Press("Enter"))
	return freshSecret(p)
}

func freshSecret(p *harness.Tab) string {
	p.T.Helper()
	p.RequireText("This is the only time the secret is shown")
	secret, err := p.Locator("#fresh-secret").TextContent()
	p.Must(err)
	everywhere(p)
	p.FollowLink("I stored it")
	p.RequireText("Signing secret")
	page, err := p.Content()
	p.Must(err)
	if strings.Contains(page, secret) {
		p.T.Error("the secret is shown a second time")
	}
	return secret
}

// TestConsoleWebhooksFromCreationToDeletion goes the way of a person with an endpoint: a test event, a real one, one that
// fails and is sent again, a new secret and the end.
func TestConsoleWebhooksFromCreationToDeletion(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "webhook-pages")
	r := harness.NewWebhookReceiver(t)
	p := newCustomerTab(t, c, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
	p.FollowLink("Webhooks")
	p.RequireText("No endpoints yet")
	everywhere(p)
	secret := addHook(p, r.URL)

	p.PressButton("Send test event")
	p.RequireText("Answered 204 No Content")
	r.Received()[0].CheckSignature(t, secret)
	everywhere(p)

	id := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "a boat")), "id")
	r.WaitForEvent(t, "video.completed", id)[0].CheckSignature(t, secret)
	delivered := p.Locator(`[data-testid="delivery"]`).First()
	// The page refreshes itself.
	p.Must(p.Expect.Locator(delivered).ToContainText("Delivered"))

	r.AnswerWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	p.FollowLink("video.completed")
	p.RequireText("Payload, as signed")
	everywhere(p)
	p.PressButton("Resend")
	p.Must(p.Expect.Locator(p.Locator("#attempt-2")).ToContainText("Answered 410 Gone"))
	p.Must(p.Expect.Locator(p.Locator("#delivery")).ToContainText("Failed"))
	r.AnswerWith(nil)
	p.Open(c.ConsoleURL + "/console/webhooks")
	p.RequireText("it answered 410 Gone")
	everywhere(p)
	p.PressButton("Enable Render pipeline")
	p.Must(p.Expect.Locator(p.GetByText("is enabled").First()).ToBeVisible())
	p.FollowLink("Render pipeline")
	p.FollowLink("video.completed")
	p.PressButton("Resend")
	p.Must(p.Expect.Locator(p.Locator("#attempt-3")).ToContainText("Answered 204 No Content"))
	p.Must(p.Expect.Locator(p.Locator("#delivery dl")).ToContainText("Delivered"))
	p.FollowLink("Render pipeline")
	p.RequireText("Signing secret")
	endHook(p, c, r, secret)
}

// endHook rotates the secret, sees both at work, and deletes the endpoint.
func endHook(p *harness.Tab, c harness.Customer, r *harness.WebhookReceiver, secret string) {
	p.T.Helper()
	p.FollowLink("Rotate…")
	p.RequireText("Keep the old secret working for 24 hours")
	everywhere(p)
	p.PressButton("Rotate secret")
	next := freshSecret(p)
	p.RequireText("Events are also signed with the secret before it until")
	before := len(r.Received())
	p.PressButton("Send test event")
	harness.WaitUntil(p.T, "the test event arrives", func() bool { return len(r.Received()) > before })
	p.RequireText("Answered 204 No Content")
	last := r.Received()[before]
	last.CheckSignature(p.T, secret)
	last.CheckSignature(p.T, next)
	p.Open(c.ConsoleURL + "/console/webhooks/events")
	everywhere(p)
	p.Open(c.ConsoleURL + "/console/webhooks")
	p.FollowLink("Render pipeline")
	p.FollowLink("Delete…")
	p.RequireText("This cannot be undone")
	everywhere(p)
	p.PressButton("Delete endpoint")
	p.RequireText("was deleted")
	p.RequireText("No endpoints yet")
}
