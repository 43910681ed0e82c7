package console

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/url"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

func wideTab(t *testing.T, c harness.Customer) *harness.Tab {
	t.Helper()
	return newCustomerTab(t, c, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
}

// twoHalves is a picture whose left half is dark and whose right half is light.
func twoHalves(t *testing.T, width, height int) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := width / 2; x < width; x++ {
			img.SetGray(x, y, color.Gray{Y: 250})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// measure runs an expression in the page.
func measure(p *harness.Tab, expression string) any {
	p.T.Helper()
	value, err := p.Evaluate(expression)
	p.Must(err)
	return value
}

// TestVideoIsMadeFromACroppedPictureWatchedRemixedAndDeleted goes the whole way in a browser, and pays what was shown.
func TestVideoIsMadeFromACroppedPictureWatchedRemixedAndDeleted(t *testing.T) {
	t.Parallel()
	// The render is slow enough for the page to show its progress.
	c := harness.StartDemo(t, "--render-time", "1s", "--video-poll-interval", "100ms").NewCustomer(t, "studio")
	before := c.SettledBalance(t, c.AccountID)
	p := wideTab(t, c)
	p.Open(c.ConsoleURL + "/console/playground/video")
	p.Fill("Prompt", "a red kite over dunes")
	p.Must(p.Locator("#video-seconds-4").Check())
	p.Must(p.Expect.Locator(p.Locator("[data-video-price]")).ToHaveText("4 s × $0.10 = $0.40"))
	p.Must(p.Locator("#video-file").SetInputFiles(playwright.InputFile{Name: "kite.png", MimeType: "image/png", Buffer: twoHalves(t, 1600, 600)}))
	p.RequireText("The picture is 1600 × 600. The framed part is cut out and scaled to 1280 × 720.")
	frame := p.Locator("[data-crop-frame]")
	p.Must(frame.Press("End"))
	p.Must(p.Expect.Locator(frame).ToHaveAttribute("aria-valuetext", "100% from the left to the right"))
	p.Must(p.Expect.Locator(p.Locator("[data-video-button]")).ToBeEnabled())
	sent := measure(p, `async () => {
		const [file] = document.querySelector("#video-file").files;
		const bitmap = await createImageBitmap(file);
		const canvas = new OffscreenCanvas(1, 1);
		canvas.getContext("2d").drawImage(bitmap, 600, 300, 1, 1, 0, 0, 1, 1);
		return [bitmap.width, bitmap.height, file.type, canvas.getContext("2d").getImageData(0, 0, 1, 1).data[0] > 200].join(" ");
	}`)
	if sent != "1280 720 image/png true" {
		t.Errorf("the part that is sent: %v", sent)
	}
	checkPage(p, "cropped")
	p.PressButton("Make video")
	p.Must(p.Expect.Locator(p.Locator("#started-title")).ToBeFocused())
	p.Must(p.Expect.Locator(p.Locator(".video-result video")).ToBeVisible())
	requirePlayable(p)
	p.FollowLink("Open, download, remix")
	p.Must(p.Expect.Locator(p.Locator("#video-facts")).ToContainText("4 s × $0.10 = $0.40"))
	p.Must(p.Locator("#scrub").Press("ArrowRight"))
	p.Must(p.Expect.Locator(p.Locator("[data-scrub-at]")).ToHaveText("Frame 2 of 10, at 0.4 s"))
	checkPage(p, "page")
	p.Fill("New prompt", "a blue kite over dunes")
	p.PressButton("Remix")
	p.Must(p.Expect.Locator(p.Locator("#video-live progress")).ToBeVisible())
	measure(p, `() => { window.watched = document.querySelector("#video-live"); }`)
	p.Must(p.Expect.Locator(p.Locator("#video-live video")).ToBeVisible())
	if measure(p, `() => window.watched.isConnected && !window.watched.hasAttribute("data-poll")`) != true {
		t.Error("the part that was looked at was replaced, or is still asked for")
	}
	p.Must(p.Expect.Locator(p.Locator("#remix-prompt")).ToBeVisible())
	p.RequireText("Made from")
	requirePlayable(p)
	checkPage(p, "remix")
	if b := c.SettledBalance(t, c.AccountID); before.Posted-b.Posted != 800_000_000 || b.Held != 0 {
		t.Errorf("two videos of $0.40 were shown, %d was paid, %d is held", before.Posted-b.Posted, b.Held)
	}
	p.FollowLink("Delete…")
	p.RequireText("Delete this video?")
	p.PressButton("Delete video")
	p.RequireText("The video was deleted.")
	p.Must(p.Expect.Locator(p.Locator("[data-testid=video]")).ToHaveCount(1))
	p.Must(p.Locator("[data-bulk-pick]").First().Check())
	p.Must(p.Expect.Locator(p.Locator("[data-bulk-count]")).ToHaveText("1 selected"))
	p.PressButton("Delete selected…")
	p.PressButton("Delete video")
	p.RequireText("No videos yet")
}

// requirePlayable insists that the browser can play the video of the page, and go to any place in it.
func requirePlayable(p *harness.Tab) {
	p.T.Helper()
	got := measure(p, `async () => {
		const video = document.querySelector("video");
		const when = (name) => new Promise((done) => video.addEventListener(name, done, { once: true }));
		if (video.readyState < 1) {
			await when("loadedmetadata");
		}
		const sought = when("seeked");
		video.currentTime = 2.5;
		await sought;
		return [video.videoWidth, video.videoHeight, video.duration, video.currentTime, video.readyState >= 2, video.error?.code ?? 0].join(" ");
	}`)
	if got != "1280 720 4 2.5 true 0" {
		p.T.Errorf("the player says %v", got)
	}
}

// TestVideoIsMadeWithTheKeyboardAlone, from the link in the empty list to the running video.
func TestVideoIsMadeWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	c := harness.SharedVideoDemo(t).NewCustomer(t, "keyboard")
	p := wideTab(t, c)
	p.Open(c.ConsoleURL + "/console/videos")
	press := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			p.Must(p.Keyboard().Press(key))
		}
	}
	to := func(selector string) {
		t.Helper()
		for range 60 {
			if measure(p, fmt.Sprintf(`() => document.activeElement?.matches(%q)`, selector)) == true {
				return
			}
			press("Tab")
		}
		t.Fatalf("the tabulator does not lead to %s", selector)
	}
	to(".empty a")
	press("Enter")
	p.Must(p.WaitForURL("**/console/playground/video"))
	to("#video-prompt")
	p.Must(p.Keyboard().Type("a paper boat"))
	p.Must(p.Expect.Locator(p.Locator("#video-count")).ToHaveText("12 of 32,000 characters"))
	to("[name=size]")
	press("ArrowLeft")
	p.Must(p.Expect.Locator(p.Locator(`[name=size][value="720x1280"]`)).ToBeChecked())
	to("[name=seconds]")
	press("ArrowLeft")
	p.Must(p.Expect.Locator(p.Locator("[data-video-price]")).ToHaveText("4 s × $0.10 = $0.40"))
	to("[data-video-button]")
	press("Enter")
	p.Must(p.Expect.Locator(p.Locator("#started-title")).ToBeFocused())
	to(".video-result footer a")
	press("Enter")
	p.Must(p.Expect.Locator(p.Locator("#video-live video")).ToBeVisible())
}

// TestVideoFormKeepsWhatWasTypedAndAsksAboveFiveDollars: refusals stand beside their fields, a dear video is agreed to
// first, and another choice takes the agreement back.
func TestVideoFormKeepsWhatWasTypedAndAsksAboveFiveDollars(t *testing.T) {
	t.Parallel()
	c := harness.SharedVideoDemo(t).NewCustomer(t, "dear")
	p := wideTab(t, c)
	p.Open(c.ConsoleURL + "/console/playground/video?" + url.Values{"model": {"boreal/drift:pro"}, "prompt": {" "}}.Encode())
	p.PressButton("Make video")
	p.Must(p.Expect.Locator(p.Locator("#video-error-prompt")).ToContainText("prompt"))
	p.Must(p.Expect.Locator(p.Locator("#video-prompt")).ToBeFocused())
	p.Must(p.Expect.Locator(p.Locator("#video-prompt")).ToHaveAttribute("aria-invalid", "true"))
	checkPage(p, "refused")
	p.Fill("Prompt", "a palace")
	p.Must(p.Locator(`[name=size][value="1920x1080"]`).Check())
	p.Must(p.Expect.Locator(p.Locator("[data-video-price]")).ToHaveText("8 s × $0.70 = $5.60"))
	p.PressButton("Make video")
	p.RequireText("This costs $5.60")
	p.Must(p.Expect.Locator(p.Locator("[data-video-button]")).ToBeFocused())
	p.Must(p.Expect.Locator(p.Locator("#video-error-prompt")).ToBeEmpty())
	checkPage(p, "agree")
	p.Must(p.Locator("#video-seconds-4").Check())
	p.Must(p.Expect.Locator(p.Locator("[data-video-button]")).ToContainText("Make video"))
	p.Must(p.Expect.Locator(p.Locator("#video-agree")).ToHaveCount(0))
	if _, err := p.Locator("#video-model").SelectOption(playwright.SelectOptionValues{Values: &[]string{"kestrel/swift"}}); err != nil {
		t.Fatal(err)
	}
	p.Must(p.Expect.Locator(p.Locator(`[name=size][value="960x960"]`)).ToHaveCount(1))
	p.Must(p.Expect.Locator(p.Locator("#video-prompt")).ToHaveValue("a palace"))
	if _, err := p.Locator("#video-also").SelectOption(playwright.SelectOptionValues{Values: &[]string{"boreal/drift:fast"}}); err != nil {
		t.Fatal(err)
	}
	p.PressButton("Make 2 videos")
	p.Must(p.Expect.Locator(p.Locator("#video-error-also")).ToContainText("seconds"))
	p.Must(p.Expect.Locator(p.Locator(".video-result")).ToHaveCount(0))
}
