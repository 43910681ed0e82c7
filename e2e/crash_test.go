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

	"github.com/lib/pq"
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
			if s.first, err = s.rest.ReadString('\n'); err != nil {
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

// TestFaultReplicaIsKilledUnderStreams kills one of two replicas without warning. What clients saw complete is in the
// books at the shown cost, the calls of the other replica run on, and the credit of the dead calls is not locked for
// longer than a minute: their holds expire soon, because nobody renews them, and the other replica gives it back.
func TestFaultReplicaIsKilledUnderStreams(t *testing.T) {
	t.Parallel()
	g := start(t)
	g.addModels(t, model{id: "test/slow", upstream: "sim+pace=20ms"})
	p := serve(t, g)
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
	alive := g.openStreams(t, 3, ask("test/slow", "count to 200", stream...))
	dead := p.openStreams(t, 20, ask("test/slow", "count to 900", stream...))
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.exited
	ids := make([]string, len(dead))
	for i, s := range dead {
		ids[i] = s.id
		if text, err := io.ReadAll(s.rest); err == nil || strings.Contains(string(text), "[DONE]") {
			t.Errorf("a stream of a dead gateway ended well: %v", err)
		}
	}
	db := g.db(t)
	var soon int
	if err := db.Get(&soon, `select count(*) from holds where id = any($1) and state = 'open' and expires_at < now() + interval '46 seconds'`,
		pq.Array(ids)); err != nil || soon != len(ids) {
		t.Fatalf("%d of %d holds of dead calls expire soon, %v", soon, len(ids), err)
	}
	db.MustExec(`update holds set expires_at = now() where id = any($1)`, pq.Array(ids))
	for _, s := range alive {
		text, err := io.ReadAll(s.rest)
		if err != nil || !strings.Contains(string(text), "[DONE]") {
			t.Fatalf("a stream of the other replica was cut: %v", err)
		}
		shown += streamCost(t, s.first+string(text))
	}
	for deadline := time.Now().Add(callTimeMax); ; time.Sleep(20 * time.Millisecond) {
		var held int64
		if err := db.Get(&held, `select held_nanos from credit_accounts where id = $1`, account); err != nil {
			t.Fatal(err)
		}
		if held == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d nano-dollars of dead calls are still held", held)
		}
	}
	if after := g.balanceOf(t, account); before.Posted-after.Posted != shown {
		t.Errorf("%d shown, %d gone", shown, before.Posted-after.Posted)
	}
	g.books(t)
}

// TestFaultDatabaseFreezesDuringSettlement stops the database between the upstream's answer and its charge for longer
// than a client waits. The client is told that nothing was charged, but the frozen database still has the charge to
// do: it must not stand. A shorter freeze only delays the answer.
func TestFaultDatabaseFreezesDuringSettlement(t *testing.T) {
	t.Parallel()
	g := start(t)
	decodeCompletion(t, g.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: warm")))
	before := g.balance(t)
	for _, c := range []struct {
		name    string
		status  int
		outcome string
	}{{"short", http.StatusOK, "succeeded"}, {"long", http.StatusServiceUnavailable, "failed"}} {
		a := g.callWhileFrozen(t, ask(cheapModel, "echo: "+c.name), c.status == http.StatusOK)
		if a.status != c.status {
			t.Fatalf("%s: status %d: %s", c.name, a.status, a.body)
		}
		r := g.settled(t, a.header.Get("X-Request-Id"), c.outcome)
		if c.status == http.StatusOK {
			before.Posted -= nanos(t, string(decodeCompletion(t, a).Usage.Cost))
		} else if r.Cost != 0 {
			t.Errorf("the answer was kept back, but the record is %+v", r)
		}
		if after := g.balance(t); after != before {
			t.Errorf("%s: the balance is %+v, want %+v", c.name, after, before)
		}
		g.books(t)
	}
}

// callWhileFrozen makes a call whose upstream answers when the database is frozen, for a moment or until the client
// has its answer.
func (g *gateway) callWhileFrozen(t *testing.T, body string, moment bool) answer {
	t.Helper()
	g.simulator(t, "POST", "/_control/hold", "")
	answers := make(chan answer, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
		defer cancel()
		a, err := g.tryCall(ctx, "POST", "/v1/chat/completions", body, "X-Error-Status", "standard")
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}()
	g.simulator(t, "GET", "/_control/waiting?at_least=1&timeout=20s", "")
	thaw := g.freezeDatabase(t)
	defer thaw()
	g.simulator(t, "POST", "/_control/release", "")
	if moment {
		time.Sleep(500 * time.Millisecond) // the freeze itself
		thaw()
	}
	return <-answers
}

// settled waits until a request is recorded with an outcome: another one may stand until it is corrected.
func (g *gateway) settled(t *testing.T, requestID, outcome string) record {
	t.Helper()
	db := g.db(t)
	for deadline := time.Now().Add(callTimeMax); ; time.Sleep(20 * time.Millisecond) {
		var r record
		err := db.Get(&r, `select cost_nanos, reserved_nanos, outcome, estimated, input_tokens, output_tokens
			from usage_records where request_id = $1`, requestID)
		if err == nil && r.Outcome == outcome {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("the record of %s stays %+v, want it %s: %v", requestID, r, outcome, err)
		}
	}
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
		stat, _ := os.ReadFile(path) // it may have ended meanwhile
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
