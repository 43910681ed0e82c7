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
			_ = syscall.Kill(pid, s) // A process that has already ended needs no signal.
		}
	}
	signal(syscall.SIGSTOP)
	thaw := func() { signal(syscall.SIGCONT) }
	t.Cleanup(thaw)
	h.allVerbsUnavailable(account, hold, nil)
	thaw()
	h.settle(hold, 7)
	var inTime app.Amount // The database may have committed the hold that the ledger gave up on.
	if err := h.db.GetContext(t.Context(), &inTime, `select coalesce(sum(amount_nanos), 0)::bigint from holds where state = 'open'`); err != nil {
		t.Fatal(err)
	}
	h.balance(account, app.Dollar-7, inTime)
	h.books()
}
