//go:build linux && !race

package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"
)

// A mapping of a file keeps its contents while what fits into huge pages becomes memory.
func TestMappingMovesToHugePages(t *testing.T) {
	const size = 3*pageBytes + 4096
	want := make([]byte, size)
	for i := range want {
		want[i] = byte(i >> 12)
	}
	name := filepath.Join(t.TempDir(), "a name with spaces")
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(mapped) })
	start := uintptr(unsafe.Pointer(unsafe.SliceData(mapped)))
	before := mappingsOf(t, name)
	if len(before) != 1 || before[0].start != start || before[0].end != start+size || before[0].permissions != "r--p" {
		t.Fatalf("the file is mapped as %+v", before)
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	if err := before[0].move(memory, syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(mapped, want) {
		t.Error("the contents changed")
	}
	left := uintptr(0)
	for _, m := range mappingsOf(t, name) {
		left += m.end - m.start
	}
	if left != size-2*pageBytes && left != size-3*pageBytes { // It depends on the address.
		t.Errorf("%d bytes of %d are still mapped from the file", left, size)
	}
}

func mappingsOf(t *testing.T, name string) (found []mapping) {
	t.Helper()
	all, err := mappings()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.file == name {
			found = append(found, m)
		}
	}
	return found
}
