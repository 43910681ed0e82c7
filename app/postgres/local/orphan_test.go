package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// copyFolder copies a data folder as an operator would, with the socket's lock and the server's process number in it.
func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// lostPower kills a server and all its sessions at once, as a power loss does: both of its lock files stay behind.
func lostPower(t *testing.T, l *Server) {
	t.Helper()
	if err := syscall.Kill(-l.server.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-l.server.done
	l.stop.Do(func() {
		close(l.stopping)
		_ = l.log.Close()
		_ = l.held.Close()
	})
}

// strangerAs starts a process of the user that owns path.
func strangerAs(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command("sleep", "600")
	if owner := ownerOf(info); os.Geteuid() == 0 {
		stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &owner}
	}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait()
	})
	return stranger
}

// rewrite replaces the content of a file and leaves its owner.
func rewrite(t *testing.T, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(change(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestStartsAfterPowerLoss gives the process number of the dead server to another process, in both of the files in
// which PostgreSQL notes it, and cuts the files as a crash of the file system may.
func TestStartsAfterPowerLoss(t *testing.T) {
	t.Parallel()
	numbered := func(pid int) func(string) string {
		return func(text string) string {
			_, rest, _ := strings.Cut(text, "\n")
			return strconv.Itoa(pid) + "\n" + rest
		}
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	thread, err := strconv.Atoi(threads[len(threads)-1].Name())
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]func(cluster string) func(string) string{
		"number of another process":          func(cluster string) func(string) string { return numbered(strangerAs(t, cluster).Process.Pid) },
		"number of a thread of this process": func(string) func(string) string { return numbered(thread) },
		"number of no process":               func(string) func(string) string { return func(text string) string { return text } },
		"empty":                              func(string) func(string) string { return func(string) string { return "" } },
		"zeros": func(string) func(string) string {
			return func(text string) string { return strings.Repeat("\x00", len(text)) }
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			dir := shortDir(t)
			l := start(t, Options{Dir: dir, Durable: true})
			mustExec(t, open(t, l.DSN()), "create table kept as select generate_series(1, 4)")
			lostPower(t, l)
			cluster := filepath.Join(dir, clusterName)
			for _, path := range []string{filepath.Join(cluster, "postmaster.pid"), filepath.Join(dir, runName, socketName+".lock")} {
				rewrite(t, path, change(cluster))
			}
			if n := rows(t, open(t, start(t, Options{Dir: dir, Durable: true}).DSN())); n != 4 {
				t.Fatalf("%d rows after a power loss, want 4", n)
			}
		})
	}
}

// TestOnACopiedFolderLeavesTheOriginalAlone copies the folder of a running server: the copy notes the process number
// and the socket of the original.
func TestOnACopiedFolderLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	original, copied := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	a := start(t, Options{Dir: original, Durable: true})
	db := open(t, a.DSN())
	mustExec(t, db, "create table kept as select generate_series(1, 4)")
	mustExec(t, db, "checkpoint")
	copyFolder(t, original, copied)

	if dsn, err := RunningDSN(t.Context(), original, a.DSN()); err != nil || dsn != a.DSN() {
		t.Fatalf("the server of the original: %q, %v", dsn, err)
	}
	if dsn, err := RunningDSN(t.Context(), copied, a.DSN()); err != nil || dsn != "" {
		t.Fatalf("the original's server was taken for the copy's: %q, %v", dsn, err)
	}
	b := start(t, Options{Dir: copied, Durable: true})
	select {
	case err := <-a.Exited():
		t.Fatalf("the start on the copy ended the original's server: %v", err)
	default:
	}
	mustExec(t, open(t, b.DSN()), "insert into kept values (5)")
	if n := rows(t, db); n != 4 {
		t.Fatalf("%d rows in the original, want 4", n)
	}
	if dsn, err := RunningDSN(t.Context(), copied, a.DSN()); err != nil || dsn != b.DSN() {
		t.Fatalf("the server of the copy: %q, %v", dsn, err)
	}
	stop(t, b)
	if dsn, err := RunningDSN(t.Context(), copied, a.DSN()); err != nil || dsn != "" {
		t.Fatalf("a server that ended was found: %q, %v", dsn, err)
	}
}

// TestSaysWhyTheServerDoesNotStart wants the line that names the cause, which PostgreSQL seldom writes last.
func TestSaysWhyTheServerDoesNotStart(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spoil func(t *testing.T, cluster string)
		says  string
	}{
		"setting": {func(t *testing.T, cluster string) {
			rewrite(t, filepath.Join(cluster, "postgresql.conf"), func(text string) string {
				return text + "\nshared_preload_libraries = 'no_such_library'\n"
			})
		}, "no_such_library"},
		"log of changes": {func(t *testing.T, cluster string) {
			segments, err := filepath.Glob(filepath.Join(cluster, "pg_wal", strings.Repeat("?", 24)))
			if err != nil || len(segments) == 0 {
				t.Fatalf("no log: %v", err)
			}
			for _, segment := range segments {
				rewrite(t, segment, func(text string) string { return strings.Repeat("\x00", len(text)) })
			}
		}, "could not locate a valid checkpoint record"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := shortDir(t)
			stop(t, start(t, Options{Dir: dir}))
			c.spoil(t, filepath.Join(dir, clusterName))
			_, err := Start(t.Context(), Options{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("the error does not say %q: %v", c.says, err)
			}
			if lines := strings.Count(fmt.Sprint(err), "\n"); lines > 0 {
				t.Errorf("the error has %d lines: %v", lines+1, err)
			}
		})
	}
}
