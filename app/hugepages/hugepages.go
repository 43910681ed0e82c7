// Package hugepages lets the kernel back the heap and the program of this process with pages of 2 MiB. A call touches code and data in
// many places, and on pages of 4 KiB a processor under load spends a fifth of its time on finding them.
package hugepages

const (
	// heapBytes bounds the memory that huge pages hold although the heap uses only a part of each.
	heapBytes = 64 << 20
	// programMemoryMin is the memory of a process that can spare some 64 MB for a copy of the program. The kernel can drop and share the
	// pages of the file that it replaces, but not the copy.
	programMemoryMin = 1 << 30
)

// Use takes effect for the memory that the heap uses from now on, and for the program where this process may hold memoryMax bytes and
// that is at least 1 GiB, or zero, which means no limit. The error says why there is less; the process works as well without huge pages.
func Use(memoryMax int64) error { return use(memoryMax == 0 || memoryMax >= programMemoryMin) }
