package admission

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

const (
	callBytes       = 256 << 10 // a call's share of memory: buffers of both connections, a small body, a stream under way
	callDescriptors = 3         // the client's connection, the upstream's, and what they need beside
	callsMin        = 64
	callsMax        = 16 << 10
	// The collector's limit is so many thousandths of a container's memory; the rest is memory that it does not count.
	softMille = 900

	heapFloorBytes  = 32 << 20
	heapFloorShares = 16 // Under a limit, the floor is at most one of so many shares of it.
)

// The files in which the kernel has the memory limit of a container.
var containerFiles = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// LimitMemory returns how many bytes this process may hold, and sets the garbage collector's limit: the operator's
// value, else GOMEMLIMIT, else most of the container's limit. Zero means that there is no limit.
func LimitMemory(wanted int64) int64 {
	if wanted > 0 {
		debug.SetMemoryLimit(wanted)
		return wanted
	}
	if set := debug.SetMemoryLimit(-1); set != math.MaxInt64 {
		return set
	}
	if limit := container(containerFiles); limit > 0 {
		soft := share(limit, softMille)
		debug.SetMemoryLimit(soft)
		return soft
	}
	return 0
}

// HeapFloor returns memory that counts as live and is never written, so it takes no room. While the caller keeps it, a gateway with a
// small heap collects garbage after each 32 MiB and more of new memory, and not after each 8 MiB. The limit is that of LimitMemory.
func HeapFloor(limit int64) []byte {
	if limit > 0 {
		return make([]byte, min(heapFloorBytes, limit/heapFloorShares))
	}
	return make([]byte, heapFloorBytes)
}

// container is the limit in the first readable file; zero where there is none.
func container(files []string) int64 {
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 && n < math.MaxInt64/2 {
			return n
		}
	}
	return 0
}

// inFlightDefault is how many calls fit into the memory, where a limit is known, and into the file descriptors.
func inFlightDefault(memoryMax, descriptors int64) int64 {
	n := int64(callsMax)
	if memoryMax > 0 {
		n = min(n, memoryMax/callBytes)
	}
	if descriptors > 0 {
		n = min(n, descriptors/callDescriptors)
	}
	return max(callsMin, n)
}

// descriptors is how many files this process may have open; zero when the kernel has no limit.
func descriptors() int64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur > math.MaxInt32 {
		return 0
	}
	return int64(limit.Cur)
}
