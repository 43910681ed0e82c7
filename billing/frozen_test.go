package billing_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"umg/app"
)

// TestAFrozenStoreIsUnavailable stops every process of the server: connections stay open and nothing answers.
func TestAFrozenStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	h, _ := ownServer(t, dir)
	account := h.account(app.Dollar)
	hold := h.hold(account, 10)
	var backends []int
	if err := h.db.SelectContext(t.Context(), &backends, `select pid from pg_stat_activity where pid is not null`); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	postmaster, err := strconv.Atoi(strings.SplitN(string(file), "\n", 2)[0])
	if err != nil {
		t.Fatal(err)
	}
	signal := func(s syscall.Signal) {
		for _, pid := range append([]int{postmaster}, backends...) {
			_ = syscall.Kill(pid, s) // a process that has ended is frozen enough
		}
	}
	signal(syscall.SIGSTOP)
	thaw := func() { signal(syscall.SIGCONT) }
	t.Cleanup(thaw)
	h.allVerbsUnavailable(account, hold)
	thaw()
	h.settle(hold, 7)
	h.run()() // takes back what the frozen store may have reserved meanwhile
	h.balance(account, app.Dollar-7, 0)
	h.books()
}
