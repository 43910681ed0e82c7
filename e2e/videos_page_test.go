package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/url"
	"testing"

	"github.com/playwright-community/playwright-go"
)

func (c customer) wide(t *testing.T) *tab {
	t.Helper()
	return c.tab(t, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
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
func (p *tab) measure(expression string) any {
	p.t.Helper()
	value, err := p.Evaluate(expression)
	p.must(err)
	return value
}

// TestVideoIsMadeFromACroppedPictureWatchedRemixedAndDeleted goes the whole way in a browser, and pays what was shown.
func TestVideoIsMadeFromACroppedPictureWatchedRemixedAndDeleted(t *testing.T) {
	t.Parallel()
	// The render is slow enough for the page to show its progress.
	c := start(t, "--render-time", "1s", "--video-poll-interval", "100ms").newCustomer(t, "studio")
	before := c.balanceOf(t, c.accountID)
	p := c.wide(t)
	p.open(c.ConsoleURL + "/console/playground/video")
	p.fill("Prompt", "a red kite over dunes")
	p.must(p.Locator("#video-seconds-4").Check())
	p.must(p.expect.Locator(p.Locator("[data-video-price]")).ToHaveText("4 s × $0.10 = $0.40"))
	p.must(p.Locator("#video-file").SetInputFiles(playwright.InputFile{Name: "kite.png", MimeType: "image/png", Buffer: twoHalves(t, 1600, 600)}))
	p.sees("The picture is 1600 × 600. The framed part is cut out and scaled to 1280 × 720.")
	frame := p.Locator("[data-crop-frame]")
	p.must(frame.Press("End"))
	p.must(p.expect.Locator(frame).ToHaveAttribute("aria-valuetext", "100% from the left to the right"))
	p.must(p.expect.Locator(p.Locator("[data-video-button]")).ToBeEnabled())
	sent := p.measure(`async () => {
		const [file] = document.querySelector("#video-file").files;
		const bitmap = await createImageBitmap(file);
		const canvas = new OffscreenCanvas(1, 1);
		canvas.getContext("2d").drawImage(bitmap, 600, 300, 1, 1, 0, 0, 1, 1);
		return [bitmap.width, bitmap.height, file.type, canvas.getContext("2d").getImageData(0, 0, 1, 1).data[0] > 200].join(" ");
	}`)
	if sent != "1280 720 image/png true" {
		t.Errorf("the part that is sent: %v", sent)
	}
	p.check("cropped")
	p.press("Make video")
	p.must(p.expect.Locator(p.Locator("#started-title")).ToBeFocused())
	p.must(p.expect.Locator(p.Locator(".video-result video")).ToBeVisible())
	p.plays()
	p.follow("Open, download, remix")
	p.must(p.expect.Locator(p.Locator("#video-facts")).ToContainText("4 s × $0.10 = $0.40"))
	p.must(p.Locator("#scrub").Press("ArrowRight"))
	p.must(p.expect.Locator(p.Locator("[data-scrub-at]")).ToHaveText("Frame 2 of 10, at 0.4 s"))
	p.check("page")
	p.fill("What should be different?", "a blue kite over dunes")
	p.press("Remix")
	p.must(p.expect.Locator(p.Locator("#video-live progress")).ToBeVisible())
	p.measure(`() => { window.watched = document.querySelector("#video-live"); }`)
	p.must(p.expect.Locator(p.Locator("#video-live video")).ToBeVisible())
	if p.measure(`() => window.watched.isConnected && !window.watched.hasAttribute("data-poll")`) != true {
		t.Error("the part that was looked at was replaced, or is still asked for")
	}
	p.must(p.expect.Locator(p.Locator("#remix-prompt")).ToBeVisible())
	p.sees("Made from")
	p.plays()
	p.check("remix")
	if b := c.balanceOf(t, c.accountID); before.Posted-b.Posted != 800_000_000 || b.Held != 0 {
		t.Errorf("two videos of $0.40 were shown, %d was paid, %d is held", before.Posted-b.Posted, b.Held)
	}
	p.follow("Delete…")
	p.sees("Delete this video?")
	p.press("Delete video")
	p.sees("The video was deleted.")
	p.must(p.expect.Locator(p.Locator("[data-testid=video]")).ToHaveCount(1))
	p.must(p.Locator("[data-bulk-pick]").First().Check())
	p.must(p.expect.Locator(p.Locator("[data-bulk-count]")).ToHaveText("1 selected"))
	p.press("Delete selected…")
	p.press("Delete video")
	p.sees("No videos yet")
}

// plays insists that the browser can play the video of the page, and go to any place in it.
func (p *tab) plays() {
	p.t.Helper()
	got := p.measure(`async () => {
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
		p.t.Errorf("the player says %v", got)
	}
}

// TestVideoIsMadeWithTheKeyboardAlone, from the link in the empty list to the running video.
func TestVideoIsMadeWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	c := videoDemo(t).newCustomer(t, "keyboard")
	p := c.wide(t)
	p.open(c.ConsoleURL + "/console/videos")
	press := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			p.must(p.Keyboard().Press(key))
		}
	}
	to := func(selector string) {
		t.Helper()
		for range 60 {
			if p.measure(fmt.Sprintf(`() => document.activeElement?.matches(%q)`, selector)) == true {
				return
			}
			press("Tab")
		}
		t.Fatalf("the tabulator does not lead to %s", selector)
	}
	to(".empty a")
	press("Enter")
	p.must(p.WaitForURL("**/console/playground/video"))
	to("#video-prompt")
	p.must(p.Keyboard().Type("a paper boat"))
	p.must(p.expect.Locator(p.Locator("#video-count")).ToHaveText("12 of 32,000 characters"))
	to("[name=size]")
	press("ArrowLeft")
	p.must(p.expect.Locator(p.Locator(`[name=size][value="720x1280"]`)).ToBeChecked())
	to("[name=seconds]")
	press("ArrowLeft")
	p.must(p.expect.Locator(p.Locator("[data-video-price]")).ToHaveText("4 s × $0.10 = $0.40"))
	to("[data-video-button]")
	press("Enter")
	p.must(p.expect.Locator(p.Locator("#started-title")).ToBeFocused())
	to(".video-result footer a")
	press("Enter")
	p.must(p.expect.Locator(p.Locator("#video-live video")).ToBeVisible())
}

// TestVideoFormKeepsWhatWasTypedAndAsksAboveFiveDollars: refusals stand beside their fields, a dear video is agreed to
// first, and another choice takes the agreement back.
func TestVideoFormKeepsWhatWasTypedAndAsksAboveFiveDollars(t *testing.T) {
	t.Parallel()
	c := videoDemo(t).newCustomer(t, "dear")
	p := c.wide(t)
	p.open(c.ConsoleURL + "/console/playground/video?" + url.Values{"model": {"boreal/drift:pro"}, "prompt": {" "}}.Encode())
	p.press("Make video")
	p.must(p.expect.Locator(p.Locator("#video-error-prompt")).ToContainText("prompt"))
	p.must(p.expect.Locator(p.Locator("#video-prompt")).ToBeFocused())
	p.must(p.expect.Locator(p.Locator("#video-prompt")).ToHaveAttribute("aria-invalid", "true"))
	p.check("refused")
	p.fill("Prompt", "a palace")
	p.must(p.Locator(`[name=size][value="1920x1080"]`).Check())
	p.must(p.expect.Locator(p.Locator("[data-video-price]")).ToHaveText("8 s × $0.70 = $5.60"))
	p.press("Make video")
	p.sees("This costs $5.60")
	p.must(p.expect.Locator(p.Locator("[data-video-button]")).ToBeFocused())
	p.must(p.expect.Locator(p.Locator("#video-error-prompt")).ToBeEmpty())
	p.check("agree")
	p.must(p.Locator("#video-seconds-4").Check())
	p.must(p.expect.Locator(p.Locator("[data-video-button]")).ToContainText("Make video"))
	p.must(p.expect.Locator(p.Locator("#video-agree")).ToHaveCount(0))
	if _, err := p.Locator("#video-model").SelectOption(playwright.SelectOptionValues{Values: &[]string{"kestrel/swift"}}); err != nil {
		t.Fatal(err)
	}
	p.must(p.expect.Locator(p.Locator(`[name=size][value="960x960"]`)).ToHaveCount(1))
	p.must(p.expect.Locator(p.Locator("#video-prompt")).ToHaveValue("a palace"))
	if _, err := p.Locator("#video-also").SelectOption(playwright.SelectOptionValues{Values: &[]string{"boreal/drift:fast"}}); err != nil {
		t.Fatal(err)
	}
	p.press("Make 2 videos")
	p.must(p.expect.Locator(p.Locator("#video-error-also")).ToContainText("seconds"))
	p.must(p.expect.Locator(p.Locator(".video-result")).ToHaveCount(0))
}
