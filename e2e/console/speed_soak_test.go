//go:build soak

package console

import (
	"fmt"
	"strings"
	"testing"

	"umg/e2e/harness"
)

const (
	// slowdown is the factor by which the browser slows the processor.
	slowdown = 4
	// largestMax is the time to the largest contentful paint with the slowdown, in milliseconds.
	largestMax = 1000.0
	// longMax is the time of one task without the slowdown, in milliseconds.
	longMax = 200.0
	// typingMax is the time from a key press to its paint, in milliseconds.
	typingMax  = 100.0
	manyKeys   = 10
	manyRows   = 10_000
	manyTokens = 10_000
)

// TestSpeedPagesComeAtOnce opens the pages people open most on a processor that is four times slower. The first round fills the server's
// caches. What else runs on the machine only makes a page later, so the quickest round counts.
func TestSpeedPagesComeAtOnce(t *testing.T) {
	c := harness.SharedDemo(t).NewCustomer(t, "slow")
	p := hurried(c, t)
	session, err := p.Context().NewCDPSession(p.Page)
	p.Must(err)
	quickest := map[string]float64{}
	for range 3 {
		_, err = session.Send("Emulation.setCPUThrottlingRate", map[string]any{"rate": slowdown})
		p.Must(err)
		for _, path := range quickPages {
			p.Open(c.ConsoleURL + "/console" + path)
			measure(p, `async () => { for (let i = 0; i < 300 && !window.largest; i++) await new Promise(requestAnimationFrame); }`)
			value, err := p.Evaluate(travelled)
			p.Must(err)
			about := value.(map[string]any)
			largest, shifted := figure(about["largest"]), figure(about["shifted"])
			t.Logf("%-30s served after %4.0f ms, largest after %4.0f ms, shift %.4f", path, figure(about["served"]), largest, shifted)
			if largest <= 0 || shifted > shiftMax {
				t.Errorf("%s: the largest thing is drawn after %.0f ms, the page moves by %.4f", path, largest, shifted)
			}
			if best, seen := quickest[path]; !seen || largest < best {
				quickest[path] = largest
			}
		}
	}
	for path, largest := range quickest {
		if largest > largestMax {
			t.Errorf("%s: the largest thing is drawn after %.0f ms", path, largest)
		}
	}
}

// watchKeys remembers how long the browser took at the most from a key to the picture that shows it. Keys that took less than the
// 16 ms it tells of count as that.
const watchKeys = `() => {
	window.slowest = 16;
	new PerformanceObserver(list => { for (const e of list.getEntries()) if (/key|input/.test(e.name)) window.slowest = Math.max(window.slowest, e.duration); })
		.observe({type: "event", durationThreshold: 16});
}`

// TestSpeedALongAnswerStaysSmooth streams ten thousand tokens while a person types the next message.
func TestSpeedALongAnswerStaysSmooth(t *testing.T) {
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "smooth")
	p := hurried(c, t)
	p.Open(c.ConsoleURL + "/console/playground?model=" + harness.CheapModel)
	measure(p, watchWrites)
	measure(p, watchKeys)
	askPlayground(p, fmt.Sprintf("count to %d", manyTokens))
	p.Must(p.Locator("#play-prompt").Focus())
	for range manyKeys {
		p.Must(p.Keyboard().Press("x"))
		measure(p, drawnTwice)
	}
	typed, err := p.Locator("#play-prompt").InputValue()
	p.Must(err)
	if typed != strings.Repeat("x", manyKeys) {
		t.Errorf("what was typed became %q", typed)
	}
	waitForAnswer(p, 1)
	noLongTasks(p, fmt.Sprint(manyTokens, " tokens"))
	slowest := figure(measure(p, `() => window.slowest`))
	t.Logf("the slowest key took %.0f ms", slowest)
	if slowest <= 0 || slowest > typingMax {
		t.Errorf("a key is drawn after %.0f ms while an answer comes", slowest)
	}
}

// noLongTasks insists that the page was never busy for long.
func noLongTasks(p *harness.Tab, what string) {
	p.T.Helper()
	longest := figure(measure(p, `() => Math.max(0, ...window.long)`))
	p.T.Logf("%s: the longest task took %.0f ms", what, longest)
	if longest > longMax {
		p.T.Errorf("%s: a task took %.0f ms", what, longest)
	}
}

// TestSpeedALongLogStaysSmooth goes through ten thousand requests, as many on a page as there may be.
func TestSpeedALongLogStaysSmooth(t *testing.T) {
	// The test changes this account's rows, so its ledger no longer balances.
	c := harness.StartDemo(t).NewCustomer(t, "log")
	id := c.Call(t, "POST", harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: one")).Header.Get("X-Request-Id")
	c.UsageRecord(t, id)
	c.DB(t).MustExec(`insert into usage_records select (jsonb_populate_record(r, jsonb_build_object('request_id', r.request_id || 'x' || n))).*
		from usage_records r, generate_series(1, $2::int) n where r.request_id = $1`, id, manyRows)
	p := hurried(c, t)
	p.Open(c.ConsoleURL + "/console/requests?rows=100")
	for range 20 {
		p.Must(p.Mouse().Wheel(0, 600))
		measure(p, `() => new Promise(requestAnimationFrame)`)
	}
	noLongTasks(p, "the log")
	if shifted := figure(measure(p, `() => window.shifted`)); shifted > shiftMax {
		t.Errorf("the log moves by %.4f", shifted)
	}
}
