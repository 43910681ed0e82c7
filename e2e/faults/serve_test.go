package faults

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"umg/e2e/harness"
)

// TestAPIServeIsASecondReplica runs the production form beside the demo on one database: the same key works, its money
// is one balance, and a key that one replica's console disables is refused by the other within a second.
func TestAPIServeIsASecondReplica(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	p := harness.StartReplica(t, g)
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	for path, want := range map[string]string{"/healthz": "", "/readyz": "", "/metrics": "go_goroutines"} {
		if a := p.CallOps(t, path); a.Status != http.StatusOK || !strings.Contains(a.Body, want) {
			t.Errorf("%s: %d", path, a.Status)
		}
	}
	c := g.NewCustomer(t, "replicas")
	other := harness.Customer{Gateway: p.Gateway, AccountID: c.AccountID}
	before := c.SettledBalance(t, c.AccountID)
	shown := harness.Nanos(t, string(harness.DecodeCompletion(t, c.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: one"))).Usage.Cost))
	other.APIKey = c.APIKey
	shown += harness.Nanos(t, string(harness.DecodeCompletion(t, other.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: two"))).Usage.Cost))
	if after := c.SettledBalance(t, c.AccountID); before.Posted-after.Posted != shown {
		t.Errorf("%d shown, %d gone", shown, before.Posted-after.Posted)
	}
	var id string
	if err := c.DB(t).Get(&id, `select id from api_keys where account_id = $1`, c.AccountID); err != nil {
		t.Fatal(err)
	}
	person := harness.NewConsoleClient(t, g)
	person.SignIn(t, c.Email, c.Password)
	person.Visit(t, "/console/keys/"+id+"/disable", map[string][]string{})
	disabled := time.Now()
	for other.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: x")).Status != http.StatusUnauthorized {
		if time.Since(disabled) > time.Second {
			t.Fatal("a second after it was disabled the key still works at the other replica")
		}
	}
	g.CheckLedger(t)
}

// TestFaultShutdownLetsStreamsFinish sends SIGTERM in the middle of a stream: it is delivered to its end, charged, and
// the process exits 0.
func TestFaultShutdownLetsStreamsFinish(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	g.AddModels(t, harness.Model{ID: "test/paced", UpstreamModel: "sim+pace=20ms", Provider: "meridian"})
	p := harness.StartReplica(t, g, "--drain-timeout", "20s")
	req, err := p.NewRequest(context.Background(), "POST", "/v1/chat/completions",
		harness.ChatRequest("test/paced", "count to 50", `"stream":true`, `"stream_options":{"include_usage":true}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	first, err := body.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	text := first + string(rest)
	if all := harness.StreamData(t, text); all[len(all)-1] != "[DONE]" || !strings.Contains(text, `" 50"`) {
		t.Errorf("the stream was cut: %s", text)
	}
	if r := g.UsageRecord(t, resp.Header.Get("X-Request-Id")); r.Cost != harness.StreamCost(t, text) || r.Outcome != "succeeded" {
		t.Errorf("the record is %+v", r)
	}
	if err := <-p.Exited; err != nil {
		t.Errorf("exit: %v\n%s", err, p.Log)
	}
}

// TestFaultShutdownEndsWhatOutlivesTheDrain gives streams a short drain: what still runs then ends with an error in
// the stream, is charged for what was delivered, and the process exits 0.
func TestFaultShutdownEndsWhatOutlivesTheDrain(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	g.AddModels(t, harness.Model{ID: "test/endless", UpstreamModel: "sim+pace=20ms", Provider: "meridian"})
	p := harness.StartReplica(t, g, "--drain-timeout", "300ms")
	req, err := p.NewRequest(context.Background(), "POST", "/v1/chat/completions", harness.ChatRequest("test/endless", "count to 2000", `"stream":true`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	first, err := body.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	all := harness.StreamData(t, first+string(rest))
	if all[len(all)-1] != "[DONE]" {
		t.Fatalf("the stream was dropped after %s", all[len(all)-1])
	}
	if f := harness.DecodeChatError(t, all[len(all)-2]); f.Code != http.StatusServiceUnavailable || f.Error.Code != "shutting_down" {
		t.Errorf("the stream ends with %+v", f)
	}
	if err := <-p.Exited; err != nil {
		t.Errorf("exit: %v\n%s", err, p.Log)
	}
	if r := g.UsageRecord(t, resp.Header.Get("X-Request-Id")); r.Cost == 0 || r.Outcome != "cut" || !r.Estimated {
		t.Errorf("the record is %+v", r)
	}
	g.CheckLedger(t)
}
