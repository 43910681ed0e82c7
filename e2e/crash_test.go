package e2e

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// opened is a stream of which the first line has come.
type opened struct {
	id    string
	first string
	rest  *bufio.Reader
}

// openStreams starts streams at a gateway and returns once all of them are being delivered.
func (g *gateway) openStreams(t *testing.T, n int, body string) []opened {
	t.Helper()
	streams := make([]opened, n)
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			req, err := g.request(context.Background(), "POST", "/v1/chat/completions", body)
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
			s := opened{id: resp.Header.Get("X-Request-Id"), rest: bufio.NewReader(resp.Body)}
			if s.first, err = s.rest.ReadString('\n'); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%v, %s %s", err, resp.Status, s.first)
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

// readUntil reads on until the mark has come.
func (s *opened) readUntil(t *testing.T, mark string) {
	t.Helper()
	for !strings.Contains(s.first, mark) {
		line, err := s.rest.ReadString('\n')
		s.first += line
		if err != nil {
			t.Fatalf("%v before %q, the stream ends with %s", err, mark, s.first[max(0, len(s.first)-1000):])
		}
	}
}

// end reads a stream to its end.
func (s *opened) end() error {
	rest, err := io.ReadAll(s.rest)
	s.first += string(rest)
	return err
}

// delivered is how many tokens a client got: the simulator sends a token an event.
func (s *opened) delivered() int64 {
	return int64(strings.Count(s.first, `"content":"`) - strings.Count(s.first, `"content":""`))
}

// chargedAtItsMark insists that a stream which a crash cut is charged what it was known to have delivered, and returns
// the charge.
func (g *gateway) chargedAtItsMark(t *testing.T, id string, delivered int64) int64 {
	t.Helper()
	r := g.record(t, id)
	if r.Reason != "crashed" || r.Outcome != "cut" || !r.Estimated || r.Cost == 0 || r.Cost > r.Reserved ||
		r.Output > delivered || delivered-r.Output > markBehindMax {
		t.Errorf("of %s %d tokens were delivered, the record is %+v", id, delivered, r)
	}
	return r.Cost
}

// markBehindMax is the number of tokens that may be delivered before a crash and not charged.
const markBehindMax = 64

// replicaOn starts a replica on a data folder, which may be that of one that was killed.
func (g *gateway) replicaOn(t *testing.T, data string, args ...string) production {
	t.Helper()
	p, err := tryServe(g.databaseURL(t), g, append([]string{"--data", data}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kill ends a replica without warning.
func (p production) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.exited
}

// stopAtEnd insists that a replica ends in order when the test does.
func (p production) stopAtEnd(t *testing.T) {
	t.Cleanup(func() {
		if err := p.stop(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
}

// TestFaultReplicaIsKilledUnderStreams kills one of two replicas without warning. What clients saw complete is in the
// books at the shown cost, and the calls of the other replica run on. Started again on its folder, the replica charges
// the dead calls what they were known to have delivered, and gives the rest of their credit back.
func TestFaultReplicaIsKilledUnderStreams(t *testing.T) {
	t.Parallel()
	g := start(t)
	g.addModels(t, model{id: "test/slow", upstream: "sim+pace=20ms", provider: "meridian"})
	data := dataDir(t)
	p := g.replicaOn(t, data)
	account, before := g.account(t), g.balance(t)
	var shown int64
	for range 5 {
		a := p.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: paid before the crash"))
		cost := nanos(t, string(decodeCompletion(t, a).Usage.Cost))
		if r := g.record(t, a.header.Get("X-Request-Id")); r.Cost != cost || cost == 0 {
			t.Errorf("shown %d, recorded %+v", cost, r)
		}
		shown += cost
	}
	stream := []string{`"stream":true`, `"stream_options":{"include_usage":true}`}
	dead := p.openStreams(t, 20, ask("test/slow", "count to 900", stream...))
	for i := range dead {
		dead[i].readUntil(t, `" 100"`)
	}
	alive := g.openStreams(t, 3, ask("test/slow", "count to 200", stream...))
	p.kill(t)
	for i := range dead {
		if err := dead[i].end(); err == nil || strings.Contains(dead[i].first, "[DONE]") {
			t.Errorf("a stream of a dead gateway ended well: %v", err)
		}
	}
	for i := range alive {
		if err := alive[i].end(); err != nil || !strings.Contains(alive[i].first, "[DONE]") {
			t.Fatalf("a stream of the other replica was cut: %v", err)
		}
		shown += streamCost(t, alive[i].first)
	}
	if _, leased := g.balanceNow(t, account); leased == 0 {
		t.Error("the credit of the dead calls is free before anybody knows what they cost")
	}
	g.replicaOn(t, data).stopAtEnd(t)
	for _, s := range dead {
		shown += g.chargedAtItsMark(t, s.id, s.delivered())
	}
	if after := g.balanceOf(t, account); before.Posted-after.Posted != shown || after.Held != 0 {
		t.Errorf("%d shown or charged, balance %+v → %+v", shown, before, after)
	}
	g.books(t)
}

// TestFaultDatabaseFreezesDuringSettlement stops the database between the upstream's answer and its charge, for a moment
// and for longer than any statement may take. The answer does not wait for it: its charge is in the journal, and in the
// books once, when the database goes on.
func TestFaultDatabaseFreezesDuringSettlement(t *testing.T) {
	t.Parallel()
	g := start(t)
	decodeCompletion(t, g.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: warm")))
	before := g.balance(t)
	for name, freeze := range map[string]time.Duration{"short": 300 * time.Millisecond, "long": 5 * time.Second} {
		call := g.callWhileFrozen(t, ask(cheapModel, "echo: "+name))
		a := <-call.answer
		cost := nanos(t, string(decodeCompletion(t, a).Usage.Cost))
		// The process is stopped for this time, so this is no wait for a state.
		time.Sleep(freeze)
		call.thaw()
		if r := g.record(t, a.header.Get("X-Request-Id")); r.Cost != cost || r.Outcome != "succeeded" || cost == 0 {
			t.Errorf("%s: shown %d, recorded %+v", name, cost, r)
		}
		before.Posted -= cost
		if after := g.balance(t); after != before {
			t.Errorf("%s: the balance is %+v, want %+v", name, after, before)
		}
		g.books(t)
	}
}

// TestFaultDatabaseFreezesWithoutAJournal keeps settlements in the database alone: an answer waits for its charge, and one
// whose charge could not be recorded in time is kept back and not charged, whatever the frozen database still does.
func TestFaultDatabaseFreezesWithoutAJournal(t *testing.T) {
	t.Parallel()
	g := start(t, "--journal", "postgres")
	decodeCompletion(t, g.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: warm")))
	before := g.balance(t)

	short := g.callWhileFrozen(t, ask(cheapModel, "echo: short"))
	// The process is stopped for this time, so this is no wait for a state.
	time.Sleep(300 * time.Millisecond)
	select {
	case a := <-short.answer:
		t.Errorf("status %d before the charge was recorded: %s", a.status, a.body)
	default:
	}
	short.thaw()
	before.Posted -= nanos(t, string(decodeCompletion(t, <-short.answer).Usage.Cost))
	if after := g.balance(t); after != before {
		t.Errorf("short: the balance is %+v, want %+v", after, before)
	}

	long := g.callWhileFrozen(t, ask(cheapModel, "echo: long"))
	a := <-long.answer
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Fatalf("long: status %d: %s", a.status, a.body)
	}
	long.thaw()
	if after := g.balance(t); after != before {
		t.Errorf("the answer was kept back, but the balance is %+v, want %+v", after, before)
	}
	var cost int64
	err := g.db(t).Get(&cost, `select coalesce(sum(cost_nanos), 0) from usage_records where request_id = $1`, a.header.Get("X-Request-Id"))
	if err != nil || cost != 0 {
		t.Errorf("the answer was kept back, but %d nano-dollars are recorded, %v", cost, err)
	}
	g.books(t)
}

// frozenCall is a call whose upstream has just answered while the database is frozen.
type frozenCall struct {
	answer chan answer
	thaw   func()
}

func (g *gateway) callWhileFrozen(t *testing.T, body string) frozenCall {
	t.Helper()
	g.simulator(t, "POST", "/_control/hold", "")
	call := frozenCall{answer: make(chan answer, 1)}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
		defer cancel()
		a, err := g.tryCall(ctx, "POST", "/v1/chat/completions", body, "X-Error-Status", "standard")
		if err != nil {
			t.Error(err)
		}
		call.answer <- a
	}()
	g.simulator(t, "GET", "/_control/waiting?at_least=1&timeout=20s", "")
	call.thaw = g.freezeDatabase(t)
	g.simulator(t, "POST", "/_control/release", "")
	return call
}

// freezeDatabase suspends every process of the gateway's local database and returns what lets them go on.
func (g *gateway) freezeDatabase(t *testing.T) (thaw func()) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, "data", "postgres", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pids := []int{}
	if pid, err := strconv.Atoi(first); err == nil {
		pids = append(pids, pid)
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(pids) == 0 {
		t.Fatalf("the processes of the database are not to be found: %q, %v", first, err)
	}
	for _, path := range stats {
		// A process that has ended has no such file.
		stat, _ := os.ReadFile(path)
		_, after, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(after); len(fields) > 1 && fields[1] == first {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	thaw = func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	t.Cleanup(thaw)
	return thaw
}
