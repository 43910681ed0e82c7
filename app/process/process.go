// Package process asks the kernel for what suits a process that serves many connections and mostly waits. On pages of 4 KiB a processor
// under load spends a fifth of its time on finding them, and at some hundred calls a second a sixth on waking threads for short waits.
package process

import "time"

const (
	// heapBytes is by how much the heap may grow on huge pages, which bounds what they hold beside what it uses of each.
	heapBytes = 64 << 20
	// programMemoryMin is the memory of a process that can spare some 65 MB for a copy of the program. The kernel can drop and share the
	// pages of the file that it replaces, but not the copy.
	programMemoryMin = 1 << 30

	// timerSlack is by how much the kernel may end waits late, to end several at once.
	timerSlack        = 500 * time.Microsecond
	timerSlackDefault = 50 * time.Microsecond
)

// UseHugePages lets the kernel back the heap with huge pages, and moves the program to such where memoryMax, the bytes that this process
// may hold, is at least 1 GiB. Zero means that there is no limit. The error says why there is less; the process works without them.
func UseHugePages(memoryMax int64) error {
	return useHugePages(memoryMax == 0 || memoryMax >= programMemoryMin)
}

// RelaxTimers lets waits end up to half a millisecond late. The threads that the Go scheduler has already made can only get this by a
// new start of the program in this process, so it must be called before anything has begun. A slack that someone else has set stays.
// The process works without it where the system refuses.
func RelaxTimers() { relaxTimers() }
