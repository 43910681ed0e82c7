//go:build bench

package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"html"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

var flameFlag = flag.String("flame", "", "folder into which flame graphs are drawn")

const (
	flameTime = 15 * time.Second
	// A flame graph is so wide and its frames so high, in pixels.
	flameWidth, frameHeight = 1200, 17
	// narrowestFrame is the share of all samples below which a frame is left out.
	narrowestFrame = 0.002
)

// frame is a function in a flame graph: how long it and what it called were on a CPU, and what it called.
type frame struct {
	name   string
	time   time.Duration
	called map[string]*frame
}

// TestFlameGraph profiles the gateway under calls of 1 kB and under unpaced streams, and draws a flame graph of each.
func TestFlameGraph(t *testing.T) {
	if *flameFlag == "" {
		t.Fatal("-flame is required: the make target flame sets it")
	}
	b := newBench(t)
	for _, c := range cpuCases {
		if c.name != "JSON, 1 kB" && c.name != "stream, unpaced" {
			continue
		}
		type profile struct {
			text []byte
			err  error
		}
		done := make(chan profile, 1)
		b.measure(t, b.gateway, c.traffic, load{clients: clientsStandard, during: wholePlan.warm})
		// goroutine: the test owns it and waits for it; the gateway ends its answer after the time of the profile.
		go func() {
			text, err := fetchProfile(b.home, flameTime)
			done <- profile{text, err}
		}()
		o := b.measure(t, b.gateway, c.traffic, load{clients: clientsStandard, during: flameTime})
		p := <-done
		if p.err != nil {
			t.Fatal(p.err)
		}
		name := strings.NewReplacer(", ", "-", " ", "-").Replace(strings.ToLower(c.name))
		title := fmt.Sprintf("%s: %.0f µs of CPU a call", c.name, o.perCall())
		file := filepath.Join(*flameFlag, name+".svg")
		if err := os.WriteFile(file, drawFlames(title, readTraces(t, p.text)), 0o644); err != nil {
			t.Fatal(err)
		}
		fmt.Println(file)
	}
}

// readTraces adds up the stacks of a CPU profile.
func readTraces(t *testing.T, profile []byte) *frame {
	t.Helper()
	file := filepath.Join(harness.TempDir(t), "profile")
	if err := os.WriteFile(file, profile, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "pprof", "-traces", file)
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return addStacks(text)
}

// addStacks reads stacks as `go tool pprof -traces` prints them: between dashed lines, the function that ran first and with its time.
func addStacks(text []byte) *frame {
	root := &frame{name: "all"}
	var stack []string
	var took time.Duration
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch {
		case strings.HasPrefix(lines.Text(), "-----------+"):
			root.add(stack, took)
			stack, took = nil, 0
		case len(words) > 1 && len(stack) == 0:
			if d, err := time.ParseDuration(words[0]); err == nil {
				took, stack = d, append(stack, strings.Join(words[1:], " "))
			}
		case len(words) > 0 && len(stack) > 0:
			stack = append(stack, strings.Join(words, " "))
		}
	}
	root.add(stack, took)
	return root
}

// add counts a stack, whose last function was called first.
func (f *frame) add(stack []string, took time.Duration) {
	f.time += took
	for _, name := range slices.Backward(stack) {
		if f.called == nil {
			f.called = map[string]*frame{}
		}
		next := f.called[name]
		if next == nil {
			next = &frame{name: name}
			f.called[name] = next
		}
		next.time += took
		f = next
	}
}

func (f *frame) depth(least time.Duration) int {
	deepest := 0
	for _, c := range f.called {
		if c.time >= least {
			deepest = max(deepest, c.depth(least))
		}
	}
	return deepest + 1
}

// drawFlames draws the frames from the top down, each as wide as its time. The name of a frame and its share stand in its title.
func drawFlames(title string, root *frame) []byte {
	least := time.Duration(narrowestFrame * float64(root.time))
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n",
		flameWidth, (root.depth(least)+2)*frameHeight)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" fill="#fff"/><text x="4" y="14" font-size="13">%s</text>`+"\n", html.EscapeString(title))
	root.draw(&out, root.time, least, 0, frameHeight+4)
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func (f *frame) draw(out *bytes.Buffer, all, least time.Duration, x, y float64) {
	width := flameWidth * float64(f.time) / float64(all)
	name := f.name[strings.LastIndex(f.name, "/")+1:]
	fmt.Fprintf(out, `<g><title>%s %.1f %%</title><rect x="%.1f" y="%.0f" width="%.1f" height="%d" fill="%s" stroke="#fff" stroke-width="0.5"/>`,
		html.EscapeString(f.name), 100*float64(f.time)/float64(all), x, y, width, frameHeight, frameColor(f.name))
	// A letter takes six pixels.
	if letters := int(width/6) - 1; letters >= 3 {
		fmt.Fprintf(out, `<text x="%.1f" y="%.0f">%s</text>`, x+3, y+12, html.EscapeString(name[:min(len(name), letters)]))
	}
	out.WriteString("</g>\n")
	for _, c := range slices.SortedFunc(maps.Values(f.called), longestFirst) {
		if c.time >= least {
			c.draw(out, all, least, x, y+frameHeight)
		}
		x += flameWidth * float64(c.time) / float64(all)
	}
}

func longestFirst(a, b *frame) int {
	return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.name, b.name))
}

// frameColor tells the gateway's own code from the packages of Go and from the kernel and the runtime.
func frameColor(name string) string {
	switch {
	case strings.HasPrefix(name, "umg/"):
		return "#f6a04d"
	case strings.HasPrefix(name, "syscall.") || strings.HasPrefix(name, "internal/runtime/syscall"):
		return "#9ab8e0"
	case strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime"):
		return "#c8c8c8"
	default:
		return "#f3dc8a"
	}
}
