package faults

import (
	"context"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"umg/e2e/harness"
)

// killAtEnd leaves no process behind, whatever a test ends with.
func killAtEnd(t *testing.T, g *harness.Gateway) {
	// The kill fails when the process has ended, which is no error.
	t.Cleanup(func() { _ = g.Command.Process.Kill() })
}

// takenWithin is how soon after a start a replica must take calls.
const takenWithin = 2 * time.Second

// TestFaultRestartsLeaveNothingUnapplied stops a replica in order and without warning. What the books have already must not
// count as unapplied in the next run, or calls are refused when it is old or large enough.
func TestFaultRestartsLeaveNothingUnapplied(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	c := g.NewCustomer(t, "restarts")
	data := harness.DataDir(t)
	before := c.SettledBalance(t, c.AccountID)
	var shown int64
	for _, end := range []string{"clean", "killed", "clean", "at the end"} {
		p := replicaOn(t, c.Gateway, data)
		killAtEnd(t, p.Gateway)
		began := time.Now()
		if a := p.CallOps(t, "/metrics"); !strings.Contains(a.Body, "\numg_journal_unapplied_bytes 0\n") ||
			!strings.Contains(a.Body, "\numg_journal_unapplied_age_seconds 0\n") {
			t.Errorf("before the run that ends %s something is unapplied: %s", end, linesAbout(a.Body, "umg_journal_"))
		}
		shown += harness.Nanos(t, string(harness.DecodeCompletion(t, p.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: again"))).Usage.Cost))
		if took := time.Since(began); took > takenWithin {
			t.Errorf("the first call was answered after %v", took)
		}
		for range 2 {
			shown += harness.Nanos(t, string(harness.DecodeCompletion(t, p.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: again"))).Usage.Cost))
		}
		if end == "killed" {
			p.Kill(t)
			continue
		}
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if after := c.SettledBalance(t, c.AccountID); before.Posted-after.Posted != shown {
		t.Errorf("%d shown, %d gone", shown, before.Posted-after.Posted)
	}
	c.CheckLedger(t)
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
	g := harness.SharedDemo(t)
	slow := harness.UniqueName("test/dead-journal")
	g.AddModels(t, harness.Model{ID: slow, UpstreamModel: "sim+pace=20ms", Provider: "meridian"})
	c := g.NewCustomer(t, "dead-journal")
	data := harness.DataDir(t)
	before := c.SettledBalance(t, c.AccountID)
	p := replicaOn(t, c.Gateway, data, "--lame-duck", "2s")
	killAtEnd(t, p.Gateway)
	shown := harness.Nanos(t, string(harness.DecodeCompletion(t, p.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: well"))).Usage.Cost))
	streams := p.OpenStreams(t, 3, harness.ChatRequest(slow, "count to 150", `"stream":true`, `"stream_options":{"include_usage":true}`))
	for i := range streams {
		readUntil(t, &streams[i], `" 20"`)
	}
	fileSizeMax(t, p.Command.Process.Pid, 1)
	var unready harness.Response
	for deadline := time.Now().Add(harness.ShortWaitMax); unready.Status != http.StatusServiceUnavailable; time.Sleep(10 * time.Millisecond) {
		if unready = p.CallOps(t, "/readyz"); time.Now().After(deadline) {
			t.Fatalf("/readyz does not fail: %s\n%s", unready.Body, p.Log)
		}
	}
	if !strings.Contains(unready.Body, "it is dead") && !strings.Contains(unready.Body, "draining") {
		t.Errorf("/readyz says %s", unready.Body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.CallTimeMax)
	defer cancel()
	if a, err := p.TryCall(ctx, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: too late"), "X-Error-Status", "standard"); err == nil &&
		(a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "") {
		t.Errorf("a call to a replica whose journal is dead: %d %s", a.Status, a.Body)
	}
	for i := range streams {
		if err := readToEnd(&streams[i]); err != nil || !strings.Contains(streams[i].Read, "[DONE]") {
			t.Fatalf("a stream that ran when the journal died was cut: %v", err)
		}
		shown += harness.StreamCost(t, streams[i].Read)
	}
	select {
	case err := <-p.Exited:
		if err == nil {
			t.Error("the process ends as if nothing had happened")
		}
	case <-time.After(harness.StopTimeMax):
		t.Fatalf("the process does not end\n%s", p.Log)
	}
	if said := p.Log.String(); !strings.Contains(said, "journal failed, shutting down") || !strings.Contains(said, "file too large") {
		t.Errorf("the log does not name the cause:\n%s", said)
	}

	again := replicaOn(t, c.Gateway, data)
	killAtEnd(t, again.Gateway)
	again.StopAtEnd(t)
	shown += harness.Nanos(t, string(harness.DecodeCompletion(t, again.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: as before"))).Usage.Cost))
	if after := c.SettledBalance(t, c.AccountID); before.Posted-after.Posted != shown {
		t.Errorf("%d shown, %d gone", shown, before.Posted-after.Posted)
	}
	c.CheckLedger(t)
}

// TestFaultTwoReplicasWithOneFolder runs two processes on copies of one folder, so with one replica id. Whose journal lacks what
// the other has applied refuses every call, says so at /readyz, and leaves the other to its work.
func TestFaultTwoReplicasWithOneFolder(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	// The model has no rate limits.
	mine := harness.UniqueName("test/one-folder")
	g.AddModels(t, harness.Model{ID: mine, UpstreamModel: "sim", Provider: "meridian"})
	c := g.NewCustomer(t, "one-folder")
	before := c.SettledBalance(t, c.AccountID)
	data := harness.DataDir(t)
	first := replicaOn(t, c.Gateway, data)
	killAtEnd(t, first.Gateway)
	shown := harness.Nanos(t, string(harness.DecodeCompletion(t, first.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(mine, "echo: one"))).Usage.Cost))
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	copied := harness.DataDir(t)
	if out, err := exec.Command("cp", "-a", data+"/.", copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var both []harness.Replica
	for _, folder := range []string{data, copied} {
		p := replicaOn(t, c.Gateway, folder)
		killAtEnd(t, p.Gateway)
		p.StopAtEnd(t)
		both = append(both, p)
	}
	unready := -1
	for deadline := time.Now().Add(harness.CallTimeMax); unready < 0; time.Sleep(50 * time.Millisecond) {
		for i, p := range both {
			a := p.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(mine, "echo: which"), "X-Error-Status", "standard")
			switch a.Status {
			case http.StatusOK:
				shown += harness.Nanos(t, string(harness.DecodeCompletion(t, a).Usage.Cost))
			case http.StatusServiceUnavailable:
			default:
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			if r := p.CallOps(t, "/readyz"); r.Status == http.StatusServiceUnavailable && strings.Contains(r.Body, "could not begin a new run") {
				unready = i
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("both are ready\n%s\n%s", both[0].Log, both[1].Log)
		}
	}
	answered, refused := 0, 0
	for range 40 {
		a := both[1-unready].Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(mine, "echo: the other"), "X-Error-Status", "standard")
		switch a.Status {
		case http.StatusOK:
			answered++
			shown += harness.Nanos(t, string(harness.DecodeCompletion(t, a).Usage.Cost))
		case http.StatusServiceUnavailable:
			refused++
		default:
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if t.Logf("%d answered, %d refused", answered, refused); refused > 2 {
		t.Errorf("the replica that owns the journal refused %d of %d calls", refused, answered+refused)
	}
	// Records that both have written under one number before they knew of each other are charged once, to the customer's good.
	if after := c.SettledBalance(t, c.AccountID); before.Posted-after.Posted > shown || after.Held != 0 {
		t.Errorf("%d shown, %d gone, %d held", shown, before.Posted-after.Posted, after.Held)
	}
	c.CheckLedger(t)
}
