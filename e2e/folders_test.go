package e2e

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
)

// TestFaultCommandsOnACopiedFolderLeaveTheOriginalAlone copies the folder of a running gateway and gives credit on the
// copy: the copy's files name the socket and the process of the original.
func TestFaultCommandsOnACopiedFolderLeaveTheOriginalAlone(t *testing.T) {
	t.Parallel()
	g := start(t)
	if _, err := g.db(t).Exec("checkpoint"); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dataDir(t), "data")
	if out, err := exec.Command("cp", "-a", filepath.Join(g.dir, "data"), copied).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := g.balance(t)
	out, status := run(t, nil, "credit", "grant", "--data", copied, g.Email, "7", "--reason", "on a copy")
	if status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	if after := g.balance(t); after.Posted != before.Posted {
		t.Fatalf("a grant on the copy moved the original's balance from %d to %d", before.Posted, after.Posted)
	}
	out, status = run(t, nil, "credit", "grant", "--data", filepath.Join(g.dir, "data"), g.Email, "7", "--reason", "on the original")
	if status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	if after := g.balance(t); after.Posted != before.Posted+7_000_000_000 {
		t.Fatalf("a grant on the original moved its balance from %d to %d", before.Posted, after.Posted)
	}
	decodeCompletion(t, g.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: still here")))
}

// restarted is the log message of each restart of the local database.
const restarted = "local database: restarted"

// killDatabase kills the server of the local database and returns when the gateway has started another one, which answers.
func (g *gateway) killDatabase(t *testing.T) {
	t.Helper()
	before := strings.Count(g.serverLog(t), restarted)
	note := filepath.Join(g.dir, "data", "postgres", "postmaster.pid")
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
		if strings.Count(g.serverLog(t), restarted) > before && g.call(t, "GET", "/v1/credits", "").status == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the local database was not started again\n%s", g.serverLog(t))
		}
	}
}

func (g *gateway) serverLog(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, "data", "gateway.log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFaultAddressFileCannotBeWritten makes the file impossible to write: the local database is started again all the
// same, as often as it ends, and the log says once that the file could not be written.
func TestFaultAddressFileCannotBeWritten(t *testing.T) {
	t.Parallel()
	g := start(t)
	path := filepath.Join(g.dir, "data", "database.url")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		g.killDatabase(t)
	}
	log := g.serverLog(t)
	if n := strings.Count(log, "address file not written"); n != 1 {
		t.Errorf("the log tells %d times that the address file cannot be written, want once\n%s", n, log)
	}
	if n := strings.Count(log, restarted); n != 3 {
		t.Errorf("the log tells of %d restarts, want 3", n)
	}
	if out, status := run(t, nil, "ledger", "verify", "--data", filepath.Join(g.dir, "data")); status != 0 {
		t.Errorf("an operator's command without the address file: %s", out)
	}
}

// TestFaultNewerSchemaIsRefused starts the binary on a database of a newer one: neither serving nor migrating touches it.
func TestFaultNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	g := start(t)
	if _, err := g.db(t).Exec("insert into goose_db_version (version_id, is_applied) values (9998, true)"); err != nil {
		t.Fatal(err)
	}
	env := []string{"DATABASE_URL=" + g.databaseURL(t)}
	for _, args := range [][]string{
		{"migrate"}, {"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--data", dataDir(t)},
	} {
		out, status := run(t, env, args...)
		if status == 0 || !strings.Contains(out, "newer gateway") || strings.Count(strings.TrimSpace(out), "\n") > 0 {
			t.Errorf("%s: status %d: %s", args[0], status, out)
		}
	}
}
