package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// A gateway lets its timers end late. With enough memory it runs on a copy of its program, and with less on its file. Both may use huge
// pages for the heap.
func TestGatewayAsksTheKernel(t *testing.T) {
	setting, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	possible := err == nil && !bytes.Contains(setting, []byte("[never]"))
	for _, c := range []struct {
		name        string
		memory      string
		heap, moved bool
	}{
		{"enough memory", "1GiB", possible, possible},
		{"little memory", "1023MiB", possible, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOMEMLIMIT", c.memory)
			g := harness.StartDemo(t)
			// Only root may read it.
			if slack, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", g.PID)); err == nil && strings.TrimSpace(string(slack)) != "500000" {
				t.Errorf("the timer slack is %s ns, want 500000", slack)
			}
			if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", g.PID)); err != nil || strings.TrimSpace(string(name)) != "gateway" {
				t.Errorf("lists of processes name it %s, want gateway: %v", name, err)
			}
			code, heap := pagesOf(t, g.PID)
			const most = 4 << 10 // The ends of the code, each less than a page of 2 MiB.
			if moved := code <= most; moved != c.moved {
				t.Errorf("%d kB of code are mapped from a file; moved %t, want %t", code, moved, c.moved)
			}
			if marked := heap >= 64<<10; marked != c.heap {
				t.Errorf("%d kB of memory may use huge pages; at least 64 MiB: %t, want %t", heap, marked, c.heap)
			}
			const body = `{"model":"meridian/atlas-small","messages":[{"role":"user","content":"Hello!"}]}`
			if got := g.Call(t, http.MethodPost, "/v1/chat/completions", body); got.Status != http.StatusOK {
				t.Errorf("a call gets status %d: %s", got.Status, got.Body)
			}
		})
	}
}

// pagesOf says how many kB of code a process has from files, and how many kB of writable memory may use huge pages.
func pagesOf(t *testing.T, pid int) (code, heap int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size int
	var permissions, file string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case !strings.HasSuffix(fields[0], ":"):
			permissions, file = fields[1], strings.Join(fields[5:], " ")
		case fields[0] == "Size:":
			if _, err = fmt.Sscan(fields[1], &size); err != nil {
				t.Fatal(err)
			}
			if permissions == "r-xp" && strings.HasSuffix(file, "/gateway") {
				code += size
			}
		case fields[0] == "VmFlags:" && permissions == "rw-p" && strings.Contains(line, " hg"):
			heap += size
		}
	}
	return code, heap
}
