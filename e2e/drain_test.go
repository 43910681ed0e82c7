package e2e

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// shutdownKinds are the words for a server that restarts, in the middle of a stream.
var shutdownKinds = map[string]string{"chat": "server_error", "messages": "overloaded_error", "responses": "server_error", "native": "UNAVAILABLE"}

// TestFaultShutdownEndsEveryStyle gives streams of every style a short drain: each ends with one error in its own words, is
// charged what was delivered, and the process exits 0.
func TestFaultShutdownEndsEveryStyle(t *testing.T) {
	t.Parallel()
	g := running(t)
	endless := once("test/endless-styles")
	g.addModels(t, model{id: endless, upstream: "sim+pace=20ms", provider: "meridian", more: everything})
	p := customer{gateway: g.replicaOn(t, dataDir(t), "--drain-timeout", "200ms").gateway}
	answers := map[string]answer{}
	var mu sync.Mutex
	var all, begun sync.WaitGroup
	for _, style := range allProtocols() {
		begun.Add(1)
		all.Go(func() {
			a := style.streamed(t, p, style.ask(endless, "count to 2000", `"stream":true`), begun.Done)
			mu.Lock()
			defer mu.Unlock()
			answers[style.style] = a
		})
	}
	begun.Wait()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if err := <-p.exited; err != nil {
		t.Errorf("exit: %v\n%s", err, p.log)
	}
	for _, style := range allProtocols() {
		a := answers[style.style]
		end := a.body[max(0, len(a.body)-1000):]
		if strings.Count(a.body, "restarting") != 1 || !strings.Contains(end, `"`+shutdownKinds[style.style]+`"`) {
			t.Errorf("%s ends with %s", style.style, end)
		}
		if r := g.record(t, a.header.Get("X-Request-Id")); r.Cost == 0 || r.Cost > r.Reserved || !r.Estimated || r.Outcome != "cut" {
			t.Errorf("%s: the record is %+v", style.style, r)
		}
	}
	g.books(t)
}

// streamed reads a stream to its end, and tells when its first content has come.
func (p protocol) streamed(t *testing.T, c customer, body string, begun func()) (a answer) {
	t.Helper()
	begun = sync.OnceFunc(begun)
	defer begun()
	req, err := c.request(context.Background(), http.MethodPost, p.path, body, "X-Error-Status", "standard")
	if err != nil {
		t.Error(err)
		return a
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return a
	}
	defer resp.Body.Close()
	a.status, a.header = resp.StatusCode, resp.Header
	var text strings.Builder
	for b := bufio.NewReader(resp.Body); ; {
		line, err := b.ReadString('\n')
		text.WriteString(line)
		if strings.Contains(line, "10") {
			begun()
		}
		if err != nil {
			a.body = text.String()
			return a
		}
	}
}

// TestFaultSecondSignalEndsAtOnce sends SIGTERM twice: the second does not wait for streams.
func TestFaultSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	g := running(t)
	p := g.replicaOn(t, dataDir(t), "--lame-duck", "30s")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(lookMax); p.ask(t, "/readyz").status != http.StatusServiceUnavailable; {
		if time.Now().After(deadline) {
			t.Fatal("/readyz does not fail")
		}
	}
	if a := p.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: a lame duck serves")); a.status != http.StatusOK || a.header.Get("X-Error-Code") != "" {
		t.Errorf("in the lame-duck time: %d %s", a.status, a.body)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.exited:
		if err == nil {
			t.Error("a process that was not let finish exits 0")
		}
	case <-time.After(lookMax):
		t.Error("a second signal does not end the process")
		p.kill(t)
	}
}
