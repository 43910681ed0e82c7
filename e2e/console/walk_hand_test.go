package console

import (
	"fmt"
	"os"
	"strings"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// hand is one way of doing what a story asks: with the mouse, or with the keyboard alone.
type hand interface {
	// presses a link, a button, a tab, a box or an entry of a menu.
	presses(what playwright.Locator)
	// writes replaces the text of a field.
	writes(where playwright.Locator, text string)
	// chooses takes the option with these words from a list.
	chooses(from playwright.Locator, option string)
	// shortcut presses keys one after another, or what stands for them.
	shortcut(keys []string, instead ...playwright.Locator)
}

// waitForDrawing waits until the page's scripts have run. No person is quicker than they are, but a busy machine's browser is slower than a hand
// that is a program.
func waitForDrawing(p *harness.Tab) {
	p.T.Helper()
	p.Must(p.WaitForLoadState(playwright.PageWaitForLoadStateOptions{State: playwright.LoadStateDomcontentloaded}))
}

// mouseHand clicks what can be seen, as people with a mouse do.
type mouseHand struct{ p *harness.Tab }

// presses clicks the words of a box that is drawn by them, the middle of a link with words for screen readers alone, and
// everything else itself.
func (m mouseHand) presses(what playwright.Locator) {
	m.p.T.Helper()
	m.p.Must(m.p.Expect.Locator(what).ToBeAttached())
	waitForDrawing(m.p)
	words, err := what.Evaluate(`e => {
		const box = e.getBoundingClientRect();
		const style = getComputedStyle(e);
		const hidden = style.opacity === "0" || style.appearance === "none" && box.width < 12 || box.width < 4;
		const label = e.matches("[type=checkbox], [type=radio]") && hidden ? e.labels?.[0] : e.querySelector(".sr-only") && e;
		if (!label) return null;
		label.scrollIntoView({ block: "center", behavior: "instant" });
		const at = label.getBoundingClientRect();
		return [at.x + at.width / 2, at.y + at.height / 2];
	}`, nil)
	m.p.Must(err)
	if at, ok := words.([]any); ok {
		m.p.Must(m.p.Mouse().Click(coordinate(at[0]), coordinate(at[1])))
		return
	}
	m.p.Must(what.Click())
}

// coordinate is what a script counted, which comes as an integer when it is one.
func coordinate(n any) float64 {
	if whole, ok := n.(int); ok {
		return float64(whole)
	}
	return n.(float64)
}

func (m mouseHand) writes(where playwright.Locator, text string) {
	m.p.T.Helper()
	m.p.Must(m.p.Expect.Locator(where).ToBeAttached())
	waitForDrawing(m.p)
	m.p.Must(where.Click())
	m.p.Must(m.p.Keyboard().Press("ControlOrMeta+a"))
	m.p.Must(m.p.Keyboard().Type(text))
}

func (m mouseHand) chooses(from playwright.Locator, option string) {
	m.p.T.Helper()
	_, err := from.SelectOption(playwright.SelectOptionValues{Labels: &[]string{option}})
	m.p.Must(err)
}

func (m mouseHand) shortcut(_ []string, instead ...playwright.Locator) {
	m.p.T.Helper()
	for _, one := range instead {
		m.presses(one)
	}
}

// keysHand never touches the mouse: it goes by the tabulator, and by arrows where one stop of the tabulator is many controls.
type keysHand struct{ p *harness.Tab }

// keysMax is how many presses may lead from one control to the next.
const keysMax = 150

// look is what of a control and around it changes to show that the keyboard is there.
const look = `(e) => {
	const sides = [[e], [e, "::before"], [e, "::after"], ...[...(e.labels ?? []), e.parentElement, e.nextElementSibling].filter(Boolean).map((x) => [x])];
	return sides.map(([x, side]) => {
		const s = getComputedStyle(x, side);
		return [s.outlineStyle !== "none" && s.outlineWidth, s.outlineColor, s.boxShadow, s.borderColor, s.backgroundColor].join();
	}).join();
}`

// towards says which key leads from where the keyboard is to an element, "" when it is there, how often it is pressed before the next
// look, and where the keyboard is now. In a group of radio buttons, tabs, entries of a menu or options the arrows lead; at the
// beginning of the page the link that skips the navigation does. Far away half of the stops between are gone without a look.
var towards = strings.Replace(`e => {
	const field = document.activeElement, option = field.getAttribute("aria-activedescendant");
	const at = option ? document.getElementById(option) : field;
	if (at !== e) e.lookedLike = (LOOK)(e);
	const name = (x) => x.tagName.toLowerCase() + (x.id ? "#" + x.id : "") + (x.name ? "[name=" + x.name + "]" : "") +
		" " + (x.getAttribute("aria-label") ?? x.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 24);
	const say = (key, times = 1) => [key, times, name(at)];
	if (at === e) return say("");
	const radios = at.type === "radio" && e.type === "radio" && at.name === e.name && at.form === e.form;
	const many = "[role=tablist], [role=menu], [role=listbox], [role=radiogroup]";
	const group = at.closest(many);
	const tabbable = e.tabIndex >= 0;
	if (radios || group && group === e.closest(many) && !tabbable) {
		const before = at.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_PRECEDING;
		const across = radios || group.getAttribute("role") === "tablist" && group.getAttribute("aria-orientation") !== "vertical";
		return say(across ? (before ? "ArrowLeft" : "ArrowRight") : (before ? "ArrowUp" : "ArrowDown"));
	}
	if (at.matches(".skip-link") && e.closest("main")) return say("Enter");
	const back = at !== document.body && at.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_PRECEDING;
	const [first, last] = back ? [e, at] : [at, e];
	const root = document.querySelector("dialog[open]") ?? document;
	const stops = at.matches("body, .skip-link") ? [] : [...root.querySelectorAll("a[href], button, input:not([type=radio]), select, textarea, summary")].filter((x) =>
		x.tabIndex >= 0 && !x.disabled && x.checkVisibility({ visibilityProperty: true }) &&
		first.compareDocumentPosition(x) & Node.DOCUMENT_POSITION_FOLLOWING && last.compareDocumentPosition(x) & Node.DOCUMENT_POSITION_PRECEDING);
	return say(back ? "Shift+Tab" : "Tab", Math.max(1, Math.floor(stops.length / 2)));
}`, "LOOK", look, 1)

// ringed says whether a person can see that the keyboard came here, a few frames later at the most. What had the keyboard when
// the page was drawn is not asked.
var ringed = strings.Replace(`async (e) => {
	for (let frame = 0; frame < 30; frame++) {
		if (e.lookedLike === undefined || e.lookedLike !== (LOOK)(e)) return true;
		await new Promise(requestAnimationFrame);
	}
	return false;
}`, "LOOK", look, 1)

// seek waits for an element and keeps in the page which one a locator stands for. Much is asked of it on the way, and a locator would look for it through
// the whole page each time, by names that a screen reader would say.
func (k keysHand) seek(what playwright.Locator) {
	k.p.T.Helper()
	_, err := what.Evaluate("e => { window.sought = e; }", nil)
	k.p.Must(err)
}

// sought asks the found element for something, and returns nil where the page replaced the element.
func (k keysHand) sought(question string) (any, error) {
	return k.p.Evaluate("() => window.sought?.isConnected ? (" + question + ")(window.sought) : null")
}

// reaches goes to a control, and fails with the way that was gone when it never comes, or cannot be seen to be there.
func (k keysHand) reaches(what playwright.Locator) {
	k.p.T.Helper()
	k.seek(what)
	waitForDrawing(k.p)
	var way []string
	for range keysMax {
		step, err := k.sought(towards)
		if err != nil || step == nil {
			k.seek(what)
			continue
		}
		key, times, at := step.([]any)[0].(string), step.([]any)[1].(int), step.([]any)[2].(string)
		if key == "" {
			seen, err := k.sought(ringed)
			k.p.Must(err)
			if seen == nil {
				k.seek(what)
				continue
			}
			if seen != true {
				k.p.T.Errorf("nothing shows that the keyboard is on %s of %s: %v", at, k.p.URL(), way)
			}
			return
		}
		way = append(way, fmt.Sprintf("%s -%d×%s→", at, times, key))
		for range times {
			pressKey(k.p, key)
		}
	}
	if len(way) > 40 {
		way = append(way[:20:20], way[len(way)-20:]...)
	}
	k.p.T.Fatalf("no key leads to %v of %s:\n%s", what, k.p.URL(), strings.Join(way, "\n"))
}

// presses reaches the control and uses the key of its kind. It is reached again where the page replaced the control.
func (k keysHand) presses(what playwright.Locator) {
	k.p.T.Helper()
	for range keysMax {
		k.reaches(what)
		key, err := k.sought(`e => e.type === "radio" || e.getAttribute("role") === "tab" ? (e.checked || e.ariaSelected === "true" ? "" : "Space")
			: e.type === "checkbox" ? "Space" : "Enter"`)
		k.p.Must(err)
		switch key {
		case nil:
			continue
		case "":
		default:
			pressKey(k.p, key.(string))
		}
		return
	}
	k.p.T.Fatalf("the page keeps replacing %v", what)
}

func (k keysHand) writes(where playwright.Locator, text string) {
	k.p.T.Helper()
	k.reaches(where)
	pressKey(k.p, "ControlOrMeta+a")
	k.p.Must(k.p.Keyboard().Type(text))
}

// chooses goes through the options with the arrows. The page may draw the list again with each of them.
func (k keysHand) chooses(from playwright.Locator, option string) {
	k.p.T.Helper()
	k.reaches(from)
	for range keysMax {
		key, err := from.Evaluate(`(e, words) => {
			const all = [...e.options], wanted = all.findIndex((o) => o.label.trim() === words);
			if (wanted < 0) throw new Error(words + " is not among " + all.map((o) => o.label).join(", "));
			return wanted === e.selectedIndex ? "" : wanted > e.selectedIndex ? "ArrowDown" : "ArrowUp";
		}`, option)
		k.p.Must(err)
		if key == "" {
			return
		}
		k.reaches(from)
		pressKey(k.p, key.(string))
	}
	k.p.T.Fatalf("no arrow leads to %q", option)
}

func (k keysHand) shortcut(keys []string, _ ...playwright.Locator) {
	k.p.T.Helper()
	waitForDrawing(k.p)
	for _, key := range keys {
		pressKey(k.p, key)
	}
}

// walker walks through the console with one hand.
type walker struct {
	*harness.Tab
	hand hand
	c    harness.Customer
}

// onStage is where a story plays: the dialog while one is open, else the content of the page.
const onStage = `dialog[open], body:not(:has(dialog[open])) main`

// on is the first control of a role with a name on the stage.
func (w *walker) on(role *playwright.AriaRole, name string) playwright.Locator {
	return w.Locator(onStage).GetByRole(*role, playwright.LocatorGetByRoleOptions{Name: name, Exact: new(true)}).First()
}

// labelled is the first field with a label on the stage.
func (w *walker) labelled(label string) playwright.Locator {
	return w.Locator(onStage).GetByLabel(label, playwright.LocatorGetByLabelOptions{Exact: new(true)}).First()
}

// menu goes to a page by the links at the side.
func (w *walker) menu(name string) {
	w.T.Helper()
	link := w.Locator("aside, .sidebar").GetByRole(*playwright.AriaRoleLink, playwright.LocatorGetByRoleOptions{Name: name, Exact: new(true)}).First()
	w.hand.presses(link)
}

func (w *walker) link(name string) {
	w.T.Helper()
	w.hand.presses(w.on(playwright.AriaRoleLink, name))
}

func (w *walker) button(name string) {
	w.T.Helper()
	w.hand.presses(w.on(playwright.AriaRoleButton, name))
}

func (w *walker) at(selector string) {
	w.T.Helper()
	w.hand.presses(w.Locator(selector).First())
}

func (w *walker) text(label, text string) {
	w.T.Helper()
	w.hand.writes(w.labelled(label), text)
}

// box presses a box or one of several choices by its label.
func (w *walker) box(label string) {
	w.T.Helper()
	w.hand.presses(w.labelled(label))
}

// shows waits until an element has the words.
func (w *walker) shows(selector, words string) {
	w.T.Helper()
	w.Must(w.Expect.Locator(w.Locator(selector).First()).ToContainText(words))
}

// title waits for the page with a heading.
func (w *walker) title(words string) {
	w.T.Helper()
	w.Must(w.Expect.Locator(w.Locator("main h1").First()).ToContainText(words))
}

// count waits until there are so many of something.
func (w *walker) count(selector string, n int) {
	w.T.Helper()
	w.Must(w.Expect.Locator(w.Locator(selector)).ToHaveCount(n))
}

// to opens a page of the console by its address.
func (w *walker) to(path string) {
	w.T.Helper()
	w.Open(w.c.ConsoleURL + "/console" + path)
}

// downloads presses something and gives the file that comes.
func (w *walker) downloads(what playwright.Locator) string {
	w.T.Helper()
	file, err := w.ExpectDownload(func() error { w.hand.presses(what); return nil })
	w.Must(err)
	name := fmt.Sprintf("%s/%s", w.T.TempDir(), file.SuggestedFilename())
	w.Must(file.SaveAs(name))
	return name
}

// downloadHas finds words in the file that comes.
func (w *walker) downloadHas(what playwright.Locator, words string) {
	w.T.Helper()
	if text, err := os.ReadFile(w.downloads(what)); err != nil || !strings.Contains(string(text), words) {
		w.T.Errorf("the file has no %q: %.300s %v", words, text, err)
	}
}
