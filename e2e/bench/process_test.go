//go:build bench

package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit in which the kernel reports processor time in /proc.
const clockTick = 10 * time.Millisecond

// cpuTime is the processor time that the processes have used so far, with the threads of each that have ended.
func cpuTime(t *testing.T, pids ...int) (sum time.Duration) {
	t.Helper()
	for _, pid := range pids {
		var at unix.Timespec
		// The number is that of clock_getcpuclockid for the clock of a whole process in nanoseconds.
		if err := unix.ClockGettime(int32(^pid<<3|2), &at); err != nil {
			t.Fatalf("the processor time of process %d: %v", pid, err)
		}
		sum += time.Duration(at.Nano())
	}
	return sum
}

// process is what /proc says of a process. Times of ended children are known only to their parent.
type process struct {
	parent int
	used   time.Duration
	ended  time.Duration
}

// processes are all processes of the machine.
func processes(t *testing.T) map[int]process {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]process{}
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			// The process has ended.
			continue
		}
		// The name in parentheses may hold spaces. The parent is the second field behind it, and the times are the 12th to the 15th.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		parent, _ := strconv.Atoi(fields[1])
		var ticks [4]int64
		for i := range ticks {
			ticks[i], _ = strconv.ParseInt(fields[11+i], 10, 64)
		}
		all[pid] = process{parent, time.Duration(ticks[0]+ticks[1]) * clockTick, time.Duration(ticks[2]+ticks[3]) * clockTick}
	}
	return all
}

// treeTime is the processor time that a process and its descendants have used so far; zero for no process.
func treeTime(t *testing.T, root int) (sum time.Duration) {
	t.Helper()
	if root == 0 {
		return 0
	}
	all := processes(t)
	for pid, p := range all {
		for up := pid; up > 1; up = all[up].parent {
			if up == root {
				sum += p.used + p.ended
				break
			}
		}
	}
	return sum
}

// children are the processes that a process has started.
func children(t *testing.T, root int) (pids []int) {
	t.Helper()
	for pid, p := range processes(t) {
		if p.parent == root {
			pids = append(pids, pid)
		}
	}
	return pids
}

// machineTime is the processor time that the whole machine has used so far.
func machineTime(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var ticks int64
	for i, field := range strings.Fields(line)[1:8] {
		// The fourth and the fifth field are idle time.
		if i != 3 && i != 4 {
			n, _ := strconv.ParseInt(field, 10, 64)
			ticks += n
		}
	}
	return time.Duration(ticks) * clockTick
}

// foreignLoad measures what processes use that the benchmark did not start.
type foreignLoad struct {
	began         time.Time
	machine, ours time.Duration
}

func startForeignLoad(t *testing.T) foreignLoad {
	t.Helper()
	return foreignLoad{time.Now(), machineTime(t), treeTime(t, os.Getpid())}
}

// percent is the load since the start, in percent of one CPU.
func (f foreignLoad) percent(t *testing.T) float64 {
	t.Helper()
	used := machineTime(t) - f.machine - (treeTime(t, os.Getpid()) - f.ours)
	return max(0, 100*used.Seconds()/time.Since(f.began).Seconds())
}

func loadAverage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// residentKB is the resident memory of the processes.
func residentKB(t *testing.T, pids ...int) (sum int64) {
	t.Helper()
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, found := strings.Cut(string(text), "VmRSS:")
		if !found {
			t.Fatalf("/proc/%d/status has no VmRSS", pid)
		}
		kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		sum += kb
	}
	return sum
}
