package testvideo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFileIsConsistentInEverySize(t *testing.T) {
	t.Parallel()
	for _, size := range slices.Concat(sold, odd) {
		t.Run(size, func(t *testing.T) {
			t.Parallel()
			for _, seconds := range []int{1, 4} {
				s := sized(t, size)
				s.Seconds = seconds
				if err := checkFile(MP4(s), s); err != nil {
					t.Errorf("%d s: %v", seconds, err)
				}
			}
		})
	}
}

func TestFileOfAnySpecIsConsistentAndTheSameTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{
			Width:      rapid.IntRange(-4, 200).Draw(t, "width"),
			Height:     rapid.IntRange(-4, 200).Draw(t, "height"),
			Seconds:    rapid.IntRange(-1, 5).Draw(t, "seconds"),
			Title:      rapid.String().Draw(t, "title"),
			Seed:       rapid.Uint64().Draw(t, "seed"),
			Generation: rapid.IntRange(-1, 2000).Draw(t, "generation"),
		}
		file := MP4(s)
		if err := checkFile(file, s.within()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(file, MP4(s)) {
			t.Fatal("the same spec gave two films")
		}
	})
}

// TestFileIsTheSameOnEveryMachine holds the bytes of one film, which a processor that rounds differently would change.
// A change of the picture is the one good reason to change the sum.
func TestFileIsTheSameOnEveryMachine(t *testing.T) {
	t.Parallel()
	const want = "226ee450bb3ef268a528c483f67a80bf99bf90e94f6247e9b3b393d7dc22ad71"
	sum := sha256.Sum256(MP4(Spec{Width: 328, Height: 182, Seconds: 3, Title: "A paper boat", Seed: 7, Generation: 1}))
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("the film's sum is %s, not %s", got, want)
	}
}

func TestFileOutsideTheLimitsIsBroughtInside(t *testing.T) {
	t.Parallel()
	large := Spec{Width: 4001, Height: 17, Seconds: 1 << 30, Generation: 1 << 40, Seed: 1<<64 - 1}
	if got, want := large.within(), (Spec{1920, 16, 60, "", 1<<64 - 1, 999}); got != want {
		t.Errorf("within the limits it is %+v, not %+v", got, want)
	}
	if err := checkFile(MP4(Spec{}), Spec{Width: 16, Height: 16, Seconds: 1}); err != nil {
		t.Error(err)
	}
}

func TestFileStaysSmall(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Wispy clouds drift over the harbour; ", 900)
	for size, bytesMax := range map[string]int{"1280x720": 500_000, "720x1280": 500_000, "1080x1920": 1_200_000, "1920x1080": 1_200_000} {
		for seed := range uint64(3) {
			s := sized(t, size)
			s.Seconds, s.Title, s.Seed = 4, long, seed
			if n := len(MP4(s)); n > bytesMax {
				t.Errorf("%s of seed %d: %d bytes, more than %d", size, seed, n, bytesMax)
			}
		}
	}
}

func TestFilmDiffersByEachFieldOfItsSpec(t *testing.T) {
	t.Parallel()
	first := Spec{Width: 320, Height: 320, Seconds: 2, Title: "A boat", Seed: 1}
	for name, change := range map[string]func(*Spec){
		"title":      func(s *Spec) { s.Title = "A goat" },
		"seed":       func(s *Spec) { s.Seed++ },
		"generation": func(s *Spec) { s.Generation++ },
		"seconds":    func(s *Spec) { s.Seconds++ },
	} {
		other := first
		change(&other)
		if bytes.Equal(MP4(first), MP4(other)) {
			t.Errorf("another %s gave the same film", name)
		}
	}
}

func TestUnitNeverHoldsTheStartOfAnother(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &bitWriter{}
		w.raw(rapid.SliceOf(rapid.ByteRange(0, 4)).Draw(t, "bytes"))
		fields := slices.Clone(w.bytes)
		unit := w.unit(unitKey)
		for _, start := range [][]byte{{0, 0, 0}, {0, 0, 1}, {0, 0, 2}} {
			if bytes.Contains(unit, start) {
				t.Fatalf("% x holds % x", unit, start)
			}
		}
		if got := withoutGuards(unit[1:]); !bytes.Equal(got, append(fields, 0x80)) {
			t.Fatalf("% x reads as % x", unit, got)
		}
	})
}

// withoutGuards takes out each 3 that follows two zeros, as a decoder does.
func withoutGuards(b []byte) []byte {
	var out []byte
	zeros := 0
	for _, c := range b {
		if zeros == 2 && c == 3 {
			zeros = 0
			continue
		}
		out = append(out, c)
		if c == 0 {
			zeros++
		} else {
			zeros = 0
		}
	}
	return out
}

func TestNumbersHaveTheirStandardCodes(t *testing.T) {
	t.Parallel()
	for v, want := range map[uint32]string{0: "1", 1: "010", 2: "011", 3: "00100", 7: "0001000", 8: "0001001", 255: "00000000100000000"} {
		w := &bitWriter{}
		w.unsigned(v)
		length := len(w.bytes)*8 + int(w.count)
		w.align()
		var got strings.Builder
		for _, b := range w.bytes {
			fmt.Fprintf(&got, "%08b", b)
		}
		if got.String()[:length] != want {
			t.Errorf("%d is %s, not %s", v, got.String()[:length], want)
		}
	}
}

func TestLevelHoldsTheFrame(t *testing.T) {
	t.Parallel()
	for size, want := range map[string]uint32{"1280x720": 31, "1920x1080": 40, "1024x1792": 40, "1920x1920": 50} {
		if s := sized(t, size); levelOf(s.Width, s.Height) != want {
			t.Errorf("%s is of level %d, not %d", size, levelOf(s.Width, s.Height), want)
		}
	}
}

func BenchmarkMP4(b *testing.B) {
	for _, size := range []string{"1280x720", "1920x1080"} {
		b.Run(size, func(b *testing.B) {
			s := sized(b, size)
			s.Seconds = 4
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(int64(len(MP4(s))))
			}
		})
	}
}
