package admission

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// The kernel marks with "hg" what it may back with huge pages, and the heap uses that memory afterwards.
func TestHeapMayUseHugePages(t *testing.T) {
	before := hugeKilobytes(t)
	err := UseHugePages()
	if _, missing := os.Stat("/sys/kernel/mm/transparent_hugepage"); missing != nil {
		if !errors.Is(err, syscall.EINVAL) {
			t.Fatalf("a kernel without huge pages answers %v, want EINVAL", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if marked := hugeKilobytes(t) - before; marked < hugeHeapBytes>>10 {
		t.Errorf("%d kB may use huge pages, want at least %d", marked, hugeHeapBytes>>10)
	}
}

// hugeKilobytes is how much memory of this process may use huge pages.
func hugeKilobytes(t *testing.T) (sum int) {
	t.Helper()
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	size := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "Size: %d kB", &size)
		if flags, found := strings.CutPrefix(lines.Text(), "VmFlags:"); found && strings.Contains(flags+" ", " hg ") {
			sum += size
		}
	}
	return sum
}
