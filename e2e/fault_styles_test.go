package e2e

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
)

// begun is a stream of which the first content has come.
type begun struct {
	styledCall

	id string
	// text is the text read so far.
	text string
	rest *bufio.Reader
}

// begin starts the calls, which must be answered with streams, and returns once all are being delivered.
func (g *gateway) begin(t *testing.T, calls []styledCall) []begun {
	t.Helper()
	streams := make([]begun, len(calls))
	var all sync.WaitGroup
	for i, one := range calls {
		all.Go(func() {
			req, err := g.request(context.Background(), http.MethodPost, one.path, one.body)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = resp.Body.Close() })
			s := begun{styledCall: one, id: resp.Header.Get("X-Request-Id"), rest: bufio.NewReader(resp.Body)}
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
			return fmt.Errorf("%s: %w after %q", s.style, err, s.text)
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
func streamsOf(ids map[string]string, prompt string) []styledCall {
	return slices.DeleteFunc(styledCalls(ids, prompt, func(protocol) []string { return nil }), func(c styledCall) bool { return !c.stream })
}

// TestFaultReplicaIsKilledUnderTranslatedStreams kills one of two replicas under streams of all pairs of styles. None
// of them ends well, the other replica's do. Started again on its folder, the replica charges the dead ones what they were
// known to have delivered, the rest of their credit comes back, and the books balance.
func TestFaultReplicaIsKilledUnderTranslatedStreams(t *testing.T) {
	t.Parallel()
	g := start(t)
	ids := g.addStyled(t, "slow", "+pace=20ms")
	data := dataDir(t)
	p := g.replicaOn(t, data)
	account, before := g.account(t), g.balance(t)
	dead := p.begin(t, streamsOf(ids, "count to 900"))
	alive := g.begin(t, streamsOf(map[string]string{"chat": ids["chat"], "native": ids["native"]}, "count to 150"))
	for i := range dead {
		if err := dead[i].until(" 90"); err != nil {
			t.Fatal(err)
		}
	}
	p.kill(t)
	for i := range dead {
		if err := dead[i].end(); err == nil || costShown.MatchString(dead[i].text) {
			t.Errorf("a %s stream of a dead gateway ended well", dead[i].style)
		}
	}
	var shown int64
	for _, s := range alive {
		if err := s.end(); err != nil {
			t.Errorf("a %s stream of the other replica was cut: %v", s.style, err)
		}
		s.last(t, s.frames(t, s.text))
		shown += costIn(t, s.text)
	}
	g.replicaOn(t, data).stopAtEnd(t)
	for _, s := range dead {
		shown += g.chargedAtItsMark(t, s.id, s.counted())
	}
	if after := g.balanceOf(t, account); before.Posted-after.Posted != shown || after.Held != 0 {
		t.Errorf("%d shown or charged, balance %+v → %+v", shown, before, after)
	}
	g.books(t)
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
	g := start(t)
	ids := g.addStyled(t, "drained", "+pace=20ms")
	p := serve(t, g, "--drain-timeout", "6s")
	short := p.begin(t, streamsOf(ids, "count to 40"))
	long := p.begin(t, streamsOf(ids, "count to 3000"))
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for _, s := range short {
		if err := s.end(); err != nil {
			t.Errorf("a short %s stream was cut: %v", s.style, err)
			continue
		}
		s.last(t, s.frames(t, s.text))
		if r := g.record(t, s.id); r.Cost != costIn(t, s.text) || r.Outcome != "succeeded" || r.Output != 40 {
			t.Errorf("%s: the record is %+v", s.style, r)
		}
	}
	for _, s := range long {
		if err := s.end(); err != nil {
			t.Errorf("a long %s stream was dropped: %v", s.style, err)
			continue
		}
		if kind := s.late(t, s.frames(t, s.text)); kind == "" {
			t.Errorf("a long %s stream ends without an error", s.style)
		}
		if r := g.record(t, s.id); r.Cost == 0 || r.Outcome != "cut" || !r.Estimated {
			t.Errorf("%s: the record is %+v", s.style, r)
		}
	}
	if err := <-p.exited; err != nil {
		t.Errorf("exit: %v\n%s", err, p.log)
	}
	g.books(t)
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
	g := start(t, "--keep-alive", "40ms", "--token-interval", "0s")
	slow := g.addStyled(t, "thinking", "+slow-first=150ms")
	// The default provider of tests has a short timeout.
	g.addModels(t, model{id: "test/mute", upstream: "sim+stall", more: everything})
	for _, one := range streamsOf(slow, "count to 5") {
		a := g.call(t, http.MethodPost, one.path, one.body)
		rest, kept := withoutKeepAlives(one.style, a.body)
		if !kept {
			t.Errorf("%s was left in silence: %.200q", one.style, a.body)
			continue
		}
		all := one.frames(t, rest)
		one.last(t, all)
		if text := one.textOf(t, all); text != "1 2 3 4 5" || g.record(t, a.header.Get("X-Request-Id")).Cost != costIn(t, a.body) {
			t.Errorf("%s: %q", one.style, text)
		}
	}
	for _, one := range streamsOf(map[string]string{"": "test/mute"}, "count to 5") {
		a := g.call(t, http.MethodPost, one.path, one.body, "X-Error-Status", "standard")
		rest, kept := withoutKeepAlives(one.style, a.body)
		if a.status != http.StatusOK || !kept || !strings.Contains(rest, "did not answer in time") || costShown.MatchString(rest) {
			t.Errorf("%s: status %d: %q", one.style, a.status, a.body)
		}
		if r := g.record(t, a.header.Get("X-Request-Id")); r.Cost != 0 || r.Outcome != "timed_out" {
			t.Errorf("%s: the record is %+v", one.style, r)
		}
	}
	g.books(t)
}

// TestFaultNativeArraysStayArrays streams native answers without events, as that style does where the request does not ask for
// them: whatever happens, and however long it is silent, what the client reads is one JSON array.
func TestFaultNativeArraysStayArrays(t *testing.T) {
	t.Parallel()
	g := start(t, "--keep-alive", "40ms", "--token-interval", "0s")
	cases := map[string]bool{"": false, "+slow-first=150ms": false, "+cut-after=4t": true, "+slow-first=100ms+reset-after=4t": true}
	styled := map[string]map[string]string{}
	var models []model
	for does := range cases {
		ids, more := styledModels("array"+strings.Map(letters, does), does)
		styled[does], models = ids, append(models, more...)
	}
	// One change of the catalog takes a while, so all models are added together.
	g.addModels(t, models...)
	for does, fails := range cases {
		for upstream, id := range styled[does] {
			a := g.call(t, http.MethodPost, "/v1beta/models/"+id+":streamGenerateContent",
				`{"contents":[{"parts":[{"text":"count to 9"}]}]}`)
			var list []map[string]any
			if err := json.Unmarshal([]byte(a.body), &list); err != nil || len(list) < 2 {
				t.Errorf("%q of %s: %v in %q", does, upstream, err, a.body)
				continue
			}
			last := list[len(list)-1]
			r := g.record(t, a.header.Get("X-Request-Id"))
			if fails != (last["error"] != nil) || r.Cost == 0 || !fails && r.Cost != costIn(t, a.body) {
				t.Errorf("%q of %s: %s, record %+v", does, upstream, a.body, r)
			}
		}
	}
	g.books(t)
}

func letters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return -1
}
