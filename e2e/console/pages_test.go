package console

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// reading is a browser in which pages are opened one after the other, with what they have in common.
type reading struct {
	*harness.Tab
	g *harness.Gateway
	// titles has the page of each title.
	titles map[string]string
	// pages counts the pages that were looked at.
	pages int
	// retired has the phrases that no page may say.
	retired []string
}

const axeFile = "../node_modules/axe-core/axe.min.js"

// watchPolicy remembers what the content security policy had to block, and lets colours change at once.
const watchPolicy = `window.blocked = [];
const still = new CSSStyleSheet();
still.replaceSync("*, *::before, *::after { transition: none !important; animation: none !important; }");
document.adoptedStyleSheets = [still];
addEventListener("securitypolicyviolation", e => window.blocked.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample));`

// aboutPage is what every page must have, and how much of it there is too much. A card cuts a table that is wider, where none scrolls.
const aboutPage = `() => ({
	title: document.title, headings: document.querySelectorAll("h1").length, mains: document.querySelectorAll("main").length,
	blocked: window.blocked, excess: Math.max(0, document.documentElement.scrollWidth - innerWidth,
		...[...document.querySelectorAll(".table-container")].filter(c => {
			for (let e = c; e; e = e.parentElement) if (/auto|scroll/.test(getComputedStyle(e).overflowX)) return false;
			return true;
		}).map(c => c.scrollWidth - c.clientWidth)),
	unnamed: [...document.querySelectorAll("h1")].filter(h => h.textContent.trim() === "").length,
})`

// runAxe runs all rules and that of targets of 24 pixels, or one of them, on the whole page or on what is around its main part, and gives what is wrong.
const runAxe = `async ({one, around}) => (await axe.run(around ? {exclude: ["main > *"]} : document, {
		preload: false, resultTypes: ["violations"], ...(one ? {runOnly: {type: "rule", values: [one]}} : {rules: {"target-size": {enabled: true}}}),
	})).violations.map(v => v.id + ": " + v.nodes.map(n => n.target.join(" ") + " " + n.failureSummary.split("\n").slice(1).join(" ")).join(", "))`

// reads opens a browser for a person, or for a visitor when there is none. The browser asks for reduced motion.
func reads(t *testing.T, g *harness.Gateway, p *harness.ConsoleClient) *reading {
	t.Helper()
	o := playwright.BrowserNewContextOptions{ReducedMotion: playwright.ReducedMotionReduce}
	if p != nil {
		o.StorageState = consoleState(p, g)
	}
	r := &reading{Tab: harness.NewTab(t, o), g: g, titles: map[string]string{}, retired: retiredPhrases(t)}
	script, err := os.ReadFile(axeFile)
	r.Must(err)
	r.Must(r.AddInitScript(playwright.Script{Content: new(watchPolicy)}))
	r.Must(r.AddInitScript(playwright.Script{Content: new(string(script))}))
	return r
}

// consoleState is the session of a person, for a browser.
func consoleState(p *harness.ConsoleClient, g *harness.Gateway) *playwright.OptionalStorageState {
	host := strings.TrimPrefix(g.ConsoleURL, "http://")
	host, _, _ = strings.Cut(host, ":")
	s := &playwright.OptionalStorageState{}
	for pair := range strings.SplitSeq(sessionCookies(p, g), "; ") {
		name, value, found := strings.Cut(pair, "=")
		if found {
			s.Cookies = append(s.Cookies, playwright.OptionalCookie{
				Name: name, Value: value, Domain: new(host), Path: new("/"), Secure: new(true), HttpOnly: new(true), SameSite: playwright.SameSiteAttributeLax,
			})
		}
	}
	return s
}

// page opens one page in the four ways and reports all that is wrong with it.
func (r *reading) page(path string, status int) {
	r.T.Helper()
	began := time.Now()
	defer func() { r.T.Logf("%s: %s", path, time.Since(began).Round(time.Millisecond)) }()
	r.Must(r.SetViewportSize(1440, 900))
	answer, err := r.Goto(r.g.ConsoleURL + path)
	r.Must(err)
	if answer.Status() != status {
		r.T.Errorf("%s: status %d", path, answer.Status())
	}
	if asked, _, _ := strings.Cut(path, "?"); !strings.HasSuffix(strings.Split(r.URL(), "?")[0], asked) {
		r.T.Errorf("%s leads to %s", path, r.URL())
		return
	}
	text, err := r.Content()
	r.Must(err)
	for _, phrase := range retiredIn(r.retired, text) {
		r.T.Errorf("%s says %q, which is in %s", path, phrase, retiredFile)
	}
	r.pages++
	for _, wide := range []bool{true, false} {
		if !wide {
			r.Must(r.SetViewportSize(360, 780))
		}
		if !wide && !harness.BothThemesEverywhere {
			break // Only the width is checked here, which is the same in both themes.
		}
		for i, scheme := range []*playwright.ColorScheme{playwright.ColorSchemeDark, playwright.ColorSchemeLight} {
			if i == 0 && r.pages%2 == 0 && !harness.BothThemesEverywhere {
				continue // All pages have the same colours; make soak looks at each in both themes.
			}
			r.Must(r.EmulateMedia(playwright.PageEmulateMediaOptions{ColorScheme: scheme}))
			r.audit(fmt.Sprintf("%s, wide %v, %s", path, wide, *scheme), i == 0 && !harness.BothThemesEverywhere)
		}
	}
	r.furniture(path)
}

// frame opens a page that another person has read, and looks only at what is around its main part.
func (r *reading) frame(path string) {
	r.T.Helper()
	r.Must(r.SetViewportSize(1440, 900))
	answer, err := r.Goto(r.g.ConsoleURL + path)
	r.Must(err)
	if answer.Status() != http.StatusOK {
		r.T.Errorf("%s: status %d", path, answer.Status())
	}
	r.axed(path+" around", map[string]any{"around": true})
	r.Must(r.SetViewportSize(360, 780))
	r.furniture(path)
}

// audit runs the accessibility checks; only those of colours where the rest is the same as in the other theme.
func (r *reading) audit(what string, colours bool) {
	r.T.Helper()
	one := ""
	if colours {
		one = "color-contrast"
	}
	r.axed(what, map[string]any{"one": one})
}

// axed reports what the accessibility checks find.
func (r *reading) axed(what string, how map[string]any) {
	r.T.Helper()
	found, err := r.Evaluate(runAxe, how)
	r.Must(err)
	for _, v := range found.([]any) {
		r.T.Errorf("%s: %v", what, v)
	}
}

// furniture looks for what every page has exactly once, and for what no page may have.
func (r *reading) furniture(path string) {
	r.T.Helper()
	value, err := r.Evaluate(aboutPage)
	r.Must(err)
	about := value.(map[string]any)
	if fmt.Sprint(about["headings"], about["mains"], about["unnamed"]) != "1 1 0" {
		r.T.Errorf("%s: %v headings, %v without words, %v main landmarks", path, about["headings"], about["unnamed"], about["mains"])
	}
	if fmt.Sprint(about["excess"]) != "0" {
		r.T.Errorf("%s: %v pixels wider than its window of 360", path, about["excess"])
	}
	if blocked := about["blocked"].([]any); len(blocked) > 0 {
		r.T.Errorf("%s: the policy blocked %v", path, blocked)
	}
	title := about["title"].(string)
	if before, taken := r.titles[title]; taken || !strings.Contains(title, " · ") {
		r.T.Errorf("%s: the title %q is that of %s", path, title, before)
	}
	r.titles[title] = path
}
