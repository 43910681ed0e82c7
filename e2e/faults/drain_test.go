package faults

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"umg/e2e/harness"
)

// shutdownKinds are the words for a server that restarts, in the middle of a stream.
var shutdownKinds = map[string]string{"chat": "server_error", "messages": "overloaded_error", "responses": "server_error", "native": "UNAVAILABLE"}

// TestFaultShutdownEndsEveryStyle gives streams of every style a short drain: each ends with one error in its own words, is
// charged what was delivered, and the process exits 0.
func TestFaultShutdownEndsEveryStyle(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	endless := harness.UniqueName("test/endless-styles")
	g.AddModels(t, harness.Model{ID: endless, UpstreamModel: "sim+pace=20ms", Provider: "meridian", Extra: harness.EveryStyle})
	p := harness.Customer{Gateway: replicaOn(t, g, harness.DataDir(t), "--drain-timeout", "200ms").Gateway}
	answers := map[string]harness.Response{}
	var mu sync.Mutex
	var all, begun sync.WaitGroup
	for _, style := range harness.AllStyles() {
		begun.Add(1)
		all.Go(func() {
			a := streamed(t, style, p, style.Request(endless, "count to 2000", `"stream":true`), begun.Done)
			mu.Lock()
			defer mu.Unlock()
			answers[style.Name] = a
		})
	}
	begun.Wait()
	if err := p.Command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if err := <-p.Exited; err != nil {
		t.Errorf("exit: %v\n%s", err, p.Log)
	}
	for _, style := range harness.AllStyles() {
		a := answers[style.Name]
		end := a.Body[max(0, len(a.Body)-1000):]
		if strings.Count(a.Body, "restarting") != 1 || !strings.Contains(end, `"`+shutdownKinds[style.Name]+`"`) {
			t.Errorf("%s ends with %s", style.Name, end)
		}
		if r := g.UsageRecord(t, a.Header.Get("X-Request-Id")); r.Cost == 0 || r.Cost > r.Reserved || !r.Estimated || r.Outcome != "cut" {
			t.Errorf("%s: the record is %+v", style.Name, r)
		}
	}
	g.CheckLedger(t)
}

// streamed reads a stream to its end, and tells when its first content has come.
func streamed(t *testing.T, p harness.Style, c harness.Customer, body string, begun func()) (a harness.Response) {
	t.Helper()
	begun = sync.OnceFunc(begun)
	defer begun()
	req, err := c.NewRequest(context.Background(), http.MethodPost, p.Path, body, "X-Error-Status", "standard")
	if err != nil {
		t.Error(err)
		return a
	}
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		t.Error(err)
		return a
	}
	defer resp.Body.Close()
	a.Status, a.Header = resp.StatusCode, resp.Header
	var text strings.Builder
	for b := bufio.NewReader(resp.Body); ; {
		line, err := b.ReadString('\n')
		text.WriteString(line)
		if strings.Contains(line, "10") {
			begun()
		}
		if err != nil {
			a.Body = text.String()
			return a
		}
	}
}

// TestFaultSecondSignalEndsAtOnce sends SIGTERM twice: the second does not wait for streams.
func TestFaultSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	p := replicaOn(t, g, harness.DataDir(t), "--lame-duck", "30s")
	if err := p.Command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(harness.ShortWaitMax); p.CallOps(t, "/readyz").Status != http.StatusServiceUnavailable; {
		if time.Now().After(deadline) {
			t.Fatal("/readyz does not fail")
		}
	}
	if a := p.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: a lame duck serves")); a.Status != http.StatusOK || a.Header.Get("X-Error-Code") != "" {
		t.Errorf("in the lame-duck time: %d %s", a.Status, a.Body)
	}
	if err := p.Command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.Exited:
		if err == nil {
			t.Error("a process that was not let finish exits 0")
		}
	case <-time.After(harness.ShortWaitMax):
		t.Error("a second signal does not end the process")
		p.Kill(t)
	}
}
