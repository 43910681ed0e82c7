//go:build !race

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

const (
	settingFile = "/sys/kernel/mm/transparent_hugepage/enabled"
	sizeFile    = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
	pageBytes   = 2 << 20
	// mremapMove lets mremap(2) choose the place of a mapping, and mremapFixed names the place, whose mapping it replaces.
	mremapMove  = 1
	mremapFixed = 2
)

func useHugePages(program bool) error {
	setting, err := os.ReadFile(settingFile)
	if err != nil {
		return err
	}
	if bytes.Contains(setting, []byte("[never]")) {
		return fmt.Errorf("%s says never: %w", settingFile, errors.ErrUnsupported)
	}
	heap := reserveHeap()
	maps, err := mappings()
	if err != nil {
		return err
	}
	for _, m := range maps {
		if m.start <= heap && heap < m.end {
			err = m.allowHugePages()
		}
	}
	if program {
		err = errors.Join(err, moveProgram(maps))
	}
	return err
}

// reserveHeap adds free addresses to the heap, which fills its lowest ones first, and returns one of them. It takes no memory: a string
// builder does not clear its bytes.
func reserveHeap() uintptr {
	var b strings.Builder
	b.Grow(heapBytes)
	b.WriteByte(0)
	//nolint:gosec // Only the number is used.
	return uintptr(unsafe.Pointer(unsafe.StringData(b.String())))
}

// mapping is a range of addresses of this process with the same protection and, for a part of a file, that file.
type mapping struct {
	start, end  uintptr
	permissions string
	file        string
}

// mappings reads /proc/self/maps, whose format is in proc_pid_maps(5).
func mappings() (all []mapping, err error) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var m mapping
		if _, err := fmt.Sscanf(line, "%x-%x %s", &m.start, &m.end, &m.permissions); err != nil {
			return nil, fmt.Errorf("read memory map: %w", err)
		}
		if at := strings.IndexByte(line, '/'); at >= 0 {
			m.file = strings.TrimSuffix(line[at:], "\n")
		}
		all = append(all, m)
	}
	return all, nil
}

func (m mapping) allowHugePages() error {
	if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_HUGEPAGE); errno != 0 {
		return os.NewSyscallError("madvise", errno)
	}
	return nil
}

// moveProgram moves the code and the constants of this program to huge pages, unless these have another size than pageBytes.
func moveProgram(maps []mapping) error {
	if size, err := os.ReadFile(sizeFile); err != nil || strings.TrimSpace(string(size)) != strconv.Itoa(pageBytes) {
		return err
	}
	name, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return err
	}
	defer func() { _ = memory.Close() }()
	protections := map[string]int{"r-xp": syscall.PROT_READ | syscall.PROT_EXEC, "r--p": syscall.PROT_READ}
	for _, m := range maps {
		if protection, found := protections[m.permissions]; found && m.file == name {
			if err := m.move(memory, protection); err != nil {
				return err
			}
		}
	}
	return nil
}

// move puts a copy on huge pages in the place of the mapping, except for its ends, which are less than a huge page. The kernel replaces
// the one by the other while no thread of the process can look. The copy is never writable and executable at once.
func (m mapping) move(memory *os.File, protection int) error {
	start, end := (m.start+pageBytes-1)&^(pageBytes-1), m.end&^(pageBytes-1)
	if start >= end {
		return nil
	}
	size := end - start
	room, err := syscall.Mmap(-1, 0, int(size)+pageBytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	//nolint:gosec // The room stays mapped.
	base := uintptr(unsafe.Pointer(unsafe.SliceData(room)))
	first := -base & (pageBytes - 1)
	pages := room[first : first+size]
	if err = fill(pages, memory, int64(start), protection); err != nil {
		return errors.Join(err, syscall.Munmap(room))
	}
	if _, _, errno := syscall.Syscall6(syscall.SYS_MREMAP, base+first, size, size, mremapMove|mremapFixed, start, 0); errno != 0 {
		return os.NewSyscallError("mremap", errno)
	}
	return nil
}

// fill copies memory to pages of huge size and protects them.
func fill(pages []byte, memory *os.File, start int64, protection int) error {
	if err := syscall.Madvise(pages, syscall.MADV_HUGEPAGE); err != nil {
		return os.NewSyscallError("madvise", err)
	}
	if _, err := memory.ReadAt(pages, start); err != nil {
		return err
	}
	return os.NewSyscallError("mprotect", syscall.Mprotect(pages, protection))
}
