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

// The kernel marks with "hg" what it may back with huge pages, and it has given little of it yet.
func TestHeapMayUseHugePages(t *testing.T) {
	_, residentBefore := hugeKilobytes(t)
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
	marked, resident := hugeKilobytes(t)
	if marked < hugeHeapBytes>>10 {
		t.Errorf("%d kB may use huge pages, want at least %d", marked, hugeHeapBytes>>10)
	}
	if resident -= residentBefore; resident > residentMaxKilobytes {
		t.Errorf("%d kB are resident, want at most %d", resident, residentMaxKilobytes)
	}
}

// residentMaxKilobytes is the first page, and what the collector and the test use meanwhile.
const residentMaxKilobytes = 8 << 10

// hugeKilobytes is how much memory of this process may use huge pages, and how much of that the kernel has given.
func hugeKilobytes(t *testing.T) (sum, resident int) {
	t.Helper()
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	size, held := 0, 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "Size: %d kB", &size)
		_, _ = fmt.Sscanf(lines.Text(), "Rss: %d kB", &held)
		if flags, found := strings.CutPrefix(lines.Text(), "VmFlags:"); found && strings.Contains(flags+" ", " hg ") {
			sum, resident = sum+size, resident+held
		}
	}
	return sum, resident
}
