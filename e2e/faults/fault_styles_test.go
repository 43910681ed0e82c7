package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"umg/e2e/harness"
)

// begun is a stream of which the first content has come.
type begun struct {
	harness.StyleCall

	id string
	// text is the text read so far.
	text string
	rest *bufio.Reader
}

// beginStream starts the calls, which must be answered with streams, and returns once all are being delivered.
func beginStream(t *testing.T, g *harness.Gateway, calls []harness.StyleCall) []begun {
	t.Helper()
	streams := make([]begun, len(calls))
	var all sync.WaitGroup
	for i, one := range calls {
		all.Go(func() {
			req, err := g.NewRequest(context.Background(), http.MethodPost, one.Path, one.Body)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := harness.HTTPClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = resp.Body.Close() })
			s := begun{StyleCall: one, id: resp.Header.Get("X-Request-Id"), rest: bufio.NewReader(resp.Body)}
			if err := s.until(" 2"); err != nil {
				t.Error(err)
			}
			streams[i] = s
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return streams
}

// until reads on until the mark has come.
func (s *begun) until(mark string) error {
	for !strings.Contains(s.text, mark) {
		line, err := s.rest.ReadString('\n')
		s.text += line
		if err != nil {
			return fmt.Errorf("%s: %w after %q", s.Name, err, s.text)
		}
	}
	return nil
}

// end reads a stream to its end.
func (s *begun) end() error {
	rest, err := io.ReadAll(s.rest)
	s.text += string(rest)
	return err
}

// streamsOf are a stream for each style from each upstream.
func streamsOf(ids map[string]string, prompt string) []harness.StyleCall {
	return slices.DeleteFunc(harness.StyleCalls(ids, prompt, func(harness.Style) []string { return nil }), func(c harness.StyleCall) bool { return !c.Streams })
}

// TestFaultReplicaIsKilledUnderTranslatedStreams kills one of two replicas under streams of all pairs of styles. None
// of them ends well, the other replica's do. Started again on its folder, the replica charges the dead ones what they were
// known to have delivered, the rest of their credit comes back, and the books balance.
func TestFaultReplicaIsKilledUnderTranslatedStreams(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	ids := g.AddModelPerStyle(t, "slow", "+pace=20ms")
	data := harness.DataDir(t)
	p := replicaOn(t, g, data)
	account, before := g.DemoAccountID(t), g.DemoBalance(t)
	dead := beginStream(t, p.Gateway, streamsOf(ids, "count to 900"))
	alive := beginStream(t, g, streamsOf(map[string]string{"chat": ids["chat"], "native": ids["native"]}, "count to 150"))
	for i := range dead {
		if err := dead[i].until(" 90"); err != nil {
			t.Fatal(err)
		}
	}
	p.Kill(t)
	for i := range dead {
		if err := dead[i].end(); err == nil || harness.CostPattern.MatchString(dead[i].text) {
			t.Errorf("a %s stream of a dead gateway ended well", dead[i].Name)
		}
	}
	var shown int64
	for _, s := range alive {
		if err := s.end(); err != nil {
			t.Errorf("a %s stream of the other replica was cut: %v", s.Name, err)
		}
		s.CheckEnd(t, s.Frames(t, s.text))
		shown += harness.ShownCost(t, s.text)
	}
	replicaOn(t, g, data).StopAtEnd(t)
	for _, s := range dead {
		shown += chargedAtItsMark(t, g, s.id, s.counted())
	}
	if after := g.SettledBalance(t, account); before.Posted-after.Posted != shown || after.Held != 0 {
		t.Errorf("%d shown or charged, balance %+v → %+v", shown, before, after)
	}
	g.CheckLedger(t)
}

// counted is the last number of an answer that counts, and so how many tokens it has.
func (s *begun) counted() (last int64) {
	for _, number := range countedPattern.FindAllStringSubmatch(s.text, -1) {
		if n, err := strconv.ParseInt(number[1], 10, 64); err == nil && n == last+1 {
			last = n
		}
	}
	return last
}

var countedPattern = regexp.MustCompile(`" ?(\d+)"`)

// TestFaultShutdownUnderTranslatedStreams sends SIGTERM under streams of all pairs of styles: the short ones are
// delivered to their end, the long ones end with an error in their own words, and all are charged.
func TestFaultShutdownUnderTranslatedStreams(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	ids := g.AddModelPerStyle(t, "drained", "+pace=20ms")
	p := harness.StartReplica(t, g, "--drain-timeout", "6s")
	short := beginStream(t, p.Gateway, streamsOf(ids, "count to 40"))
	long := beginStream(t, p.Gateway, streamsOf(ids, "count to 3000"))
	if err := p.Command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for _, s := range short {
		if err := s.end(); err != nil {
			t.Errorf("a short %s stream was cut: %v", s.Name, err)
			continue
		}
		s.CheckEnd(t, s.Frames(t, s.text))
		if r := g.UsageRecord(t, s.id); r.Cost != harness.ShownCost(t, s.text) || r.Outcome != "succeeded" || r.Output != 40 {
			t.Errorf("%s: the record is %+v", s.Name, r)
		}
	}
	for _, s := range long {
		if err := s.end(); err != nil {
			t.Errorf("a long %s stream was dropped: %v", s.Name, err)
			continue
		}
		if kind := s.ReadStreamError(t, s.Frames(t, s.text)); kind == "" {
			t.Errorf("a long %s stream ends without an error", s.Name)
		}
		if r := g.UsageRecord(t, s.id); r.Cost == 0 || r.Outcome != "cut" || !r.Estimated {
			t.Errorf("%s: the record is %+v", s.Name, r)
		}
	}
	if err := <-p.Exited; err != nil {
		t.Errorf("exit: %v\n%s", err, p.Log)
	}
	g.CheckLedger(t)
}

// keepAlives are what keeps a silent stream of a style open.
var keepAlives = map[string]string{"chat": ": keepalive\n\n", "messages": "event: ping\ndata: {\"type\": \"ping\"}\n\n", "responses": ": keepalive\n\n", "native": "\n"}

// withoutKeepAlives is a stream without them, and whether it began with one.
func withoutKeepAlives(style, body string) (rest string, kept bool) {
	mark := keepAlives[style]
	kept = strings.HasPrefix(body, mark)
	if style != "native" {
		return strings.ReplaceAll(body, mark, ""), kept
	}
	rest = strings.TrimLeft(body, "\n")
	for strings.Contains(rest, "\n\n\n") {
		rest = strings.ReplaceAll(rest, "\n\n\n", "\n\n")
	}
	return rest, kept
}

// TestFaultSilentStreamsAreKeptOpen lets every upstream think for a while: the client hears the keep-alive of its
// style, then the answer, or the error of an upstream that never said anything.
func TestFaultSilentStreamsAreKeptOpen(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t, "--keep-alive", "40ms", "--token-interval", "0s")
	slow := g.AddModelPerStyle(t, "thinking", "+slow-first=150ms")
	// The default provider of tests has a short timeout.
	g.AddModels(t, harness.Model{ID: "test/mute", UpstreamModel: "sim+stall", Extra: harness.EveryStyle})
	for _, one := range streamsOf(slow, "count to 5") {
		a := g.Call(t, http.MethodPost, one.Path, one.Body)
		rest, kept := withoutKeepAlives(one.Name, a.Body)
		if !kept {
			t.Errorf("%s was left in silence: %.200q", one.Name, a.Body)
			continue
		}
		all := one.Frames(t, rest)
		one.CheckEnd(t, all)
		if text := one.Text(t, all); text != "1 2 3 4 5" || g.UsageRecord(t, a.Header.Get("X-Request-Id")).Cost != harness.ShownCost(t, a.Body) {
			t.Errorf("%s: %q", one.Name, text)
		}
	}
	for _, one := range streamsOf(map[string]string{"": "test/mute"}, "count to 5") {
		a := g.Call(t, http.MethodPost, one.Path, one.Body, "X-Error-Status", "standard")
		rest, kept := withoutKeepAlives(one.Name, a.Body)
		if a.Status != http.StatusOK || !kept || !strings.Contains(rest, "did not answer in time") || harness.CostPattern.MatchString(rest) {
			t.Errorf("%s: status %d: %q", one.Name, a.Status, a.Body)
		}
		if r := g.UsageRecord(t, a.Header.Get("X-Request-Id")); r.Cost != 0 || r.Outcome != "timed_out" {
			t.Errorf("%s: the record is %+v", one.Name, r)
		}
	}
	g.CheckLedger(t)
}

// TestFaultNativeArraysStayArrays streams native answers without events, as that style does where the request does not ask for
// them: whatever happens, and however long it is silent, what the client reads is one JSON array.
func TestFaultNativeArraysStayArrays(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t, "--keep-alive", "40ms", "--token-interval", "0s")
	cases := map[string]bool{"": false, "+slow-first=150ms": false, "+cut-after=4t": true, "+slow-first=100ms+reset-after=4t": true}
	styled := map[string]map[string]string{}
	var models []harness.Model
	for does := range cases {
		ids, more := harness.StyleModels("array"+strings.Map(letters, does), does)
		styled[does], models = ids, append(models, more...)
	}
	// One change of the catalog takes a while, so all models are added together.
	g.AddModels(t, models...)
	for does, fails := range cases {
		for upstream, id := range styled[does] {
			a := g.Call(t, http.MethodPost, "/v1beta/models/"+id+":streamGenerateContent",
				`{"contents":[{"parts":[{"text":"count to 9"}]}]}`)
			var list []map[string]any
			if err := json.Unmarshal([]byte(a.Body), &list); err != nil || len(list) < 2 {
				t.Errorf("%q of %s: %v in %q", does, upstream, err, a.Body)
				continue
			}
			last := list[len(list)-1]
			r := g.UsageRecord(t, a.Header.Get("X-Request-Id"))
			if fails != (last["error"] != nil) || r.Cost == 0 || !fails && r.Cost != harness.ShownCost(t, a.Body) {
				t.Errorf("%q of %s: %s, record %+v", does, upstream, a.Body, r)
			}
		}
	}
	g.CheckLedger(t)
}

func letters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return -1
}
