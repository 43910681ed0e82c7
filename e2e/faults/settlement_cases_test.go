package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"umg/e2e/harness"
)

// settlingCase is a way to bring about a row of the settlement table: what is asked, and what the upstream does then.
type settlingCase struct {
	prompt string
	// does is a directive of the simulator.
	does string
	// max is the limit of output tokens; none when zero.
	max int
	// only is stream or json; both when empty.
	only string
	// style is the client's; all when empty.
	style string
	// impatient is true when the upstream's timeout is short.
	impatient bool
	// silent is true when the upstream sends a valid answer without content.
	silent bool
	// recovers is true when the first upstream cuts its answers, and another resumes them.
	recovers bool
}

// settlingRow says how a row is proven: by calls, by something that is done to them, or by another test.
type settlingRow struct {
	calls  []settlingCase
	drive  func(s *settling, t *testing.T, reason string)
	proofs []string
}

const (
	streamOnly = "stream"
	jsonOnly   = "json"
)

var settlingRows = map[string]settlingRow{
	"completed":         {calls: []settlingCase{{prompt: "count to 9"}}},
	"usage_missing":     {calls: []settlingCase{{prompt: "count to 9", does: "usage=none"}}},
	"usage_implausible": {calls: []settlingCase{{prompt: "count to 9", does: "usage=1000000"}}},
	"overrun":           {drive: (*settling).overruns},
	"filtered":          {calls: []settlingCase{{prompt: "refuse: it"}, {prompt: "block: it"}}},
	"filtered_unanswered": {calls: []settlingCase{
		{prompt: "block: it", does: "usage=none"},
	}},
	"no_content":      {calls: []settlingCase{{prompt: "echo: ", does: "usage=none", only: streamOnly}}},
	"credit_ran_out":  {drive: (*settling).runsOut},
	"length_enforced": {calls: []settlingCase{{prompt: "count to 9", does: "endless;pace=1ms", max: 20, only: streamOnly}}},
	"empty_answer":    {calls: []settlingCase{{prompt: "count to 9", silent: true, style: "chat", only: jsonOnly}}},
	"request_refused": {calls: []settlingCase{{prompt: "count to 9", does: "status=422"}}},
	"upstream_failed": {calls: []settlingCase{
		{prompt: "count to 9", does: "status=500"}, {prompt: "count to 9", does: "empty"}, {prompt: "count to 9", does: "truncated-json", only: jsonOnly},
	}},
	"upstream_broke_off": {calls: []settlingCase{
		{prompt: "count to 99", does: "cut-after=10t;pace=1ms", only: streamOnly},
		{prompt: "count to 99", does: "error-after=10t;status=503;pace=1ms", only: streamOnly},
	}},
	"recovered":            {calls: []settlingCase{{prompt: "count to 60", recovers: true, only: streamOnly}}},
	"timed_out_unanswered": {calls: []settlingCase{{prompt: "count to 9", does: "stall", impatient: true}}},
	"timed_out": {calls: []settlingCase{
		{prompt: "count to 99", does: "stall-after=10t;pace=1ms", only: streamOnly, impatient: true},
	}},
	"client_left_unanswered": {drive: (*settling).leavesUnsent},
	"client_left_waiting": {drive: func(s *settling, t *testing.T, reason string) {
		s.leaves(t, reason, "simulate: stall\nleft unanswered", "", "left unanswered")
	}},
	"client_left": {drive: func(s *settling, t *testing.T, reason string) {
		s.leaves(t, reason, "simulate: pace=10ms\ncount to 900", "9", "")
	}},
	"client_left_continued": {drive: func(s *settling, t *testing.T, reason string) {
		on := *s
		on.patient = s.continues
		on.leaves(t, reason, "simulate: pace=10ms\ncount to 60", "9", "")
	}},
	"client_left_at_end": {drive: func(s *settling, t *testing.T, reason string) {
		s.leaves(t, reason, "simulate: pace=1ms;no-end;keep-open\ncount to 9", "9", "")
	}},
	"stopped_unanswered": {drive: (*settling).stops},
	"stopped":            {drive: (*settling).stops},
	"crashed_unanswered": {proofs: []string{"C3", "C5"}},
	"crashed":            {proofs: []string{"C4", "C5", "C6", "C8"}},
	"unrecorded":         {drive: (*settling).losesItsBooks},
	"unrecorded_end":     {drive: (*settling).losesItsBooks},
	"refused":            {drive: (*settling).isRefused},
	"video_completed":    {drive: videoEnds("", "", "")},
	"video_shorter":      {drive: videoEnds("short-film=2", "", "")},
	"video_refused":      {drive: videoEnds("status=422", "", "")},
	"video_failed":       {drive: videoEnds("fail=server_error", "", "")},
	"video_lost":         {drive: videoEnds("vanish", minutesLater, `upstream ? 'denied_since'`)},
	"video_expired":      {drive: videoEnds("never", aDayLater, `state = 'in_progress'`)},
	"video_unavailable":  {drive: videoEnds("content=short", "", "")},
	"video_deleted":      {drive: videoEnds("render=hold", "delete", "")},
}

// addSilent adds a model whose upstream answers every call with neither content nor a reason for its end, and one whose upstream
// says nothing on its connections.
func (s *settling) addSilent(t *testing.T) {
	mute := s.listenMutely(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, harness.WebhookBytesMax))
		if err == nil && strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",`+
				`"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`+"\n\ndata: [DONE]\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m",`+
			`"choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":null}]}`)
	}))
	t.Cleanup(server.Close)
	harness.CatalogLock.Lock()
	env := []string{"DATABASE_URL=" + s.DatabaseURL(t)}
	text, _ := harness.RunCommand(t, env, "catalog", "export")
	text = strings.Replace(text, "providers:\n", "providers:\n"+harness.IndentLike(text, `  - id: silent
    name: Silent upstream
    base_url: `+server.URL+`/v1
    credential: ${UMG_SIMULATOR_KEY}
  - id: mute
    name: Mute upstream
    base_url: https://`+mute+`/v1
    credential: ${UMG_SIMULATOR_KEY}
  - id: continuing
    name: Upstream that makes the whole answer
    base_url: ${UMG_SIMULATOR_URL}/test/v1
    credential: ${UMG_SIMULATOR_KEY}
    after_cancel: continues
`), 1)
	file := filepath.Join(harness.DataDir(t), "catalog.yaml")
	err := os.WriteFile(file, []byte(text), 0o600)
	out, status := harness.RunCommand(t, env, "catalog", "apply", "--allow-unset", file)
	harness.CatalogLock.Unlock()
	if err != nil || status != 0 {
		t.Fatalf("catalog apply: %v %s", err, out)
	}
	s.mute = s.silent + "-mute"
	s.AddModels(t, harness.Model{ID: s.silent, UpstreamModel: "m", Provider: "silent", Extra: harness.EveryStyle},
		harness.Model{ID: s.mute, UpstreamModel: "m", Provider: "mute", Extra: harness.EveryStyle},
		harness.Model{ID: s.continues, UpstreamModel: "sim", Provider: "continuing", Extra: harness.EveryStyle})
}

// listenMutely accepts connections and leaves them alone. It returns the address.
func (s *settling) listenMutely(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.muted = make(chan struct{}, 100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			// The connection stays open until the listener closes.
			defer conn.Close()
			s.muted <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return l.Addr().String()
}

// leavesUnsent has clients of every style leave before there is a connection to the upstream.
func (s *settling) leavesUnsent(t *testing.T, reason string) {
	// seen is the id of the last call that was found without its id.
	seen := ""
	for _, p := range harness.AllStyles() {
		ctx, cancel := context.WithCancel(context.Background())
		req, err := s.NewRequest(ctx, http.MethodPost, p.Path, p.Request(s.mute, "hello", `"stream":true`))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := harness.HTTPClient.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}()
		<-s.muted
		cancel()
		<-done
		seen = s.latest(t, reason, seen)
		s.check(t, reason, p.Name, seen, nil)
	}
}

// leaves has clients of every style leave streams: once the upstream has the call, or once they have read a text.
func (s *settling) leaves(t *testing.T, reason, prompt, after, mark string) {
	// seen is the id of the last call that was found without its id.
	seen := ""
	for _, p := range harness.AllStyles() {
		ctx, cancel := context.WithCancel(context.Background())
		req, err := s.NewRequest(ctx, http.MethodPost, p.Path, p.Request(s.patient, prompt, `"stream":true`, p.IncludeUsage()))
		if err != nil {
			t.Fatal(err)
		}
		if after == "" {
			done := make(chan struct{})
			go func() {
				defer close(done)
				if resp, err := harness.HTTPClient.Do(req); err == nil {
					_ = resp.Body.Close()
				}
			}()
			harness.WaitUntil(t, "the upstream has the call", func() bool { return strings.Contains(s.UpstreamBodies(t, mark), mark) })
			cancel()
			<-done
			seen = s.latest(t, reason, seen)
			s.check(t, reason, p.Name, seen, nil)
			s.CallSimulator(t, http.MethodDelete, "/_control/requests", "")
			continue
		}
		resp, err := harness.HTTPClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		id := resp.Header.Get("X-Request-Id")
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() && !strings.Contains(lines.Text(), " "+after+`"`) {
			continue
		}
		// The gateway reads the upstream's last frames, which the client does not see, within this time.
		time.Sleep(200 * time.Millisecond)
		cancel()
		_ = resp.Body.Close()
		s.check(t, reason, p.Name, id, nil)
	}
}

// stops ends calls of every style on the server's side, before and after content, by a shutdown that does not wait.
func (s *settling) stops(t *testing.T, reason string) {
	p := harness.StartReplica(t, s.Gateway, "--drain-timeout", "300ms")
	there := harness.Customer{Gateway: p.Gateway, AccountID: s.AccountID}
	there.APIKey = s.APIKey
	prompt := "simulate: stall\nstopped before"
	if reason == "stopped" {
		prompt = "simulate: pace=10ms\ncount to 900"
	}
	ids := make(chan [2]string, len(harness.AllStyles()))
	for _, one := range harness.AllStyles() {
		go func() {
			req, err := there.NewRequest(context.Background(), http.MethodPost, one.Path, one.Request(s.patient, prompt, `"stream":true`))
			if err != nil {
				t.Error(err)
			}
			req.Header.Set("X-Error-Status", "standard")
			resp, err := harness.HTTPClient.Do(req)
			if err != nil {
				t.Error(err)
				ids <- [2]string{one.Name, ""}
				return
			}
			defer resp.Body.Close()
			ids <- [2]string{one.Name, resp.Header.Get("X-Request-Id")}
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				continue
			}
		}()
	}
	begun := map[string]string{}
	note := func() {
		one := <-ids
		begun[one[0]] = one[1]
	}
	if reason == "stopped" {
		for range cap(ids) {
			note()
		}
	} else {
		harness.WaitUntil(t, "the upstream has all calls", func() bool { return strings.Count(s.UpstreamBodies(t, "stopped before"), "\n") >= cap(ids) })
	}
	if err := p.Command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for len(begun) < cap(ids) {
		note()
	}
	if err := <-p.Exited; err != nil {
		t.Errorf("exit: %v\n%s", err, p.Log)
	}
	for style, id := range begun {
		s.check(t, reason, style, id, nil)
	}
}

// losesItsBooks cuts a replica that keeps its journal in the database from it, while answers run: what was not delivered
// is kept back and not charged, and the end of what was delivered is kept back until it is.
func (s *settling) losesItsBooks(t *testing.T, reason string) {
	door := gateBefore(t, s.Gateway)
	p, err := harness.TryReplica(door.dsn, s.Gateway, "--data", harness.DataDir(t), "--journal", "postgres")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		door.set(false)
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	there := harness.Customer{Gateway: p.Gateway, AccountID: s.AccountID}
	there.APIKey = s.APIKey
	type outcome struct {
		harness.Style
		a harness.Response
	}
	mark := "books lost " + reason
	answers := make(chan outcome, len(harness.AllStyles()))
	for _, one := range harness.AllStyles() {
		prompt, members := "simulate: slow-first=4s\necho: "+mark, []string{}
		if reason == "unrecorded_end" {
			// Thirty words take three seconds, so that it runs when its books are lost.
			prompt, members = "simulate: pace=100ms\n"+mark, []string{`"stream":true`, one.IncludeUsage()}
		}
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
			defer cancel()
			a, err := there.TryCall(ctx, http.MethodPost, one.Path, one.Request(s.patient, prompt, members...), "X-Error-Status", "standard")
			if err != nil {
				t.Errorf("%s: %v", one.Name, err)
			}
			answers <- outcome{one, a}
		}()
	}
	harness.WaitUntil(t, "the upstream has all calls", func() bool { return strings.Count(s.UpstreamBodies(t, mark), "\n") >= cap(answers) })
	// After this time the first words were sent, or the upstream sends none.
	time.Sleep(time.Second / 2)
	door.set(true)
	for range cap(answers) {
		got := <-answers
		id := got.a.Header.Get("X-Request-Id")
		if reason == "unrecorded" {
			if got.a.Status < 500 || !strings.Contains(got.a.Body, "cannot") || harness.CostPattern.MatchString(got.a.Body) {
				t.Errorf("%s: an answer that is not recorded is %d %s", got.Name, got.a.Status, got.a.Body)
			}
			defer s.unknown(t, id)
			continue
		}
		if got.a.Status != http.StatusOK || got.ReadStreamError(t, got.Frames(t, got.a.Body)) == "" {
			t.Errorf("%s: an answer that is not recorded ends as %d %.2000s", got.Name, got.a.Status, got.a.Body)
		}
		defer s.check(t, "completed", got.Name, id, &got.a)
	}
	door.set(false)
}

// isRefused makes calls that nothing is reserved for, and that leave no record.
func (s *settling) isRefused(t *testing.T, _ string) {
	for _, p := range harness.AllStyles() {
		for _, body := range []string{p.Request("no/such-model", "x"), p.Request(s.patient, "x", `"stream":"yes"`)} {
			a := p.Send(t, s.Customer, body)
			if a.Status < 400 || a.Status >= 500 || harness.CostPattern.MatchString(a.Body) {
				t.Errorf("%s: status %d: %s", p.Name, a.Status, a.Body)
			}
			s.unknown(t, a.Header.Get("X-Request-Id"))
		}
	}
}

// runsOut streams to customers of every style until their credit is used up.
func (s *settling) runsOut(t *testing.T, reason string) {
	c := s.NewCustomerWithoutCredit(t, "runs-out")
	c.SetLimits(t, 1000)
	poor := *s
	poor.Customer = c
	for _, p := range harness.AllStyles() {
		harness.WaitUntil(t, "nothing is held", func() bool { return c.Balance(t).Held == 0 })
		// The credit is enough for a hold of 2,048 tokens, and for one of 256.
		c.SetAvailable(t, 5_000_000)
		a := p.Send(t, c, p.Request(s.patient, "simulate: pace=200us\ncount to 9000", `"stream":true`, p.IncludeUsage()))
		poor.check(t, reason, p.Name, a.Header.Get("X-Request-Id"), &a)
	}
}

// overruns makes calls that cost more than was held, of an account whose credit is above the hold and below the cost.
func (s *settling) overruns(t *testing.T, reason string) {
	c := s.NewCustomerWithoutCredit(t, "overruns")
	c.SetLimits(t, 1000)
	poor := *s
	poor.Customer = c
	for _, p := range harness.AllStyles() {
		for _, stream := range []bool{false, true} {
			harness.WaitUntil(t, "nothing is held", func() bool { return c.Balance(t).Held == 0 })
			c.SetAvailable(t, 770_000)
			members := []string{p.OutputLimit(300)}
			if stream {
				members = append(members, `"stream":true`, p.IncludeUsage())
			}
			a := p.Send(t, c, p.Request(s.patient, "simulate: usage=390\ncount to 9", members...))
			poor.check(t, reason, fmt.Sprintf("%s, stream %v", p.Name, stream), a.Header.Get("X-Request-Id"), &a)
		}
	}
}
