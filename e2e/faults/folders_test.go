package faults

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"umg/e2e/harness"
)

// TestFaultCommandsOnACopiedFolderLeaveTheOriginalAlone copies the folder of a running gateway and gives credit on the
// copy: the copy's files name the socket and the process of the original.
func TestFaultCommandsOnACopiedFolderLeaveTheOriginalAlone(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	if _, err := g.DB(t).Exec("checkpoint"); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(harness.DataDir(t), "data")
	if out, err := exec.Command("cp", "-a", filepath.Join(g.Dir, "data"), copied).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := g.DemoBalance(t)
	out, status := harness.RunCommand(t, nil, "credit", "grant", "--data", copied, g.Email, "7", "--reason", "on a copy")
	if status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	if after := g.DemoBalance(t); after.Posted != before.Posted {
		t.Fatalf("a grant on the copy moved the original's balance from %d to %d", before.Posted, after.Posted)
	}
	out, status = harness.RunCommand(t, nil, "credit", "grant", "--data", filepath.Join(g.Dir, "data"), g.Email, "7", "--reason", "on the original")
	if status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	if after := g.DemoBalance(t); after.Posted != before.Posted+7_000_000_000 {
		t.Fatalf("a grant on the original moved its balance from %d to %d", before.Posted, after.Posted)
	}
	harness.DecodeCompletion(t, g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: still here")))
}

// restarted is the log message of each restart of the local database.
const restarted = "local database: restarted"

// killDatabase kills the server of the local database and returns when the gateway has started another one, which answers.
func killDatabase(t *testing.T, g *harness.Gateway) {
	t.Helper()
	before := strings.Count(serverLog(t, g), restarted)
	note := filepath.Join(g.Dir, "data", "postgres", "postmaster.pid")
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if strings.Count(serverLog(t, g), restarted) > before && g.Call(t, "GET", "/v1/credits", "").Status == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the local database was not started again\n%s", serverLog(t, g))
		}
	}
}

func serverLog(t *testing.T, g *harness.Gateway) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.Dir, "data", "gateway.log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFaultAddressFileCannotBeWritten makes the file impossible to write: the local database is started again all the
// same, as often as it ends, and the log says once that the file could not be written.
func TestFaultAddressFileCannotBeWritten(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	path := filepath.Join(g.Dir, "data", "database.url")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		killDatabase(t, g)
	}
	log := serverLog(t, g)
	if n := strings.Count(log, "address file not written"); n != 1 {
		t.Errorf("the log tells %d times that the address file cannot be written, want once\n%s", n, log)
	}
	if n := strings.Count(log, restarted); n != 3 {
		t.Errorf("the log tells of %d restarts, want 3", n)
	}
	if out, status := harness.RunCommand(t, nil, "ledger", "verify", "--data", filepath.Join(g.Dir, "data")); status != 0 {
		t.Errorf("an operator's command without the address file: %s", out)
	}
}

// TestFaultNewerSchemaIsRefused starts the binary on a database of a newer one: neither serving nor migrating touches it.
func TestFaultNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	if _, err := g.DB(t).Exec("insert into goose_db_version (version_id, is_applied) values (9998, true)"); err != nil {
		t.Fatal(err)
	}
	env := []string{"DATABASE_URL=" + g.DatabaseURL(t)}
	for _, args := range [][]string{
		{"migrate"}, {"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--data", harness.DataDir(t)},
	} {
		out, status := harness.RunCommand(t, env, args...)
		if status == 0 || !strings.Contains(out, "newer gateway") || strings.Count(strings.TrimSpace(out), "\n") > 0 {
			t.Errorf("%s: status %d: %s", args[0], status, out)
		}
	}
}
