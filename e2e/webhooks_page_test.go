package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// everywhere runs the accessibility checks in both themes.
func (p *tab) everywhere() {
	p.t.Helper()
	for _, scheme := range []*playwright.ColorScheme{playwright.ColorSchemeDark, playwright.ColorSchemeLight} {
		p.must(p.EmulateMedia(playwright.PageEmulateMediaOptions{
			// With reduced motion colours change at once.
			ColorScheme: scheme, ReducedMotion: playwright.ReducedMotionReduce,
		}))
		_, err := p.Evaluate(coloursSettled)
		p.must(err)
		p.axe()
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
func (p *tab) addHook(url string) string {
	p.t.Helper()
	p.must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Add endpoint"}).Focus())
	p.must(p.Keyboard().Press("Enter"))
	p.must(p.expect.Locator(p.Locator("#modal #hook-name")).ToBeFocused())
	p.everywhere()
	p.must(p.Keyboard().Type("Render pipeline"))
	p.must(p.Keyboard().Press("Tab"))
	p.must(p.Keyboard().Type("http://10.0.0.1/hook"))
	p.must(p.Keyboard().Press("Enter"))
	p.must(p.expect.Locator(p.Locator("#hook-url-error")).ToBeVisible())
	p.must(p.expect.Locator(p.Locator("#modal #hook-url")).ToBeFocused())
	p.must(p.Keyboard().Press("ControlOrMeta+a"))
	p.must(p.Keyboard().Type(url))
	p.must(p.Keyboard().Press("Enter"))
	return p.freshSecret()
}

func (p *tab) freshSecret() string {
	p.t.Helper()
	p.sees("This is the only time the secret is shown")
	secret, err := p.Locator("#fresh-secret").TextContent()
	p.must(err)
	p.everywhere()
	p.follow("I stored it")
	p.sees("Signing secret")
	page, err := p.Content()
	p.must(err)
	if strings.Contains(page, secret) {
		p.t.Error("the secret is shown a second time")
	}
	return secret
}

// TestConsoleWebhooksFromCreationToDeletion goes the way of a person with an endpoint: a test event, a real one, one that
// fails and is sent again, a new secret and the end.
func TestConsoleWebhooksFromCreationToDeletion(t *testing.T) {
	t.Parallel()
	c := filmmaker(t, videoDemo(t), "webhook-pages")
	r := newReceiver(t)
	p := c.tab(t, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
	p.follow("Webhooks")
	p.sees("No endpoints yet")
	p.everywhere()
	secret := p.addHook(r.url)

	p.press("Send test event")
	p.sees("Answered 204 No Content")
	r.hits()[0].signed(t, secret)
	p.everywhere()

	id := textAt(c.film(t, videoBody(reelModel, "a boat")), "id")
	r.about(t, "video.completed", id)[0].signed(t, secret)
	delivered := p.Locator(`[data-testid="delivery"]`).First()
	// The page refreshes itself.
	p.must(p.expect.Locator(delivered).ToContainText("Delivered"))

	r.answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	p.follow("video.completed")
	p.sees("Payload, as signed")
	p.everywhere()
	p.press("Resend")
	p.must(p.expect.Locator(p.Locator("#attempt-2")).ToContainText("Answered 410 Gone"))
	p.must(p.expect.Locator(p.Locator("#delivery")).ToContainText("Failed"))
	r.answers(nil)
	p.open(c.ConsoleURL + "/console/webhooks")
	p.sees("it answered 410 Gone")
	p.everywhere()
	p.press("Enable Render pipeline")
	p.must(p.expect.Locator(p.GetByText("is enabled").First()).ToBeVisible())
	p.follow("Render pipeline")
	p.follow("video.completed")
	p.press("Resend")
	p.must(p.expect.Locator(p.Locator("#attempt-3")).ToContainText("Answered 204 No Content"))
	p.must(p.expect.Locator(p.Locator("#delivery dl")).ToContainText("Delivered"))
	p.follow("Render pipeline")
	p.sees("Signing secret")
	p.endHook(c, r, secret)
}

// endHook rotates the secret, sees both at work, and deletes the endpoint.
func (p *tab) endHook(c customer, r *receiver, secret string) {
	p.t.Helper()
	p.follow("Rotate…")
	p.sees("Keep the old secret working for 24 hours")
	p.everywhere()
	p.press("Rotate secret")
	next := p.freshSecret()
	p.sees("Events are also signed with the secret before it until")
	before := len(r.hits())
	p.press("Send test event")
	until(p.t, "the test event arrives", func() bool { return len(r.hits()) > before })
	p.sees("Answered 204 No Content")
	last := r.hits()[before]
	last.signed(p.t, secret)
	last.signed(p.t, next)
	p.open(c.ConsoleURL + "/console/webhooks/events")
	p.everywhere()
	p.open(c.ConsoleURL + "/console/webhooks")
	p.follow("Render pipeline")
	p.follow("Delete…")
	p.sees("This cannot be undone")
	p.everywhere()
	p.press("Delete endpoint")
	p.sees("was deleted")
	p.sees("No endpoints yet")
}
