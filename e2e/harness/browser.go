package harness

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"
)

const browserWaitMilliseconds = 15_000

// sharedBrowser is the browser of a test process, which starts with the first test that wants it.
type sharedBrowser struct {
	once     sync.Once
	driver   *playwright.Playwright
	chromium playwright.Browser
	err      error
}

var oneBrowser = &sharedBrowser{}

// browser is one Chromium of the distribution for all tests, driven by the npm package of the driver.
func browser(t *testing.T) playwright.Browser {
	t.Helper()
	b := oneBrowser
	b.once.Do(func() { b.driver, b.chromium, b.err = launch() })
	if b.err != nil {
		t.Fatalf("%v\ninstall it with: apt-get install -y --no-install-recommends chromium-headless-shell nodejs npm; (cd e2e && npm ci)", b.err)
	}
	return b.chromium
}

func launch() (*playwright.Playwright, playwright.Browser, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, nil, err
	}
	core, err := filepath.Abs("../node_modules/playwright-core")
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(filepath.Join(core, "cli.js")); err != nil {
		return nil, nil, err
	}
	dir, err := MakeTempDir()
	if err != nil {
		return nil, nil, err
	}
	// The library looks for a folder named package; the driver's own package is linked to that name.
	folder := filepath.Join(dir, "driver")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, err
	}
	if err := os.Symlink(core, filepath.Join(folder, "package")); err != nil {
		return nil, nil, err
	}
	if err := os.Setenv("PLAYWRIGHT_NODEJS_PATH", node); err != nil {
		return nil, nil, err
	}
	pw, err := playwright.Run(&playwright.RunOptions{DriverDirectory: folder, SkipInstallBrowsers: true, Verbose: false})
	if err != nil {
		return nil, nil, err
	}
	program := installedChromium()
	if program == "" {
		return pw, nil, errors.New("no Chromium found")
	}
	args := []string{"--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
		"--disable-sync"}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	args = append(args, strings.Fields(os.Getenv("UMG_CHROMIUM_ARGS"))...)
	b, err := pw.Chromium.Launch(playwright.BrowserTypeLaunchOptions{
		Headless: new(true), ExecutablePath: new(program), Args: args,
	})
	return pw, b, err
}

func installedChromium() string {
	for _, p := range []string{os.Getenv("UMG_CHROMIUM"), "/usr/bin/chromium-headless-shell", "/usr/bin/chromium"} {
		if p == "" {
			continue
		}
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

func closeBrowser() {
	if oneBrowser.chromium != nil {
		_ = oneBrowser.chromium.Close()
	}
	if oneBrowser.driver != nil {
		_ = oneBrowser.driver.Stop()
	}
}

// Tab is a browser page of its own whose violations of the content security policy, script errors and failed requests
// are the test's failures.
type Tab struct {
	playwright.Page
	T      *testing.T
	Expect playwright.PlaywrightAssertions
}

// NewTab opens a tab with its own cookies. The test fails when a script of its pages fails.
func NewTab(t *testing.T, o playwright.BrowserNewContextOptions) *Tab {
	t.Helper()
	// Without this the browser draws pulsing elements sixty times a second, which costs processor time and shows the test nothing.
	if o.ReducedMotion == nil {
		o.ReducedMotion = playwright.ReducedMotionReduce
	}
	ctx, err := browser(t).NewContext(o)
	if err != nil {
		t.Fatal(err)
	}
	page, err := ctx.NewPage()
	if err != nil {
		t.Fatal(err)
	}
	page.SetDefaultTimeout(browserWaitMilliseconds)
	p := &Tab{Page: page, T: t, Expect: playwright.NewPlaywrightAssertions(browserWaitMilliseconds)}
	page.OnConsole(func(m playwright.ConsoleMessage) {
		if m.Type() == "error" && !strings.Contains(m.Text(), "Failed to load resource") {
			t.Errorf("the browser's console says: %s", m.Text())
		}
	})
	page.OnPageError(func(err error) { t.Errorf("a script failed: %v", err) })
	t.Cleanup(func() {
		if t.Failed() {
			p.SaveScreenshot("failed")
		}
		_ = ctx.Close()
	})
	return p
}

// SaveScreenshot leaves a screenshot where UMG_PICTURES says, for people to look at.
func (p *Tab) SaveScreenshot(name string) {
	folder := os.Getenv("UMG_PICTURES")
	if folder == "" {
		return
	}
	file := filepath.Join(folder, strings.ReplaceAll(p.T.Name(), "/", "-")+"-"+name+".png")
	if _, err := p.Screenshot(playwright.PageScreenshotOptions{Path: new(file), FullPage: new(true)}); err != nil {
		p.T.Logf("picture: %v", err)
	}
}

// Must ends the test on an error.
func (p *Tab) Must(err error) {
	p.T.Helper()
	if err != nil {
		p.T.Fatal(err)
	}
}

// Open loads an address.
func (p *Tab) Open(url string) {
	p.T.Helper()
	if _, err := p.Goto(url); err != nil {
		p.T.Fatal(err)
	}
}

// Fill sets the value of the first field with the label.
func (p *Tab) Fill(label, value string) {
	p.T.Helper()
	p.Must(p.GetByLabel(label, playwright.PageGetByLabelOptions{Exact: new(true)}).First().Fill(value))
}

// PressButton clicks the first button with the name.
func (p *Tab) PressButton(name string) {
	p.T.Helper()
	p.Must(p.GetByRole("button", playwright.PageGetByRoleOptions{Name: name, Exact: new(true)}).First().Click())
}

// FollowLink clicks the first link with the name.
func (p *Tab) FollowLink(name string) {
	p.T.Helper()
	p.Must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: name, Exact: new(true)}).First().Click())
}

// RequireText waits until the page shows the text.
func (p *Tab) RequireText(text string) {
	p.T.Helper()
	p.Must(p.Expect.Locator(p.GetByText(text).First()).ToBeVisible())
}

// CheckAccessibility runs the accessibility checks, once what moves has come to rest, and fails on whatever they find. A dialog that is
// still fading in is no dialog to axe, and all behind it would count as within reach.
func (p *Tab) CheckAccessibility() {
	p.T.Helper()
	source, err := os.ReadFile("../node_modules/axe-core/axe.min.js")
	if err != nil {
		p.T.Fatal(err)
	}
	if _, err := p.Evaluate(string(source)); err != nil {
		p.T.Fatal(err)
	}
	found, err := p.Evaluate(`async () => {
		const ending = document.getAnimations().filter(a => Number.isFinite(a.effect.getComputedTiming().endTime))
		await Promise.allSettled(ending.map(a => a.finished))
		// The nodes that pass are not described, which takes most of the time and is read by no test.
		return (await axe.run({resultTypes: ["violations"], rules: {"target-size": {enabled: true}}})).violations
		.map(v => v.id + ": " + v.nodes.map(n => n.target.join(" ")).join(", "))
	}`)
	if err != nil {
		p.T.Fatal(err)
	}
	for _, v := range found.([]any) {
		p.T.Errorf("%s: %v", p.URL(), v)
	}
}

// CheckWidth fails on a page that is wider than its window.
func (p *Tab) CheckWidth(name string) {
	p.T.Helper()
	wide, err := p.Evaluate(`() => document.documentElement.scrollWidth > innerWidth`)
	p.Must(err)
	if wide.(bool) {
		p.T.Errorf("%s is wider than the window", name)
	}
}
