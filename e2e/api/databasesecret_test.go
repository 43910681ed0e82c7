package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// TestThePasswordOfTheDatabaseIsShownNowhere gives servers an address with a password, which work or fail in every way that an
// address can, and reads all that they say: errors, logs, what the operator's listener answers, and the command line.
func TestThePasswordOfTheDatabaseIsShownNowhere(t *testing.T) {
	t.Parallel()
	const canary = "CANARY-of-the-database"
	g := harness.StartDemo(t)
	good := g.DatabaseURL(t) + " password=" + canary
	with := func(name, value string) string {
		return regexp.MustCompile(name+`='?[^' ]*'?`).ReplaceAllString(good, "") + " " + name + "=" + value
	}
	p, err := harness.TryReplica(good, g, "--data", harness.DataDir(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/readyz", "/healthz", "/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2",
		"/debug/pprof/heap?debug=1", "/debug/pprof/allocs?debug=1"} {
		if a := p.CallOps(t, path); strings.Contains(a.Body, canary) {
			t.Errorf("%s shows the password", path)
		}
	}
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Command.Process.Pid), "cmdline"))
	if err != nil || strings.Contains(string(line), canary) {
		t.Errorf("the command line shows the password, or cannot be read: %v", err)
	}
	if err := p.Stop(); err != nil || strings.Contains(p.Log.String(), canary) {
		t.Errorf("a server that works logs the password, or ended with %v", err)
	}
	bin, err := harness.GatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dsn, want string }{
		{"a host that has no address", with("host", "nowhere.invalid"), "nowhere.invalid"},
		{"a port that refuses", "postgres://u:" + canary + "@127.0.0.1:1/d?sslmode=disable", "refused"},
		{"an address that cannot be read", "postgres://u:" + canary + "/x@127.0.0.1/d", "cannot be read"},
		{"an unknown user", with("user", "stranger"), "stranger"},
		{"an unknown database", with("dbname", "nothing"), "nothing"},
		{"an impossible setting", good + " sslmode=sometimes", "sslmode"},
	} {
		said, err := harness.TryReplica(c.dsn, g, "--data", harness.DataDir(t))
		if err == nil {
			t.Errorf("%s: the server started: %s", c.name, said.Log)
			_ = said.Stop()
			continue
		}
		check := exec.Command(bin, "migrate")
		check.Env = append(check.Environ(), "DATABASE_URL="+c.dsn)
		printed, failed := check.CombinedOutput()
		if text := err.Error() + string(printed); strings.Contains(text, canary) || !strings.Contains(text, c.want) || failed == nil {
			t.Errorf("%s: it says the password or not %q: %s", c.name, c.want, text)
		}
	}
	if _, err := g.DB(t).Exec("insert into goose_db_version (version_id, is_applied) values (9998, true)"); err != nil {
		t.Fatal(err)
	}
	if _, err := harness.TryReplica(good, g, "--data", harness.DataDir(t)); err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "9998") {
		t.Errorf("with a schema that is too new: %v", err)
	}
}
