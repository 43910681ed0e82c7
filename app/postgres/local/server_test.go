package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
)

// helperDir names the variable that turns this test binary into a gateway that only owns a cluster.
const helperDir = "UMG_TEST_CLUSTER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		l, err := Start(context.Background(), Options{Dir: dir})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(l.DSN())
		<-l.Exited()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// shortDir is a data folder whose socket path fits, and that the server's user may reach.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// openDir is a folder that every user may enter, for data folders inside it.
func openDir(t *testing.T) string {
	t.Helper()
	dir := shortDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	l, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, l) })
	return l
}

func stop(t *testing.T, l *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := l.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func open(t *testing.T, dsn string) *sqlx.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mustExec(t *testing.T, db *sqlx.DB, query string) {
	t.Helper()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

func rows(t *testing.T, db *sqlx.DB) (n int) {
	t.Helper()
	if err := db.Get(&n, "select count(*) from kept"); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestKeepsItsDataFromAColdToAWarmStart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "data") // The first start creates the folder.
	l := start(t, Options{Dir: dir, Durable: true})
	db := open(t, l.DSN())
	mustExec(t, db, "create table kept as select generate_series(1, 5)")
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := db.Get(&value, "select current_setting($1)", setting); err != nil || value != "on" {
			t.Errorf("%s = %s, %v: an acknowledged commit could be lost", setting, value, err)
		}
	}
	var addresses string
	if err := db.Get(&addresses, "show listen_addresses"); err != nil || addresses != "" {
		t.Errorf("the server listens on %q, %v", addresses, err)
	}
	stop(t, l) // A session is still open.
	if err, open := <-l.Exited(); open {
		t.Fatalf("a stop was reported as an accident: %v", err)
	}

	again := start(t, Options{Dir: dir, Durable: true})
	if n := rows(t, open(t, again.DSN())); n != 5 {
		t.Fatalf("%d rows after a restart, want 5", n)
	}
	for _, name := range []string{clusterName, runName, lockName, logName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestRefusesASecondGatewayInTheSameFolder(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	l := start(t, Options{Dir: dir})
	_, err := Start(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "is in use by another gateway") || strings.Contains(err.Error(), "\n") {
		t.Fatalf("second start: %v", err)
	}
	open(t, l.DSN()) // The first server still accepts connections.
}

func TestRefusesAnotherMajorVersionAndTouchesNothing(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	cluster := filepath.Join(dir, clusterName)
	if err := os.MkdirAll(filepath.Join(cluster, "base"), 0o750); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"PG_VERSION": "9\n", "base/1": "precious"} {
		if err := os.WriteFile(filepath.Join(cluster, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	before := listing(t, dir)
	_, err := Start(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "made by PostgreSQL 9, but only") || strings.Contains(err.Error(), "\n") {
		t.Fatalf("start on another major version: %v", err)
	}
	if after := listing(t, dir); after != before {
		t.Fatalf("the folder was changed:\n%s\n%s", before, after)
	}
}

// listing is every file below dir with its mode, size and time of change.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, p, info.Mode(), info.Size(), info.ModTime().UnixNano())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRefusesAFolderThatHoldsSomethingElse(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	if err := os.MkdirAll(filepath.Join(dir, clusterName), 0o755); err != nil {
		t.Fatal(err)
	}
	precious := filepath.Join(dir, clusterName, "photo.jpg")
	if err := os.WriteFile(precious, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Fatalf("start over foreign files: %v", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Fatal(err)
	}
}

func TestNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Dir: shortDir(t), Bin: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "UMG_PG_BIN") || !strings.Contains(err.Error(), "DATABASE_URL") {
		t.Fatalf("start without binaries: %v", err)
	}
}

func TestReportsAServerThatDies(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	l := start(t, Options{Dir: dir, Durable: true})
	mustExec(t, open(t, l.DSN()), "create table kept as select generate_series(1, 3)")
	if err := l.server.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-l.Exited(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("Exited said %v", err)
	}
	stop(t, l)
	if n := rows(t, open(t, start(t, Options{Dir: dir}).DSN())); n != 3 {
		t.Fatalf("%d rows after a crash, want 3", n)
	}
}

// runHelper starts another process that owns the cluster in dir.
func runHelper(t *testing.T, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(out)
}

func TestRecoversFromAKilledGateway(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	cmd, out := runHelper(t, dir)
	line, err := out.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "host=") {
		t.Fatalf("helper: %s, %v", line, err)
	}
	db := open(t, strings.TrimSpace(line))
	mustExec(t, db, "create table kept as select generate_series(1, 7)")
	h := home{dir: dir, cluster: filepath.Join(dir, clusterName)}
	old, _ := h.readNote()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	l := start(t, Options{Dir: dir})
	if now, _ := h.readNote(); now.pid == old.pid {
		t.Fatal("the old server was adopted, and no process would stop it")
	}
	if n := rows(t, open(t, l.DSN())); n != 7 {
		t.Fatalf("%d rows after the gateway was killed, want 7", n)
	}
}

func TestStopsAnOrphanThatServesOn(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	l := start(t, Options{Dir: dir})
	mustExec(t, open(t, l.DSN()), "create table kept as select generate_series(1, 2)")
	if err := syscall.Flock(int(l.held.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	// It is now as if the gateway were gone where the kernel does not tell the server.
	again := start(t, Options{Dir: dir})
	<-l.server.done
	if n := rows(t, open(t, again.DSN())); n != 2 {
		t.Fatalf("%d rows, want 2", n)
	}
}

func TestSeesThroughAReusedProcessNumber(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	l := start(t, Options{Dir: dir})
	h := home{dir: dir, cluster: filepath.Join(dir, clusterName)}
	note, err := os.ReadFile(filepath.Join(h.cluster, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	stop(t, l)

	stranger := strangerAs(t, h.cluster)
	_, rest, _ := strings.Cut(string(note), "\n")
	path := filepath.Join(h.cluster, "postmaster.pid")
	if err := os.WriteFile(path, []byte(strconv.Itoa(stranger.Process.Pid)+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(h.cluster)
	if err != nil {
		t.Fatal(err)
	}
	owner := ownerOf(info)
	if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
	open(t, start(t, Options{Dir: dir}).DSN())
	if err := stranger.Process.Signal(syscall.Signal(0)); err != nil {
		t.Fatalf("the stranger was hurt: %v", err)
	}
}

func TestRecoversFromAnInterruptedFirstStart(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	cmd, _ := runHelper(t, dir)
	for deadline := time.Now().Add(20 * time.Second); ; {
		found, _ := filepath.Glob(filepath.Join(dir, freshPrefix+"*", "PG_VERSION"))
		if len(found) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("initdb never began")
		}
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := os.Stat(filepath.Join(dir, clusterName)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a half-made cluster is in its place: %v", err)
	}
	l := start(t, Options{Dir: dir})
	mustExec(t, open(t, l.DSN()), "create table kept (id int)")
	stop(t, l)
	start(t, Options{Dir: dir})
	if left, _ := filepath.Glob(filepath.Join(dir, freshPrefix+"*")); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

func TestServesFromAPathTooLongForASocket(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), strings.Repeat("long", 30), "it's a folder")
	l := start(t, Options{Dir: dir})
	open(t, l.DSN())
	stop(t, l)
	if _, err := os.Stat(l.socket); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the socket's folder stays behind: %v", err)
	}
}

func TestSaysWhyRootCannotUseAClosedFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // Only root changes to another user.
	}
	closed := shortDir(t)
	_, err := Start(t.Context(), Options{Dir: filepath.Join(closed, "data")})
	if err == nil || !strings.Contains(err.Error(), "may not enter "+closed) {
		t.Fatalf("start below a closed folder: %v", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{Dir: shortDir(t)}); !errors.Is(err, context.Canceled) {
		t.Fatalf("start with an ended context: %v", err)
	}
}
