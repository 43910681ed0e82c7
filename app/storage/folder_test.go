package storage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// files lists what a folder holds, by path.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, p); err == nil && rel != "." {
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAFolderOpenedAgainHasItsBlobs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "on", "the", "way")
	first := openFolder(t, dir, time.Now)
	said := put(t, first, "videos/v1/video", "video/mp4", some(1, 5000))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := openFolder(t, dir, time.Now)
	holds(t, again, "videos/v1/video", some(1, 5000))
	if got := open(t, again, "videos/v1/video").Info(); got.ETag != said.ETag || got.Type != said.Type || !got.ModifiedAt.Equal(said.ModifiedAt) {
		t.Errorf("%+v is now %+v", said, got)
	}
}

func TestAFailedPutLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openFolder(t, dir, time.Now)
	if _, err := s.Put(t.Context(), "a/b/c", "video/mp4", -1, broken(100_000)); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if got := files(t, dir); len(got) != 1 || got[0] != unfinishedFolder {
		t.Errorf("left: %v", got)
	}
}

func TestWhatAKilledWriterLeftIsRemovedAtTheNextStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openFolder(t, dir, time.Now)
	left := filepath.Join(dir, unfinishedFolder, "LEFT")
	if err := os.WriteFile(left, some(1, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	openFolder(t, dir, func() time.Time { return time.Now().Add(unfinishedAgeMax / 2) })
	if _, err := os.Stat(left); err != nil {
		t.Errorf("a file that another replica may be writing is gone: %v", err)
	}
	openFolder(t, dir, func() time.Time { return time.Now().Add(unfinishedAgeMax + time.Minute) })
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old unfinished file is still there: %v", err)
	}
}

const putsForeverEnv = "UMG_TEST_PUTS_FOREVER_INTO"

// putForever is another process, in the middle of a Put until it is killed. It says when it is there.
func putForever(dir string) {
	s, err := NewFolder(dir, time.Now)
	if err != nil {
		panic(err)
	}
	n := 0
	_, err = s.Put(context.Background(), "k", "video/mp4", -1, readFunc(func(p []byte) (int, error) {
		if n++; n == 100 {
			fmt.Println("in the middle")
			_, _ = io.Copy(io.Discard, os.Stdin) // The process ends only with the test.
		}
		return len(p), nil
	}))
	panic(err)
}

func TestAKilledProcessLeavesTheOldBlobWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, openFolder(t, dir, time.Now), "k", "video/mp4", some(1, 1000))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), putsForeverEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "in the middle\n" {
		t.Errorf("the process said %q, %v", said, err)
	}
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the process ended with %v", err)
	}
	if got := files(t, dir); len(got) != 3 { // The folder of unfinished files, one such file, and the blob are left.
		t.Errorf("left: %v", got)
	}
	s := openFolder(t, dir, func() time.Time { return time.Now().Add(unfinishedAgeMax + time.Minute) })
	holds(t, s, "k", some(1, 1000))
	if got := files(t, dir); len(got) != 2 {
		t.Errorf("left after a new start: %v", got)
	}
}

func TestDeletingTheLastBlobRemovesItsDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openFolder(t, dir, time.Now)
	put(t, s, "videos/v1/video", "video/mp4", some(1, 10))
	put(t, s, "videos/v2/video", "video/mp4", some(1, 10))
	if err := s.Delete(t.Context(), "videos/v1/video"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(files(t, dir)); got != "[+unfinished videos videos/v2 videos/v2/video+blob]" {
		t.Errorf("left: %v", got)
	}
}

func TestNeighboursComeAndGoWithoutHurt(t *testing.T) {
	t.Parallel()
	s := openFolder(t, t.TempDir(), time.Now)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			key := fmt.Sprintf("one/place/k%d", i)
			for range 50 {
				if _, err := s.Put(t.Context(), key, "video/mp4", 3, strings.NewReader("abc")); err != nil {
					t.Errorf("put: %v", err)
				}
				if err := s.Delete(t.Context(), key); err != nil {
					t.Errorf("delete: %v", err)
				}
			}
		})
	}
	all.Wait()
}

func TestAKeyMayBeThePathOfOthers(t *testing.T) {
	t.Parallel()
	s := openFolder(t, t.TempDir(), time.Now)
	put(t, s, "a", "video/mp4", []byte("1"))
	put(t, s, "a/b", "video/mp4", []byte("2"))
	put(t, s, "a.blob", "video/mp4", []byte("3"))
	holds(t, s, "a", []byte("1"))
	holds(t, s, "a/b", []byte("2"))
	lacks(t, s, "a/b/c")
}

func TestADamagedFileIsNotServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openFolder(t, dir, time.Now)
	put(t, s, "k", "video/mp4", some(1, 5000))
	file := filepath.Join(dir, "k+blob")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	huge := bytes.Clone(whole)
	copy(huge[len(huge)-trailerEndBytes:], "\xff\xff\xff\xff")
	for name, b := range map[string][]byte{
		"cut in its bytes": whole[len(whole)-400:], "cut at its end": whole[:len(whole)-1], "grown": append(bytes.Clone(whole), 0),
		"empty": nil, "only a trailer's end": []byte("\x00\x00\x00\x00" + trailerMagic), "only the magic": []byte(trailerMagic), "huge trailer": huge,
	} {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Open(t.Context(), "k"); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	put(t, s, "k", "video/mp4", some(2, 10)) // Writing the blob again repairs it.
	holds(t, s, "k", some(2, 10))
}

func TestNoLinkLeadsOutOfTheFolder(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	s := openFolder(t, dir, time.Now)
	secret := filepath.Join(outside, "secret+blob")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "out")), os.Symlink(secret, filepath.Join(dir, "direct+blob"))); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"out/secret", "direct"} {
		if _, err := s.Open(t.Context(), key); err == nil || errors.Is(err, ErrDamaged) {
			t.Errorf("open %s: %v", key, err)
		}
	}
	if _, err := s.Put(t.Context(), "out/new", "video/mp4", 1, strings.NewReader("x")); err == nil {
		t.Error("a blob is written outside")
	}
	if err := s.Delete(t.Context(), "out/secret"); err == nil {
		t.Error("a file outside is deleted")
	}
	if got := files(t, outside); len(got) != 1 {
		t.Errorf("outside there is %v", got)
	}
}

func TestAFolderThatCannotBeWrittenIsFoundOutAtTheStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file, filepath.Join(file, "below")} {
		if s, err := NewFolder(dir, time.Now); err == nil {
			s.Close()
			t.Errorf("%q is opened", dir)
		}
	}
}
