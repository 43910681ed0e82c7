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
	// The same of a machine that limits nothing, since other programs run on it too.
	machineMille = 700
)

// The files in which the kernel has the memory limit of a container.
var containerFiles = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// LimitMemory returns how many bytes this process may hold, and sets the garbage collector's limit: the operator's
// value, else GOMEMLIMIT, else most of the container's limit, else most of the machine's memory. Zero means that there is no limit.
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
	if all := machineFile("/proc/meminfo").total(); all > 0 {
		soft := share(all, machineMille)
		debug.SetMemoryLimit(soft)
		return soft
	}
	return 0
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

// machineFile is where the kernel tells the memory of the machine.
type machineFile string

// total is the memory of the machine; zero where the kernel does not say.
func (f machineFile) total() int64 {
	text, err := os.ReadFile(string(f))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "MemTotal:")
	size, _, _ := strings.Cut(rest, "kB")
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(size), 10, 64)
	if err != nil || kilobytes < 0 || kilobytes > math.MaxInt64>>11 {
		return 0
	}
	return kilobytes << 10
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
