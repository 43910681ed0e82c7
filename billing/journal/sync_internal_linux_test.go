package journal

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// dirtyPages is how many pages of a file are not on the disk, by cachestat(2), which Linux has since 6.5; zero on an older system.
func dirtyPages(t *testing.T, f *os.File) uint64 {
	t.Helper()
	const cachestat = 451
	var whole [2]uint64 // A length of zero means to the end.
	var found [5]uint64 // Found is struct cachestat: pages in memory, dirty, written now, evicted, evicted a short time ago.
	_, _, errno := syscall.Syscall6(cachestat, f.Fd(), uintptr(unsafe.Pointer(&whole)), uintptr(unsafe.Pointer(&found)), 0, 0, 0)
	if errno != 0 && errno != syscall.ENOSYS {
		t.Fatal(errno)
	}
	return found[1] + found[2]
}

func testFile(t *testing.T, size int) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestABackgroundSyncLeavesTheFileAsFdatasyncDoes makes the background sync of this system, which a test machine must allow.
func TestABackgroundSyncLeavesTheFileAsFdatasyncDoes(t *testing.T) {
	t.Parallel()
	s := newBackgroundSync()
	defer s.close()
	background, plain := testFile(t, 1<<20), testFile(t, 1<<20)
	before := dirtyPages(t, background)
	if done, err := s.sync(background); !done || err != nil {
		t.Fatalf("made: %v, error: %v", done, err)
	}
	if err := dataSync(plain); err != nil {
		t.Fatal(err)
	}
	if got, want := dirtyPages(t, background), dirtyPages(t, plain); got != want {
		t.Errorf("of %d dirty pages %d are left, and %d after fdatasync", before, got, want)
	}
	if err := background.Close(); err != nil {
		t.Fatal(err)
	}
	if err := (segmentFile{background, s}).Sync(); err == nil {
		t.Error("a closed file was made durable")
	}
}

// TestSyncsOfManyFilesAtOnce has one background sync for all, so most of them are made by their own thread.
func TestSyncsOfManyFilesAtOnce(t *testing.T) {
	t.Parallel()
	s := newBackgroundSync()
	defer s.close()
	var all sync.WaitGroup
	for range 8 {
		f := segmentFile{testFile(t, 1), s}
		// goroutine: the test waits for it; it ends after its syncs.
		all.Go(func() {
			for i := range 50 {
				if _, err := f.WriteAt([]byte("x"), int64(i)); err != nil {
					t.Error(err)
				}
				if err := f.Sync(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s.close()
	s.close()
	if done, err := s.sync(testFile(t, 1)); done || err != nil {
		t.Errorf("after the end made: %v, error: %v", done, err)
	}
}
