package faults

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"umg/e2e/harness"
)

// readUntil reads on until the mark has come.
func readUntil(t *testing.T, s *harness.OpenStream, mark string) {
	t.Helper()
	for !strings.Contains(s.Read, mark) {
		line, err := s.Rest.ReadString('\n')
		s.Read += line
		if err != nil {
			t.Fatalf("%v before %q, the stream ends with %s", err, mark, s.Read[max(0, len(s.Read)-1000):])
		}
	}
}

// readToEnd reads a stream to its end.
func readToEnd(s *harness.OpenStream) error {
	rest, err := io.ReadAll(s.Rest)
	s.Read += string(rest)
	return err
}

// deliveredTokens is how many tokens a client got: the simulator sends a token an event.
func deliveredTokens(s *harness.OpenStream) int64 {
	return int64(strings.Count(s.Read, `"content":"`) - strings.Count(s.Read, `"content":""`))
}

// chargedAtItsMark insists that a stream which a crash cut is charged what it was known to have delivered, and returns
// the charge.
func chargedAtItsMark(t *testing.T, g *harness.Gateway, id string, delivered int64) int64 {
	t.Helper()
	r := g.UsageRecord(t, id)
	if r.Reason != "crashed" || r.Outcome != "cut" || !r.Estimated || r.Cost == 0 || r.Cost > r.Reserved ||
		r.Output > delivered || delivered-r.Output > harness.CheckpointLagMax {
		t.Errorf("of %s %d tokens were delivered, the record is %+v", id, delivered, r)
	}
	return r.Cost
}

// replicaOn starts a replica on a data folder, which may be that of one that was killed.
func replicaOn(t *testing.T, g *harness.Gateway, data string, args ...string) harness.Replica {
	t.Helper()
	p, err := harness.TryReplica(g.DatabaseURL(t), g, append([]string{"--data", data}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFaultReplicaIsKilledUnderStreams kills one of two replicas without warning. What clients saw complete is in the
// books at the shown cost, and the calls of the other replica run on. Started again on its folder, the replica charges
// the dead calls what they were known to have delivered, and gives the rest of their credit back.
func TestFaultReplicaIsKilledUnderStreams(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	g.AddModels(t, harness.Model{ID: "test/slow", UpstreamModel: "sim+pace=20ms", Provider: "meridian"})
	data := harness.DataDir(t)
	p := replicaOn(t, g, data)
	account, before := g.DemoAccountID(t), g.DemoBalance(t)
	var shown int64
	for range 5 {
		a := p.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: paid before the crash"))
		cost := harness.Nanos(t, string(harness.DecodeCompletion(t, a).Usage.Cost))
		if r := g.UsageRecord(t, a.Header.Get("X-Request-Id")); r.Cost != cost || cost == 0 {
			t.Errorf("shown %d, recorded %+v", cost, r)
		}
		shown += cost
	}
	stream := []string{`"stream":true`, `"stream_options":{"include_usage":true}`}
	dead := p.OpenStreams(t, 20, harness.ChatRequest("test/slow", "count to 900", stream...))
	for i := range dead {
		readUntil(t, &dead[i], `" 100"`)
	}
	alive := g.OpenStreams(t, 3, harness.ChatRequest("test/slow", "count to 200", stream...))
	p.Kill(t)
	for i := range dead {
		if err := readToEnd(&dead[i]); err == nil || strings.Contains(dead[i].Read, "[DONE]") {
			t.Errorf("a stream of a dead gateway ended well: %v", err)
		}
	}
	for i := range alive {
		if err := readToEnd(&alive[i]); err != nil || !strings.Contains(alive[i].Read, "[DONE]") {
			t.Fatalf("a stream of the other replica was cut: %v", err)
		}
		shown += harness.StreamCost(t, alive[i].Read)
	}
	if _, leased := g.BalanceNow(t, account); leased == 0 {
		t.Error("the credit of the dead calls is free before anybody knows what they cost")
	}
	replicaOn(t, g, data).StopAtEnd(t)
	for _, s := range dead {
		shown += chargedAtItsMark(t, g, s.RequestID, deliveredTokens(&s))
	}
	if after := g.SettledBalance(t, account); before.Posted-after.Posted != shown || after.Held != 0 {
		t.Errorf("%d shown or charged, balance %+v → %+v", shown, before, after)
	}
	g.CheckLedger(t)
}

// TestFaultDatabaseFreezesDuringSettlement stops the database between the upstream's answer and its charge, for a moment
// and for longer than any statement may take. The answer does not wait for it: its charge is in the journal, and in the
// books once, when the database goes on.
func TestFaultDatabaseFreezesDuringSettlement(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	harness.DecodeCompletion(t, g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: warm")))
	before := g.DemoBalance(t)
	for name, freeze := range map[string]time.Duration{"short": 300 * time.Millisecond, "long": 5 * time.Second} {
		call := callWhileFrozen(t, g, harness.ChatRequest(harness.CheapModel, "echo: "+name))
		a := <-call.answer
		cost := harness.Nanos(t, string(harness.DecodeCompletion(t, a).Usage.Cost))
		// The process is stopped for this time, so this is no wait for a state.
		time.Sleep(freeze)
		call.thaw()
		if r := g.UsageRecord(t, a.Header.Get("X-Request-Id")); r.Cost != cost || r.Outcome != "succeeded" || cost == 0 {
			t.Errorf("%s: shown %d, recorded %+v", name, cost, r)
		}
		before.Posted -= cost
		if after := g.DemoBalance(t); after != before {
			t.Errorf("%s: the balance is %+v, want %+v", name, after, before)
		}
		g.CheckLedger(t)
	}
}

// TestFaultDatabaseFreezesWithoutAJournal keeps settlements in the database alone: an answer waits for its charge, and one
// whose charge could not be recorded in time is kept back and not charged, whatever the frozen database still does.
func TestFaultDatabaseFreezesWithoutAJournal(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t, "--journal", "postgres")
	harness.DecodeCompletion(t, g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: warm")))
	before := g.DemoBalance(t)

	short := callWhileFrozen(t, g, harness.ChatRequest(harness.CheapModel, "echo: short"))
	// The process is stopped for this time, so this is no wait for a state.
	time.Sleep(300 * time.Millisecond)
	select {
	case a := <-short.answer:
		t.Errorf("status %d before the charge was recorded: %s", a.Status, a.Body)
	default:
	}
	short.thaw()
	before.Posted -= harness.Nanos(t, string(harness.DecodeCompletion(t, <-short.answer).Usage.Cost))
	if after := g.DemoBalance(t); after != before {
		t.Errorf("short: the balance is %+v, want %+v", after, before)
	}

	long := callWhileFrozen(t, g, harness.ChatRequest(harness.CheapModel, "echo: long"))
	a := <-long.answer
	if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Fatalf("long: status %d: %s", a.Status, a.Body)
	}
	long.thaw()
	if after := g.DemoBalance(t); after != before {
		t.Errorf("the answer was kept back, but the balance is %+v, want %+v", after, before)
	}
	var cost int64
	err := g.DB(t).Get(&cost, `select coalesce(sum(cost_nanos), 0) from usage_records where request_id = $1`, a.Header.Get("X-Request-Id"))
	if err != nil || cost != 0 {
		t.Errorf("the answer was kept back, but %d nano-dollars are recorded, %v", cost, err)
	}
	g.CheckLedger(t)
}

// frozenCall is a call whose upstream has just answered while the database is frozen.
type frozenCall struct {
	answer chan harness.Response
	thaw   func()
}

func callWhileFrozen(t *testing.T, g *harness.Gateway, body string) frozenCall {
	t.Helper()
	g.CallSimulator(t, "POST", "/_control/hold", "")
	call := frozenCall{answer: make(chan harness.Response, 1)}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
		defer cancel()
		a, err := g.TryCall(ctx, "POST", "/v1/chat/completions", body, "X-Error-Status", "standard")
		if err != nil {
			t.Error(err)
		}
		call.answer <- a
	}()
	g.CallSimulator(t, "GET", "/_control/waiting?at_least=1&timeout=20s", "")
	call.thaw = freezeDatabase(t, g)
	g.CallSimulator(t, "POST", "/_control/release", "")
	return call
}

// freezeDatabase suspends every process of the gateway's local database and returns what lets them go on.
func freezeDatabase(t *testing.T, g *harness.Gateway) (thaw func()) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.Dir, "data", "postgres", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	parent, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("the first process of the database is not to be found: %q, %v", first, err)
	}
	var pids []int
	thaw = func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	t.Cleanup(thaw)
	freeze := func(pid int) {
		t.Helper()
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	// From here on the parent starts no process, and one that ends can still be signalled, because the parent does not wait for it.
	freeze(parent)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		// A process that has ended has no such file.
		stat, _ := os.ReadFile(path)
		_, after, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(after); len(fields) > 1 && fields[1] == first {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			freeze(pid)
		}
	}
	return thaw
}
