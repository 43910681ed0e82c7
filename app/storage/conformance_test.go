package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// stores are the two kinds; what a Store promises is tested on both.
var stores = []struct {
	name string
	open func(t *testing.T) Store
}{
	{"folder", func(t *testing.T) Store { return openFolder(t, t.TempDir(), time.Now) }},
	{"bucket", func(t *testing.T) Store { return openBucket(t, newBucket(t)) }},
}

func openFolder(t *testing.T, dir string, now func() time.Time) Store {
	t.Helper()
	s, err := NewFolder(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func openBucket(t *testing.T, o BucketOptions) Store {
	t.Helper()
	s, err := NewBucket(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// each runs a test on a fresh store of each kind.
func each(t *testing.T, test func(t *testing.T, s Store)) {
	t.Helper()
	for _, kind := range stores {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			test(t, kind.open(t))
		})
	}
}

// stream hides everything but Read: a body as it comes from a network.
type stream struct{ io.Reader }

// broken gives n bytes and then fails.
func broken(n int64) io.Reader {
	return stream{io.MultiReader(io.LimitReader(noise(9), n), &failing{})}
}

var errBroken = errors.New("the line went dead")

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errBroken }

// noise is an endless stream that is the same for the same seed.
func noise(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

func some(seed byte, n int64) []byte {
	b, err := io.ReadAll(io.LimitReader(noise(seed), n))
	if err != nil {
		panic(err)
	}
	return b
}

func put(t *testing.T, s Store, key, mediaType string, b []byte) Info {
	t.Helper()
	info, err := s.Put(t.Context(), key, mediaType, int64(len(b)), stream{bytes.NewReader(b)})
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return info
}

func open(t *testing.T, s Store, key string) Blob {
	t.Helper()
	b, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("open %s: %v", key, err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func holds(t *testing.T, s Store, key string, want []byte) {
	t.Helper()
	got, err := io.ReadAll(open(t, s, key))
	if err != nil {
		t.Fatalf("read %s: %v", key, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s holds %d bytes that are not the %d put", key, len(got), len(want))
	}
}

func lacks(t *testing.T, s Store, key string) {
	t.Helper()
	if b, err := s.Open(t.Context(), key); !errors.Is(err, ErrNotFound) {
		t.Fatalf("open %s: %v, %v; want ErrNotFound", key, b, err)
	}
}

func TestABlobIsReadAsItWasPut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		for _, size := range []int64{0, 1, 4096, spoolMemoryBytesMax, spoolMemoryBytesMax + 1, partBytes + 5} {
			for _, said := range []int64{size, -1} {
				for _, seekable := range []bool{false, true} {
					key, want := fmt.Sprintf("videos/v_%d/film-%v.mp4", size, seekable), some(1, size)
					var body io.Reader = bytes.NewReader(want)
					if !seekable {
						body = stream{body}
					}
					put, err := s.Put(t.Context(), key, "video/mp4", said, body)
					if err != nil {
						t.Fatalf("put of %d bytes said to be %d: %v", size, said, err)
					}
					holds(t, s, key, want)
					got := open(t, s, key).Info()
					if got.Size != size || got.Type != "video/mp4" || got.ETag != put.ETag || put.Size != size || put.Type != got.Type {
						t.Fatalf("put says %+v, open %+v", put, got)
					}
					if d := got.ModifiedAt.Sub(put.ModifiedAt).Abs(); d > 2*time.Second || time.Since(got.ModifiedAt).Abs() > time.Minute {
						t.Fatalf("modified at %v by put, %v by open", put.ModifiedAt, got.ModifiedAt)
					}
				}
			}
		}
	})
}

func TestTheETagIsOfTheBytesAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		a := put(t, s, "a", "video/mp4", some(1, 100))
		b := put(t, s, "b", "image/jpeg", some(1, 100))
		c := put(t, s, "c", "video/mp4", some(2, 100))
		if a.ETag != b.ETag || a.ETag == c.ETag || len(a.ETag) != 66 || a.ETag[0] != '"' || a.ETag[65] != '"' {
			t.Errorf("equal bytes have %s and %s, others %s", a.ETag, b.ETag, c.ETag)
		}
	})
}

func TestPuttingAKeyAgainReplacesBytesAndType(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		put(t, s, "k/thumbnail", "image/webp", some(1, 5000))
		put(t, s, "k/thumbnail", "image/jpeg", some(2, 10))
		holds(t, s, "k/thumbnail", some(2, 10))
		if got := open(t, s, "k/thumbnail").Info(); got.Type != "image/jpeg" || got.Size != 10 {
			t.Errorf("replaced blob is %+v", got)
		}
	})
}

func TestABodyThatBreaksLeavesWhatWasThere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		put(t, s, "old", "video/mp4", some(1, 1000))
		for _, key := range []string{"old", "new"} {
			for _, said := range []int64{-1, 2 << 20, 50} {
				if _, err := s.Put(t.Context(), key, "video/mp4", said, broken(40)); !errors.Is(err, errBroken) {
					t.Errorf("a broken body of %d: %v", said, err)
				}
			}
		}
		if _, err := s.Put(t.Context(), "new", "video/mp4", -1, broken(partBytes+100)); !errors.Is(err, errBroken) {
			t.Errorf("a body that breaks in its second part: %v", err)
		}
		holds(t, s, "old", some(1, 1000))
		lacks(t, s, "new")
	})
}

func TestABodyOfAnotherSizeIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		put(t, s, "old", "video/mp4", some(1, 1000))
		for _, said := range []int64{0, 99, 101, 5 << 20, blobBytesMax + 1, -2} {
			for _, body := range []io.Reader{stream{bytes.NewReader(some(2, 100))}, bytes.NewReader(some(2, 100))} {
				if _, err := s.Put(t.Context(), "old", "video/mp4", said, body); !errors.Is(err, ErrSize) {
					t.Errorf("100 bytes said to be %d: %v", said, err)
				}
			}
		}
		holds(t, s, "old", some(1, 1000))
	})
}

func TestAnEndedContextEndsAPut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ctx, cancel := context.WithCancel(t.Context())
		body := io.MultiReader(io.LimitReader(noise(1), 3<<20), readFunc(func([]byte) (int, error) { cancel(); return 1, nil }), noise(2))
		if _, err := s.Put(ctx, "k", "video/mp4", -1, body); !errors.Is(err, context.Canceled) {
			t.Errorf("put under an ended context: %v", err)
		}
		lacks(t, s, "k")
		put(t, s, "k", "video/mp4", some(1, 10))
		if b, err := s.Open(ctx, "k"); err == nil {
			if _, err = b.Read(make([]byte, 1)); err == nil {
				t.Error("a blob is read under an ended context")
			}
		}
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestConcurrentPutsOfAKeyLeaveOneOfThem(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		var all sync.WaitGroup
		for i := range byte(8) {
			all.Go(func() {
				if _, err := s.Put(t.Context(), "k/v", "video/mp4", -1, stream{bytes.NewReader(some(i, 200_000))}); err != nil {
					t.Errorf("put %d: %v", i, err)
				}
			})
		}
		all.Go(func() { // A blob that is read while it is replaced is whole too.
			for range 20 {
				b, err := s.Open(t.Context(), "k/v")
				if errors.Is(err, ErrNotFound) {
					continue
				}
				if err != nil {
					t.Errorf("open during the write: %v", err)
					return
				}
				got, err := io.ReadAll(b)
				b.Close()
				if !errors.Is(err, ErrChanged) && (err != nil || !oneOf(got)) {
					t.Errorf("read during the write: %d bytes, %v", len(got), err)
				}
			}
		})
		all.Wait()
		got, err := io.ReadAll(open(t, s, "k/v"))
		if err != nil || !oneOf(got) {
			t.Errorf("%d bytes that were never put, %v", len(got), err)
		}
	})
}

func oneOf(b []byte) bool {
	for i := range byte(8) {
		if bytes.Equal(b, some(i, 200_000)) {
			return true
		}
	}
	return false
}

func TestRangesAreReadFromAnywhere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		want := some(1, 1<<20)
		put(t, s, "k", "video/mp4", want)
		b := open(t, s, "k")
		for _, offset := range []int64{1 << 19, 0, 10, 11, 1<<20 - 1, 700, 500_000} {
			if at, err := b.Seek(offset, io.SeekStart); at != offset || err != nil {
				t.Fatalf("seek to %d: %d, %v", offset, at, err)
			}
			got := make([]byte, min(5000, 1<<20-offset))
			if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, want[offset:offset+int64(len(got))]) {
				t.Errorf("range at %d: %v", offset, err)
			}
		}
		if _, err := b.Seek(-3, io.SeekEnd); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(b); err != nil || !bytes.Equal(got, want[len(want)-3:]) {
			t.Errorf("the last three bytes are %v, %v", got, err)
		}
		if _, err := b.Seek(10, io.SeekEnd); err != nil {
			t.Errorf("seek past the end: %v", err)
		}
		if n, err := b.Read(make([]byte, 4)); n != 0 || err != io.EOF {
			t.Errorf("read past the end: %d, %v", n, err)
		}
		if _, err := b.Seek(-1, io.SeekStart); err == nil {
			t.Error("a seek to before the beginning is taken")
		}
	})
}

func TestServeContentServesRangesAndConditions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		want := some(1, 300_000)
		put(t, s, "k", "video/mp4", want)
		ask := func(header, value string) *httptest.ResponseRecorder {
			b := open(t, s, "k")
			r, w := httptest.NewRequest(http.MethodGet, "/", http.NoBody), httptest.NewRecorder()
			r.Header.Set(header, value)
			w.Header().Set("Content-Type", b.Info().Type)
			w.Header().Set("ETag", b.Info().ETag)
			http.ServeContent(w, r, "", b.Info().ModifiedAt, b)
			return w
		}
		for value, part := range map[string][]byte{"bytes=0-0": want[:1], "bytes=100-299": want[100:300], "bytes=-5": want[299_995:], "bytes=299999-": want[299_999:]} {
			if w := ask("Range", value); w.Code != http.StatusPartialContent || !bytes.Equal(w.Body.Bytes(), part) {
				t.Errorf("%s: status %d with %d bytes", value, w.Code, w.Body.Len())
			}
		}
		if w := ask("Range", "bytes=300000-"); w.Code != http.StatusRequestedRangeNotSatisfiable {
			t.Errorf("a range past the end: %d", w.Code)
		}
		if w := ask("If-None-Match", open(t, s, "k").Info().ETag); w.Code != http.StatusNotModified {
			t.Errorf("the same ETag: %d", w.Code)
		}
		if w := ask("Accept", "*/*"); w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), want) {
			t.Errorf("the whole: %d", w.Code)
		}
	})
}

func TestDeletingTwiceIsNoError(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		put(t, s, "videos/v1/video", "video/mp4", some(1, 10))
		put(t, s, "videos/v1/thumbnail", "image/jpeg", some(2, 10))
		for range 2 {
			if err := s.Delete(t.Context(), "videos/v1/video"); err != nil {
				t.Fatal(err)
			}
		}
		lacks(t, s, "videos/v1/video")
		holds(t, s, "videos/v1/thumbnail", some(2, 10))
		if err := s.Delete(t.Context(), "never/was/there"); err != nil {
			t.Error(err)
		}
		put(t, s, "videos/v1/video", "video/mp4", some(3, 10))
		holds(t, s, "videos/v1/video", some(3, 10))
	})
}

func TestABlobDeletedOrReplacedWhileOpenNeverMixes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		want := some(1, 200_000)
		for _, change := range []func(){
			func() { _ = s.Delete(t.Context(), "k") },
			func() { put(t, s, "k", "video/mp4", some(2, 200_000)) },
		} {
			put(t, s, "k", "video/mp4", want)
			b := open(t, s, "k")
			change()
			if got, err := io.ReadAll(b); err == nil && !bytes.Equal(got, want) || err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrChanged) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		}
	})
}

func TestHostileKeysAreRefusedByAllVerbs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		for _, key := range []string{
			"", "/", "/etc/passwd", "..", "../x", "a/../b", "a/..", "a//b", "a/", ".", "./a", "a/./b", ".hidden", "a/.umg", "A", "a b", "a\x00b", "a\\b", "ä",
			"a+blob", "+unfinished/x", "a?x=1", "a%2fb", "a:b", "~root", "a\nb", strings.Repeat("a", segmentBytesMax+1), strings.Repeat("a/", keyBytesMax/2) + "a",
		} {
			if _, err := s.Put(t.Context(), key, "video/mp4", 1, strings.NewReader("x")); !errors.Is(err, ErrKey) {
				t.Errorf("put %q: %v", key, err)
			}
			if _, err := s.Open(t.Context(), key); !errors.Is(err, ErrKey) {
				t.Errorf("open %q: %v", key, err)
			}
			if err := s.Delete(t.Context(), key); !errors.Is(err, ErrKey) {
				t.Errorf("delete %q: %v", key, err)
			}
		}
		longest := strings.Repeat("a", segmentBytesMax)
		longest = longest + "/" + longest + "/" + longest + "/" + longest
		put(t, s, longest, "video/mp4", []byte("x"))
		holds(t, s, longest, []byte("x"))
	})
}

func TestOnlyMediaTypesAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		for _, bad := range []string{"video", "video/mp4\r\nX-Evil: 1", "video/mp4; a=\"\x01\"", "video/ü", "video/" + strings.Repeat("x", 200)} {
			if _, err := s.Put(t.Context(), "k", bad, 1, strings.NewReader("x")); err == nil {
				t.Errorf("%q is taken", bad)
			}
		}
		lacks(t, s, "k")
		put(t, s, "k", "", []byte("x"))
		if got := open(t, s, "k").Info().Type; got != typeUnknown {
			t.Errorf("no type is kept as %q", got)
		}
	})
}

// TestALongStreamNeedsLittleMemory is not parallel: it reads the memory of the whole process.
func TestALongStreamNeedsLittleMemory(t *testing.T) {
	const size, most = 50 << 20, 12 << 20
	for _, kind := range stores {
		t.Run(kind.name, func(t *testing.T) {
			s := kind.open(t)
			var before, m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			peak, seen := uint64(0), 0
			watched := readFunc(func(p []byte) (int, error) {
				if seen++; seen%256 == 0 {
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapInuse)
				}
				return len(p), nil
			})
			body := io.LimitReader(watched, size)
			if _, err := s.Put(t.Context(), "film", "video/mp4", -1, stream{body}); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&m)
			total := m.TotalAlloc - before.TotalAlloc
			if peak > before.HeapInuse+most || total > 2*most {
				t.Errorf("a body of %d MB needed %d KB at once, %d KB in all", size>>20, (peak-min(peak, before.HeapInuse))>>10, total>>10)
			}
			t.Logf("%d KB in all", total>>10)
			if n, err := io.Copy(io.Discard, open(t, s, "film")); n != size || err != nil {
				t.Errorf("read %d bytes, %v", n, err)
			}
		})
	}
}

// FuzzKeysThatAreTakenStayInside holds the rule of keys against its words.
func FuzzKeysThatAreTakenStayInside(f *testing.F) {
	for _, key := range []string{"a", "a/b", "../a", "a/..", "videos/v_1/video.mp4", "a//b", ".a"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if checkKey(key) != nil {
			return
		}
		if len(key) > keyBytesMax || strings.Contains(key, "..") && strings.Contains("/"+key+"/", "/../") || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789/_.-") != "" {
			t.Errorf("%q is taken", key)
		}
	})
}
