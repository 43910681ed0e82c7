package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"umg/billing/journal"
)

func folder(t testing.TB, path string) *journal.Directory {
	t.Helper()
	d, err := journal.Folder(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestAFolderKeepsAJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "replicas", "r1")
	for run := range 4 {
		d := folder(t, path)
		l, err := journal.Open(d, options())
		if err != nil {
			t.Fatal(err)
		}
		verify(t, l, journal.LSN(run*50))
		write(t, l, 50, 3)
		tidy(t, l)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) < 8 {
		t.Fatalf("%v %v", entries, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s has the mode %v", e.Name(), info.Mode())
		}
	}
}

func TestAFolderHasOneUser(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := folder(t, path)
	if _, err := journal.Folder(path); err == nil || !strings.Contains(err.Error(), "another process uses the folder "+path) {
		t.Fatalf("%v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	folder(t, path)
}

func TestASegmentHasItsRoomOnTheDisk(t *testing.T) {
	t.Parallel()
	d := folder(t, t.TempDir())
	f, err := d.Create("a", 3<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if size, err := f.Size(); err != nil || size != 3<<20 {
		t.Fatalf("%d %v", size, err)
	}
	if _, err := d.Create("a", 1); err == nil {
		t.Fatal("a file is made twice")
	}
	free, err := d.Free()
	if err != nil || free <= 0 {
		t.Fatalf("%d %v", free, err)
	}
	// No file may be that large, so the refused allocation takes no space that other tests need.
	if _, err := d.Create("b", 1<<60); err == nil {
		t.Fatal("a file is larger than the disk")
	}
	if names, err := d.List(); err != nil || len(names) != 1 {
		t.Fatalf("a file that could not be made is left: %v %v", names, err)
	}
	if err := d.Remove("a"); err != nil {
		t.Fatal(err)
	}
}
