package faults

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/e2e/harness"
)

func TestAPICommandsRefuseWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	dir := harness.DataDir(t)
	cases := []struct {
		name string
		env  []string
		args []string
		says string
	}{
		{"unknown flag", nil, []string{"serve", "--lisen", "x"}, "lisen"},
		{"unknown variable", []string{"UMG_LISEN=x"}, []string{"serve"}, "UMG_LISEN"},
		{"bad address", nil, []string{"serve", "--listen", "nowhere"}, "--listen"},
		{"plain http elsewhere", nil, []string{"serve", "--base-url", "http://gateway.example"}, "insecure-cookies"},
		{"bad proxy network", nil, []string{"serve", "--trusted-proxies", "everybody"}, "--trusted-proxies"},
		{"short secret", []string{"UMG_SECRET_KEY=c2hvcnQ="}, []string{"serve"}, "UMG_SECRET_KEY"},
		{"no database there", nil, []string{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--data", dir,
			"--database-url", "postgres://unknown@127.0.0.1:1/none?sslmode=disable&connect_timeout=2"}, "database"},
		{"no such catalog", nil, []string{"catalog", "check", "/nonexistent.yaml"}, "nonexistent"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, status := harness.RunCommand(t, c.env, c.args...)
			if status == 0 || !strings.Contains(out, c.says) || strings.Count(strings.TrimSpace(out), "\n") > 0 {
				t.Errorf("status %d: %s", status, out)
			}
		})
	}
}

// TestAPICatalogCommands checks, compares, applies and exports, with mistakes named by their place.
func TestAPICatalogCommands(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	bare := []string{"DATABASE_URL=" + g.DatabaseURL(t)}
	env := slices.Concat(bare, []string{"UMG_SIMULATOR_URL=http://127.0.0.1:1", "UMG_SIMULATOR_KEY=x"})
	text, _ := harness.RunCommand(t, env, "catalog", "export")
	file := filepath.Join(harness.DataDir(t), "catalog.yaml")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	if out, status := harness.RunCommand(t, env, "catalog", "check", file); status != 0 || !strings.Contains(out, " is right: ") {
		t.Errorf("an export is wrong: %s", out)
	}
	for _, command := range []string{"check", "apply"} {
		out, status := harness.RunCommand(t, bare, "catalog", command, file)
		if status == 0 || !strings.Contains(out, "providers[0].credential: the variable UMG_SIMULATOR_KEY is not set") {
			t.Errorf("catalog %s without the variables, status %d: %s", command, status, out)
		}
	}
	if out, status := harness.RunCommand(t, bare, "catalog", "check", "--allow-unset", file); status != 0 || !strings.Contains(out, "warning: ") || strings.Contains(out, "is right") {
		t.Errorf("with --allow-unset, status %d: %s", status, out)
	}
	if out, _ := harness.RunCommand(t, env, "catalog", "diff", file); !strings.Contains(out, "no change") {
		t.Errorf("an export differs: %s", out)
	}
	write(strings.Replace(text, "input_tokens: 0.15 per 1M", "input_tokens: 0.25 per 1M", 1))
	if out, status := harness.RunCommand(t, env, "catalog", "apply", file); status != 0 || !strings.Contains(out, "0.15") || !strings.Contains(out, "0.25") {
		t.Errorf("status %d: %s", status, out)
	}
	for deadline := time.Now().Add(5 * time.Second); !strings.Contains(g.Call(t, "GET", "/v1/models/"+harness.CheapModel, "").Body, "0.00000025"); {
		if time.Now().After(deadline) {
			t.Fatal("the new price never arrives")
		}
		time.Sleep(20 * time.Millisecond)
	}
	write(regexp.MustCompile(`(?m)^( +)timeout: 20m0s$`).ReplaceAllString(text, "${1}timeout: 20m0s\n${1}timeouts: {total: 40m}"))
	for _, command := range []string{"check", "apply"} {
		if out, status := harness.RunCommand(t, env, "catalog", command, file); status != 0 || !strings.Contains(out, "warning: ") || !strings.Contains(out, "the timeouts.total of the model is 40m0s") {
			t.Errorf("catalog %s, status %d: %s", command, status, out)
		}
	}
	_, unaliased, _ := strings.Cut(text, "providers:\n")
	write("providers:\n" + unaliased)
	if out, status := harness.RunCommand(t, env, "catalog", "check", file); status != 0 || !strings.Contains(out, "is right") {
		t.Errorf("a catalog without aliases, status %d: %s", status, out)
	}
	write(strings.Replace(text, "provider: meridian", "provider: elsewhere", 1))
	if out, status := harness.RunCommand(t, env, "catalog", "check", file); status == 0 || !strings.Contains(out, "elsewhere") {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestAPIOperatorCommands(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	c := g.NewCustomer(t, "operated")
	env := []string{"DATABASE_URL=" + g.DatabaseURL(t)}
	before := c.SettledBalance(t, c.AccountID)
	if out, status := harness.RunCommand(t, env, "credit", "grant", c.Email, "0.000000001", "--reason", "a test"); status != 0 {
		t.Errorf("status %d: %s", status, out)
	}
	if after := c.SettledBalance(t, c.AccountID); after.Posted != before.Posted+1 {
		t.Errorf("the balance went from %d to %d", before.Posted, after.Posted)
	}
	for name, args := range map[string][]string{
		"unknown address": {"credit", "grant", "unknown@example.com", "1", "--reason", "x"}, "not money": {"credit", "grant", c.Email, "1e3", "--reason", "x"},
		"nothing": {"credit", "grant", c.Email, "0", "--reason", "x"}, "no reason": {"credit", "grant", c.Email, "1"},
		"unknown operator": {"operator", "add", "unknown@example.com"}, "no multiplier": {"account", "set-limit-multiplier", c.Email, "0"},
	} {
		if out, status := harness.RunCommand(t, env, args...); status == 0 {
			t.Errorf("%s: %s", name, out)
		}
	}
	if out, status := harness.RunCommand(t, env, "operator", "add", c.Email); status != 0 {
		t.Error(out)
	}
}

// TestFaultSecondGatewayOnTheSameFolder is refused with one line, and the first one does not notice.
func TestFaultSecondGatewayOnTheSameFolder(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	out, status := harness.RunCommand(t, nil, "demo", "--listen", "127.0.0.1:0", "--data", filepath.Join(g.Dir, "data"))
	if status == 0 || !strings.Contains(out, "in use") || strings.Count(strings.TrimSpace(out), "\n") > 0 {
		t.Errorf("status %d: %s", status, out)
	}
	harness.DecodeCompletion(t, g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: x")))
}

// TestADemoWhoseAddressIsTakenSaysWhatToDo starts a demo whose UMG_LISTEN another program has. It says how to choose another address before
// it makes a database.
func TestADemoWhoseAddressIsTakenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	other, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	data := filepath.Join(t.TempDir(), "data")
	out, status := harness.RunCommand(t, []string{"UMG_LISTEN=" + other.Addr().String()}, "demo", "--data", data)
	if status == 0 || !strings.Contains(out, other.Addr().String()) || !strings.Contains(out, "UMG_LISTEN=127.0.0.1:") {
		t.Errorf("status %d: %s", status, out)
	}
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a data folder was made: %v", err)
	}
}

// TestFaultKilledGatewayComesBack kills the gateway hard in the middle of a call: the next start has the same login, key
// and money, the call that died is charged what it was known to have delivered, and the rest of its hold is free.
func TestFaultKilledGatewayComesBack(t *testing.T) {
	t.Parallel()
	dir := harness.DemoDir(t)
	_, simulatorURL := harness.StartSimulator(t)
	first, err := harness.StartDemoIn(dir, "--simulator-url", simulatorURL)
	if err != nil {
		t.Fatal(err)
	}
	done := harness.DecodeCompletion(t, first.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: before the kill")))
	before := first.DemoBalance(t)
	cut := first.OpenStreams(t, 1, harness.ChatRequest(harness.CheapModel, "simulate: pace=20ms\ncount to 900", `"stream":true`))[0]
	readUntil(t, &cut, `" 50"`)
	if err := first.Command.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first.Exited
	if err := readToEnd(&cut); err == nil {
		t.Error("a stream of a dead gateway ended well")
	}
	started := time.Now()
	second, err := harness.StartDemoIn(dir, "--simulator-url", simulatorURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready again after %s", time.Since(started).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := second.Stop(); err != nil {
			t.Error(err)
		}
	})
	if second.APIKey != first.APIKey || second.Password != first.Password {
		t.Error("the login or the key changed")
	}
	before.Posted -= chargedAtItsMark(t, second, cut.RequestID, deliveredTokens(&cut))
	if after := second.DemoBalance(t); after != before || done.Usage == nil {
		t.Errorf("the balance is %+v, want %+v", after, before)
	}
	harness.DecodeCompletion(t, second.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: after the kill")))
	second.CheckLedger(t)
}

// TestFaultDatabaseIsKilledWhileServing kills the local database. The gateway starts it again; until it runs, calls are answered
// or refused with 503, and nothing else.
func TestFaultDatabaseIsKilledWhileServing(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	harness.DecodeCompletion(t, g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: warm")))
	before := g.DatabasePID(t)
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(harness.CallTimeMax); ; {
		a := g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: x"), "X-Error-Status", "standard")
		if a.Status != http.StatusOK && a.Status != http.StatusServiceUnavailable {
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
		if a.Status == http.StatusOK && g.DatabasePID(t) != before {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the gateway never recovered")
		}
	}
	db, err := sqlx.Open("postgres", g.DatabaseURL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	g.WaitFor(t, "a connection to the database, which calls do without", func() bool { return db.Ping() == nil })
	g.CheckLedger(t)
}

// TestFaultDatabaseIsAwayWhileServing takes the database away from a replica for as long as it looks. An account with a
// live lease goes on as if nothing were, and pays for it later; all other calls and pages are told 503 with a time to come
// back, never 401, 402 or 404, and the replica recovers by itself.
func TestFaultDatabaseIsAwayWhileServing(t *testing.T) {
	t.Parallel()
	dir := harness.DemoDir(t)
	_, simulatorURL := harness.StartSimulator(t)
	owner, err := harness.StartDemoIn(dir, "--simulator-url", simulatorURL)
	if err != nil {
		t.Fatal(err)
	}
	owner.SimulatorURL = simulatorURL
	p := harness.StartReplica(t, owner)
	beside := *p.Gateway
	other := harness.Customer{Gateway: &beside}
	other.APIKey = owner.NewCustomer(t, "leaseless").APIKey
	harness.DecodeCompletion(t, other.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: warm")))
	before := owner.DemoBalance(t)
	paid := lease(t, p, 8)
	stopped := make(chan error, 1)
	go func() { stopped <- owner.Stop() }()
	// A call keeps the lease in use.
	calling := func() {
		paid += harness.Nanos(t, string(harness.DecodeCompletion(t, p.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: x"))).Usage.Cost))
	}
	for len(stopped) == 0 {
		calling()
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	for range 5 {
		calling()
		isAway(t, other)
	}
	staysClosed(t, p, owner.APIKey)
	calling()
	back, err := harness.StartDemoIn(dir, "--simulator-url", simulatorURL)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(20 * time.Millisecond) {
		a := other.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: x"), "X-Error-Status", "standard")
		if a.Status == http.StatusOK {
			break
		}
		if a.Status != http.StatusServiceUnavailable || time.Now().After(deadline) {
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
	}
	if after := back.DemoBalance(t); before.Posted-after.Posted != paid || after.Held != 0 {
		t.Errorf("%d shown, balance %+v → %+v", paid, before, after)
	}
	back.CheckLedger(t)
	if err := errors.Join(p.Stop(), back.Stop()); err != nil {
		t.Error(err)
	}
}

// lease makes the replica take credit for several calls at once, so that what they do not use is there for the next. It
// returns what they cost.
func lease(t *testing.T, p harness.Replica, calls int) (paid int64) {
	t.Helper()
	p.CallSimulator(t, "POST", "/_control/hold", "")
	answers := make(chan harness.Response, calls)
	for range calls {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
			defer cancel()
			a, err := p.TryCall(ctx, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: warm"))
			if err != nil {
				t.Error(err)
			}
			answers <- a
		}()
	}
	p.CallSimulator(t, "GET", fmt.Sprintf("/_control/waiting?at_least=%d&timeout=20s", calls), "")
	p.CallSimulator(t, "POST", "/_control/release", "")
	for range calls {
		paid += harness.Nanos(t, string(harness.DecodeCompletion(t, <-answers).Usage.Cost))
	}
	return paid
}

// isAway insists that a call of an account without a lease is refused with a Retry-After.
func isAway(t *testing.T, c harness.Customer) {
	t.Helper()
	a := c.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: x"), "X-Error-Status", "standard")
	if f := harness.DecodeChatError(t, a.Body); a.Status != http.StatusServiceUnavailable || f.Code != 503 || a.Header.Get("Retry-After") == "" {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
}

// staysClosed insists that a replica without a database refuses keys that it has not verified before.
func staysClosed(t *testing.T, p harness.Replica, key string) {
	t.Helper()
	unknown := key[:len(key)-1] + "~"
	if a := p.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "x"), "Authorization", "Bearer "+unknown); a.Status != http.StatusUnauthorized {
		t.Errorf("a key with a wrong checksum needs no database, status %d", a.Status)
	}
	page := harness.NewConsoleClient(t, p.Gateway).Visit(t, "/console", nil, "Cookie", "__Host-umg="+strings.Repeat("A", 43))
	if page.Status != http.StatusServiceUnavailable || !strings.Contains(page.Body, "away for a moment") {
		t.Errorf("the console says %d", page.Status)
	}
}
