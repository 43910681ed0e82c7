package console

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"

	"umg/e2e/harness"
)

const (
	// scriptBytesMax is for the compressed scripts of a page.
	scriptBytesMax = 45 << 10
	sheetBytesMax  = 40 << 10
	// pageBytesMax is for the page itself, as it is sent.
	pageBytesMax = 30 << 10
	// shiftMax is the layout shift while a page loads or an answer arrives.
	shiftMax = 0.02
)

// quickPages are those that people open most.
var quickPages = []string{
	"", "/models", "/models/meridian/atlas-large", "/playground", "/keys", "/requests", "/usage", "/billing", "/docs/quickstart", "/prompts", "/videos", "/webhooks",
}

// watchShifts adds up how far the layout moves by itself and how many transitions begin, and remembers what moved, when the largest
// thing was drawn and tasks that were long.
const watchShifts = `window.shifted = 0; window.movers = []; window.largest = 0; window.long = []; window.transitions = 0;
document.addEventListener("transitionrun", () => { window.transitions++; }, true);
new PerformanceObserver(list => { for (const e of list.getEntries()) if (!e.hadRecentInput) {
	window.shifted += e.value;
	for (const s of e.sources) window.movers.push(e.value.toFixed(4) + " " + (s.node?.outerHTML ?? s.node?.textContent ?? "").slice(0, 80)
		+ " from " + JSON.stringify(s.previousRect) + " to " + JSON.stringify(s.currentRect));
} })
	.observe({type: "layout-shift", buffered: true});
new PerformanceObserver(list => { for (const e of list.getEntries()) window.largest = e.startTime; })
	.observe({type: "largest-contentful-paint", buffered: true});
new PerformanceObserver(list => { for (const e of list.getEntries()) window.long.push(Math.round(e.duration)); })
	.observe({type: "longtask", buffered: true});`

// travelled adds up what the page fetched, by kind, as it came over the wire.
const travelled = `async () => {
	await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
	const sum = suffix => performance.getEntriesByType("resource").filter(e => new URL(e.name).pathname.endsWith(suffix))
		.reduce((bytes, e) => bytes + e.encodedBodySize, 0);
	const [page] = performance.getEntriesByType("navigation");
	return {page: page.encodedBodySize, served: page.responseStart - page.requestStart, scripts: sum(".js"), sheets: sum(".css"), shifted: window.shifted, movers: window.movers.join("\n"), largest: window.largest, transitions: window.transitions, others:
		performance.getEntriesByType("resource").filter(e => new URL(e.name).origin !== location.origin).length};
}`

// hurried is a browser with nothing in its cache that counts what moves.
func hurried(c harness.Customer, t *testing.T) *harness.Tab {
	t.Helper()
	p := harness.NewTab(t, playwright.BrowserNewContextOptions{
		Viewport: &playwright.Size{Width: 1440, Height: 900}, StorageState: consoleState(c.SignInToConsole(t), c.Gateway),
	})
	p.Must(p.AddInitScript(playwright.Script{Content: new(watchShifts)}))
	session, err := p.Context().NewCDPSession(p.Page)
	p.Must(err)
	_, err = session.Send("Network.setCacheDisabled", map[string]any{"cacheDisabled": true})
	p.Must(err)
	return p
}

func figure(v any) float64 {
	switch n := v.(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return -1
}

// partsOfModel are the parts of a model's page, each of which is a page of its own.
var partsOfModel = []string{"performance", "cost", "api", "history"}

// TestSpeedPagesAreLightAndStill adds up the bytes, scripts and sheets of pages, and how much they move while they come.
func TestSpeedPagesAreLightAndStill(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "light")
	film := harness.TextMember(c.CompleteVideo(t, harness.VideoBody("meridian/reel", "a lighthouse")), "id")
	for i := range 3 {
		c.Chat(t, harness.ChatRequest(harness.CheapModel, fmt.Sprint("echo: ", i)))
	}
	paths := append(slices.Clone(quickPages), "/videos/"+film)
	for _, part := range partsOfModel {
		paths = append(paths, "/models/meridian/atlas-large?tab="+part)
	}
	p := hurried(c, t)
	for _, path := range paths {
		p.Open(c.ConsoleURL + "/console" + path)
		value, err := p.Evaluate(travelled)
		p.Must(err)
		about := value.(map[string]any)
		sent, scripts, sheets, shifted := figure(about["page"]), figure(about["scripts"]), figure(about["sheets"]), figure(about["shifted"])
		t.Logf("%-45s page %5.0f, scripts %5.0f, sheets %5.0f, shift %.4f", path, sent, scripts, sheets, shifted)
		if sent <= 0 || sent > pageBytesMax {
			t.Errorf("%s: %.0f bytes are sent, more than %d", path, sent, pageBytesMax)
		}
		if scripts <= 0 || scripts > scriptBytesMax || sheets <= 0 || sheets > sheetBytesMax {
			t.Errorf("%s: %.0f bytes of scripts and %.0f of sheets, more than %d and %d", path, scripts, sheets, scriptBytesMax, sheetBytesMax)
		}
		if shifted < 0 || shifted > shiftMax {
			t.Errorf("%s moves by %.4f while it comes:\n%s", path, shifted, about["movers"])
		}
		if n := figure(about["transitions"]); n != 0 {
			t.Errorf("%s begins %.0f transitions for a person who asked for reduced motion", path, n)
		}
		if figure(about["others"]) != 0 {
			t.Errorf("%s fetches from elsewhere", path)
		}
	}
}

// fontFile is the font that most of a page is drawn in.
var fontFile = regexp.MustCompile(`/geist-[0-9a-f]+\.woff2$`)

const (
	// drawnWithoutFont ends when the page is drawn. What moved until then is the subject of TestSpeedPagesAreLightAndStill.
	drawnWithoutFont = `async () => {
		await (` + drawnTwice + `)();
		window.shifted = 0; window.movers = [];
	}`
	drawnTwice = `() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`
	fontDrawn  = `async () => {
		await document.fonts.ready;
		await (` + drawnTwice + `)();
		return {shifted: window.shifted, movers: window.movers.join("\n"), there: [...document.fonts].some(f => f.family.includes("Geist") && f.status === "loaded")};
	}`
)

// TestSpeedNothingMovesWhenTheFontComes draws pages before their font is there and lets it come then.
func TestSpeedNothingMovesWhenTheFontComes(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "font")
	c.Chat(t, harness.ChatRequest(harness.CheapModel, "echo: a line in the tables"))
	p := hurried(c, t)
	held := make(chan playwright.Route, 1)
	p.Must(p.Context().Route(fontFile, func(r playwright.Route) {
		select {
		case held <- r:
		default:
			// The call fails when the page has been left, which is no error.
			_ = r.Continue()
		}
	}))
	for _, path := range quickPages {
		_, err := p.Goto(c.ConsoleURL+"/console"+path, playwright.PageGotoOptions{WaitUntil: playwright.WaitUntilStateDomcontentloaded})
		p.Must(err)
		measure(p, drawnWithoutFont)
		select {
		case r := <-held:
			p.Must(r.Continue())
		default:
			t.Errorf("%s was drawn without asking for the font", path)
		}
		about := measure(p, fontDrawn).(map[string]any)
		if about["there"] != true {
			t.Errorf("%s never had its font", path)
		}
		if shifted := figure(about["shifted"]); shifted < 0 || shifted > shiftMax {
			t.Errorf("%s moves by %.4f when its font comes:\n%s", path, shifted, about["movers"])
		} else {
			t.Logf("%-30s shift %.4f", path, shifted)
		}
	}
}

// watchWrites counts how often a conversation is changed.
const watchWrites = `() => {
	window.shifted = 0; window.long.length = 0; window.writes = 0;
	new MutationObserver(list => { window.writes += list.length; }).observe(document.querySelector("#play"), {childList: true, characterData: true, subtree: true});
}`

// TestSpeedALongAnswerComesInFewStrokes streams an answer of many tokens: the page is changed in strokes and not by tokens, and
// nothing moves that was already there.
func TestSpeedALongAnswerComesInFewStrokes(t *testing.T) {
	t.Parallel()
	const tokens, writesMax = 3000, 600
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "strokes")
	p := hurried(c, t)
	p.Open(c.ConsoleURL + "/console/playground?model=" + harness.CheapModel)
	measure(p, watchWrites)
	askPlayground(p, fmt.Sprintf("count to %d", tokens))
	waitForAnswer(p, 1)
	if text, err := p.Locator("[data-answer] [data-text]").Last().TextContent(); err != nil || !strings.HasSuffix(strings.TrimSpace(text), fmt.Sprint(tokens)) {
		t.Errorf("the answer is not whole: %v", err)
	}
	writes, shifted := figure(measure(p, `() => window.writes`)), figure(measure(p, `() => window.shifted`))
	t.Logf("%d tokens in %.0f changes, shift %.4f", tokens, writes, shifted)
	if writes <= 0 || writes > writesMax {
		t.Errorf("%d tokens changed the page %.0f times", tokens, writes)
	}
	if shifted < 0 || shifted > shiftMax {
		t.Errorf("the page moves by %.4f while an answer comes", shifted)
	}
}
