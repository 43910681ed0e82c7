package e2e

import (
	"context"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// killAtEnd leaves no process behind, whatever a test ends with.
func (g *gateway) killAtEnd(t *testing.T) {
	// The kill fails when the process has ended, which is no error.
	t.Cleanup(func() { _ = g.cmd.Process.Kill() })
}

// takenWithin is how soon after a start a replica must take calls.
const takenWithin = 2 * time.Second

// TestFaultRestartsLeaveNothingUnapplied stops a replica in order and without warning. What the books have already must not
// count as unapplied in the next run, or calls are refused when it is old or large enough.
func TestFaultRestartsLeaveNothingUnapplied(t *testing.T) {
	t.Parallel()
	g := running(t)
	c := g.newCustomer(t, "restarts")
	data := dataDir(t)
	before := c.balanceOf(t, c.accountID)
	var shown int64
	for _, end := range []string{"clean", "killed", "clean", "at the end"} {
		p := c.replicaOn(t, data)
		p.killAtEnd(t)
		began := time.Now()
		if a := p.ask(t, "/metrics"); !strings.Contains(a.body, "\numg_journal_unapplied_bytes 0\n") ||
			!strings.Contains(a.body, "\numg_journal_unapplied_age_seconds 0\n") {
			t.Errorf("before the run that ends %s something is unapplied: %s", end, linesAbout(a.body, "umg_journal_"))
		}
		shown += nanos(t, string(decodeCompletion(t, p.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: again"))).Usage.Cost))
		if took := time.Since(began); took > takenWithin {
			t.Errorf("the first call was answered after %v", took)
		}
		for range 2 {
			shown += nanos(t, string(decodeCompletion(t, p.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: again"))).Usage.Cost))
		}
		if end == "killed" {
			p.kill(t)
			continue
		}
		if err := p.stop(); err != nil {
			t.Fatal(err)
		}
	}
	if after := c.balanceOf(t, c.accountID); before.Posted-after.Posted != shown {
		t.Errorf("%d shown, %d gone", shown, before.Posted-after.Posted)
	}
	c.books(t)
}

func linesAbout(text, mark string) string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, mark) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return strings.Join(found, ", ")
}

// fileSizeMax lets no file of a process grow beyond so many bytes: its writes fail with "file too large".
func fileSizeMax(t *testing.T, pid int, bytes uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: bytes, Max: bytes}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
}

// TestFaultJournalDiesAndTheReplicaLeaves lets every write to the journal fail. The calls that run are settled in the database,
// no other is taken, and the process ends with the cause. Its folder is good for the next start.
func TestFaultJournalDiesAndTheReplicaLeaves(t *testing.T) {
	t.Parallel()
	g := running(t)
	slow := once("test/dead-journal")
	g.addModels(t, model{id: slow, upstream: "sim+pace=20ms", provider: "meridian"})
	c := g.newCustomer(t, "dead-journal")
	data := dataDir(t)
	before := c.balanceOf(t, c.accountID)
	p := c.replicaOn(t, data, "--lame-duck", "2s")
	p.killAtEnd(t)
	shown := nanos(t, string(decodeCompletion(t, p.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: well"))).Usage.Cost))
	streams := p.openStreams(t, 3, ask(slow, "count to 150", `"stream":true`, `"stream_options":{"include_usage":true}`))
	for i := range streams {
		streams[i].readUntil(t, `" 20"`)
	}
	fileSizeMax(t, p.cmd.Process.Pid, 1)
	var unready answer
	for deadline := time.Now().Add(lookMax); unready.status != http.StatusServiceUnavailable; time.Sleep(10 * time.Millisecond) {
		if unready = p.ask(t, "/readyz"); time.Now().After(deadline) {
			t.Fatalf("/readyz does not fail: %s\n%s", unready.body, p.log)
		}
	}
	if !strings.Contains(unready.body, "it is dead") && !strings.Contains(unready.body, "draining") {
		t.Errorf("/readyz says %s", unready.body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), callTimeMax)
	defer cancel()
	if a, err := p.tryCall(ctx, "POST", "/v1/chat/completions", ask(cheapModel, "echo: too late"), "X-Error-Status", "standard"); err == nil &&
		(a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "") {
		t.Errorf("a call to a replica whose journal is dead: %d %s", a.status, a.body)
	}
	for i := range streams {
		if err := streams[i].end(); err != nil || !strings.Contains(streams[i].first, "[DONE]") {
			t.Fatalf("a stream that ran when the journal died was cut: %v", err)
		}
		shown += streamCost(t, streams[i].first)
	}
	select {
	case err := <-p.exited:
		if err == nil {
			t.Error("the process ends as if nothing had happened")
		}
	case <-time.After(stopTimeMax):
		t.Fatalf("the process does not end\n%s", p.log)
	}
	if said := p.log.String(); !strings.Contains(said, "journal failed, shutting down") || !strings.Contains(said, "file too large") {
		t.Errorf("the log does not name the cause:\n%s", said)
	}

	again := c.replicaOn(t, data)
	again.killAtEnd(t)
	again.stopAtEnd(t)
	shown += nanos(t, string(decodeCompletion(t, again.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: as before"))).Usage.Cost))
	if after := c.balanceOf(t, c.accountID); before.Posted-after.Posted != shown {
		t.Errorf("%d shown, %d gone", shown, before.Posted-after.Posted)
	}
	c.books(t)
}

// TestFaultTwoReplicasWithOneFolder runs two processes on copies of one folder, so with one replica id. Whose journal lacks what
// the other has applied refuses every call, says so at /readyz, and leaves the other to its work.
func TestFaultTwoReplicasWithOneFolder(t *testing.T) {
	t.Parallel()
	g := running(t)
	// The model has no rate limits.
	mine := once("test/one-folder")
	g.addModels(t, model{id: mine, upstream: "sim", provider: "meridian"})
	c := g.newCustomer(t, "one-folder")
	before := c.balanceOf(t, c.accountID)
	data := dataDir(t)
	first := c.replicaOn(t, data)
	first.killAtEnd(t)
	shown := nanos(t, string(decodeCompletion(t, first.call(t, "POST", "/v1/chat/completions", ask(mine, "echo: one"))).Usage.Cost))
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	copied := dataDir(t)
	if out, err := exec.Command("cp", "-a", data+"/.", copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var both []production
	for _, folder := range []string{data, copied} {
		p := c.replicaOn(t, folder)
		p.killAtEnd(t)
		p.stopAtEnd(t)
		both = append(both, p)
	}
	unready := -1
	for deadline := time.Now().Add(callTimeMax); unready < 0; time.Sleep(50 * time.Millisecond) {
		for i, p := range both {
			a := p.call(t, "POST", "/v1/chat/completions", ask(mine, "echo: which"), "X-Error-Status", "standard")
			switch a.status {
			case http.StatusOK:
				shown += nanos(t, string(decodeCompletion(t, a).Usage.Cost))
			case http.StatusServiceUnavailable:
			default:
				t.Fatalf("%d %s", a.status, a.body)
			}
			if r := p.ask(t, "/readyz"); r.status == http.StatusServiceUnavailable && strings.Contains(r.body, "could not begin a new run") {
				unready = i
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("both are ready\n%s\n%s", both[0].log, both[1].log)
		}
	}
	answered, refused := 0, 0
	for range 40 {
		a := both[1-unready].call(t, "POST", "/v1/chat/completions", ask(mine, "echo: the other"), "X-Error-Status", "standard")
		switch a.status {
		case http.StatusOK:
			answered++
			shown += nanos(t, string(decodeCompletion(t, a).Usage.Cost))
		case http.StatusServiceUnavailable:
			refused++
		default:
			t.Fatalf("%d %s", a.status, a.body)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if t.Logf("%d answered, %d refused", answered, refused); refused > 2 {
		t.Errorf("the replica that owns the journal refused %d of %d calls", refused, answered+refused)
	}
	// Records that both have written under one number before they knew of each other are charged once, to the customer's good.
	if after := c.balanceOf(t, c.accountID); before.Posted-after.Posted > shown || after.Held != 0 {
		t.Errorf("%d shown, %d gone, %d held", shown, before.Posted-after.Posted, after.Held)
	}
	c.books(t)
}
