package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// production is `gateway serve` on a database that the gateway did not start itself.
type production struct {
	*gateway
	ops string
}

// serve starts the production form beside a demo whose database, catalog and key it shares: a second replica.
func serve(t *testing.T, beside *gateway, args ...string) production {
	t.Helper()
	p, err := tryServe(beside.databaseURL(t), beside, append([]string{"--data", dataDir(t)}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tryServe is serve with a data folder among the arguments, for a replica that may not start.
func tryServe(databaseURL string, beside *gateway, args ...string) (production, error) {
	bin, err := gatewayBinary()
	if err != nil {
		return production{}, err
	}
	return serveBinary(bin, nil, databaseURL, beside, args...)
}

// serveBinary is tryServe with another build, and more in its environment.
func serveBinary(bin string, env []string, databaseURL string, beside *gateway, args ...string) (production, error) {
	g := *beside
	p := production{gateway: &g}
	g.exited, g.log = make(chan error, 1), &lockedBuffer{}
	g.cmd = exec.Command(bin, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--profiles", "--lame-duck", "0s",
	}, args...)...)
	g.cmd.Env = append(g.cmd.Environ(), "DATABASE_URL="+databaseURL, "UMG_SIMULATOR_URL="+beside.SimulatorURL, "UMG_SIMULATOR_KEY=any")
	if key, err := os.ReadFile(filepath.Join(beside.dir, "data", "secret.key")); err == nil {
		g.cmd.Env = append(g.cmd.Env, "UMG_SECRET_KEY="+strings.TrimSpace(string(key)))
	}
	g.cmd.Env = append(g.cmd.Env, env...)
	stderr, err := g.cmd.StderrPipe()
	if err != nil {
		return p, err
	}
	if err := g.cmd.Start(); err != nil {
		return p, err
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		var said struct{ Msg, Console, API, Ops string }
		_, _ = g.log.Write(append(lines.Bytes(), '\n'))
		if json.Unmarshal(lines.Bytes(), &said) == nil && said.Msg == "serving" {
			g.ConsoleURL, g.BaseURL, p.ops = strings.TrimSuffix(said.Console, "/console"), said.API, "http://"+said.Ops
			break
		}
	}
	if p.ops == "" {
		return p, fmt.Errorf("serve did not start: %w\n%s", g.cmd.Wait(), g.log)
	}
	go func() {
		_, _ = io.Copy(g.log, stderr)
		g.exited <- g.cmd.Wait()
	}()
	return p, nil
}

func (p production) ask(t *testing.T, path string) answer {
	t.Helper()
	resp, err := client.Get(p.ops + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: string(text)}
}

// TestAPIServeIsASecondReplica runs the production form beside the demo on one database: the same key works, its money
// is one balance, and a key that one replica's console disables is refused by the other within a second.
func TestAPIServeIsASecondReplica(t *testing.T) {
	t.Parallel()
	g := start(t)
	p := serve(t, g)
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	for path, want := range map[string]string{"/healthz": "", "/readyz": "", "/metrics": "go_goroutines"} {
		if a := p.ask(t, path); a.status != http.StatusOK || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	c := g.newCustomer(t, "replicas")
	other := customer{gateway: p.gateway, accountID: c.accountID}
	before := c.balanceOf(t, c.accountID)
	shown := nanos(t, string(decodeCompletion(t, c.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: one"))).Usage.Cost))
	other.APIKey = c.APIKey
	shown += nanos(t, string(decodeCompletion(t, other.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: two"))).Usage.Cost))
	if after := c.balanceOf(t, c.accountID); before.Posted-after.Posted != shown {
		t.Errorf("%d shown, %d gone", shown, before.Posted-after.Posted)
	}
	var id string
	if err := c.db(t).Get(&id, `select id from api_keys where account_id = $1`, c.accountID); err != nil {
		t.Fatal(err)
	}
	person := newPerson(t, g)
	person.signIn(t, c.Email, c.Password)
	person.visit(t, "/console/keys/"+id+"/disable", map[string][]string{})
	disabled := time.Now()
	for other.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: x")).status != http.StatusUnauthorized {
		if time.Since(disabled) > time.Second {
			t.Fatal("a second after it was disabled the key still works at the other replica")
		}
	}
	g.books(t)
}

// TestFaultShutdownLetsStreamsFinish sends SIGTERM in the middle of a stream: it is delivered to its end, charged, and
// the process exits 0.
func TestFaultShutdownLetsStreamsFinish(t *testing.T) {
	t.Parallel()
	g := start(t)
	g.addModels(t, model{id: "test/paced", upstream: "sim+pace=20ms", provider: "meridian"})
	p := serve(t, g, "--drain-timeout", "20s")
	req, err := p.request(context.Background(), "POST", "/v1/chat/completions",
		ask("test/paced", "count to 50", `"stream":true`, `"stream_options":{"include_usage":true}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	first, err := body.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	text := first + string(rest)
	if all := events(t, text); all[len(all)-1] != "[DONE]" || !strings.Contains(text, `" 50"`) {
		t.Errorf("the stream was cut: %s", text)
	}
	if r := g.record(t, resp.Header.Get("X-Request-Id")); r.Cost != streamCost(t, text) || r.Outcome != "succeeded" {
		t.Errorf("the record is %+v", r)
	}
	if err := <-p.exited; err != nil {
		t.Errorf("exit: %v\n%s", err, p.log)
	}
}

// TestFaultShutdownEndsWhatOutlivesTheDrain gives streams a short drain: what still runs then ends with an error in
// the stream, is charged for what was delivered, and the process exits 0.
func TestFaultShutdownEndsWhatOutlivesTheDrain(t *testing.T) {
	t.Parallel()
	g := start(t)
	g.addModels(t, model{id: "test/endless", upstream: "sim+pace=20ms", provider: "meridian"})
	p := serve(t, g, "--drain-timeout", "300ms")
	req, err := p.request(context.Background(), "POST", "/v1/chat/completions", ask("test/endless", "count to 2000", `"stream":true`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	first, err := body.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	all := events(t, first+string(rest))
	if all[len(all)-1] != "[DONE]" {
		t.Fatalf("the stream was dropped after %s", all[len(all)-1])
	}
	if f := decodeFailure(t, all[len(all)-2]); f.Code != http.StatusServiceUnavailable || f.Error.Code != "shutting_down" {
		t.Errorf("the stream ends with %+v", f)
	}
	if err := <-p.exited; err != nil {
		t.Errorf("exit: %v\n%s", err, p.log)
	}
	if r := g.record(t, resp.Header.Get("X-Request-Id")); r.Cost == 0 || r.Outcome != "cut" || !r.Estimated {
		t.Errorf("the record is %+v", r)
	}
	g.books(t)
}
