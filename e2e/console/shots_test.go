//go:build shots

package console

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

const (
	shotsFolder = "../../.shots"
	// storybookMax is the time to build the storybook and to draw all of it.
	storybookMax = 40 * time.Minute
	shotTabs     = 3
	storiesMax   = 4000
)

// looks are the four ways in which every page is looked at.
var looks = []struct {
	name  string
	width int
	theme string
}{{"wide-light", 1440, "light"}, {"wide-dark", 1440, "dark"}, {"narrow-light", 360, "light"}, {"narrow-dark", 360, "dark"}}

// TestShots draws every story of every page in four ways into .shots, and fails on what axe finds, on what the content
// security policy stops, on errors in the browser's console, and on pages that are wider than their window.
func TestShots(t *testing.T) {
	book := startStorybook(t)
	names := storiesOf(t, book)
	only := os.Getenv("SHOTS")
	if err := os.MkdirAll(shotsFolder, 0o755); err != nil {
		t.Fatal(err)
	}
	slots := make(chan struct{}, shotTabs)
	for _, name := range names {
		if only != "" && !regexp.MustCompile(only).MatchString(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			p := harness.NewTab(t, playwright.BrowserNewContextOptions{ReducedMotion: playwright.ReducedMotionReduce})
			for _, look := range looks {
				p.Must(p.SetViewportSize(look.width, 900))
				p.Open(book + "/stories/" + name + "?still=1&theme=" + look.theme)
				file := filepath.Join(shotsFolder, name+"-"+look.name+".png")
				// A window as high as its page: Chromium lays some tables out again, and wrongly, for pictures beyond the window.
				tall, err := strconv.Atoi(fmt.Sprint(measure(p, `() => Math.min(document.documentElement.scrollHeight, 12000)`)))
				p.Must(err)
				p.Must(p.SetViewportSize(look.width, max(tall, 900)))
				_, err = p.Screenshot(playwright.PageScreenshotOptions{Path: new(file)})
				p.Must(err)
				p.CheckAccessibility()
				p.CheckWidth(name + " " + look.name)
				checkTables(p, name+" "+look.name)
			}
		})
	}
}

// checkTables finds tables that are wider than their place without a shade at the edge, and cells that lie over others at first.
func checkTables(p *harness.Tab, name string) {
	p.T.Helper()
	found := measure(p, `() => [...document.querySelectorAll("table")].filter((table) => {
		const box = table.closest(".table-container, .compare-strip");
		if (!box || box.scrollWidth <= box.clientWidth + 1) {
			return false;
		}
		const covered = [...table.querySelectorAll("thead th:not(:first-child)")].some((cell) => getComputedStyle(cell).insetInlineEnd === "0px");
		return covered || !getComputedStyle(box).backgroundImage.includes("gradient");
	}).map((table) => table.getAttribute("aria-label") ?? table.className).join(", ")`)
	if found != "" {
		p.T.Errorf("%s: cells of %s cannot be read or nothing says that there are more", name, found)
	}
}

// startStorybook runs the storybook on a free port until the test ends.
func startStorybook(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), storybookMax)
	t.Cleanup(cancel)
	program := filepath.Join(t.TempDir(), "storybook")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "../../cmd/storybook").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program, "-listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at := strings.Index(lines.Text(), "http://"); at >= 0 {
			return strings.TrimRight(strings.Fields(lines.Text()[at:])[0], "/")
		}
	}
	t.Fatal("the storybook said no address")
	return ""
}

var storyLink = regexp.MustCompile(`href="/stories/([a-z0-9-]+)`)

// storiesOf reads the names of all stories from the storybook's index.
func storiesOf(t *testing.T, book string) []string {
	t.Helper()
	p := harness.NewTab(t, playwright.BrowserNewContextOptions{})
	p.Open(book + "/")
	page, err := p.Content()
	p.Must(err)
	seen := map[string]bool{}
	var names []string
	for _, m := range storyLink.FindAllStringSubmatch(page, storiesMax) {
		if !seen[m[1]] {
			seen[m[1]] = true
			names = append(names, m[1])
		}
	}
	if len(names) < 100 {
		t.Fatalf("the storybook lists only %d stories", len(names))
	}
	return names
}
