package admission

import (
	"strings"
	"syscall"
	"unsafe"
)

// hugeHeapBytes bounds the memory that huge pages hold although only a part of each is used.
const hugeHeapBytes = 64 << 20

// UseHugePages lets the kernel back the first 64 MiB of the heap with pages of 2 MiB, which a process that serves many
// connections looks up much less often than small ones. It is called first in main, because the allocator fills the lowest
// free addresses first. It reserves addresses and takes no memory. An error means that the kernel has no huge pages.
func UseHugePages() error {
	var heap strings.Builder // A slice may be cleared, which takes the memory.
	heap.Grow(hugeHeapBytes)
	heap.WriteByte(0)
	//nolint:gosec // The string has room for them.
	return syscall.Madvise(unsafe.Slice(unsafe.StringData(heap.String()), hugeHeapBytes), syscall.MADV_HUGEPAGE)
}
