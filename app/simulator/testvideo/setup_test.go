package testvideo

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"
)

// sold are the sizes that video models are offered in.
var sold = []string{"720x1280", "1280x720", "960x960", "1024x1792", "1792x1024", "1080x1920", "1920x1080"}

// odd are sizes at the limits, and such as end within a macroblock on one side, the other or both.
var odd = []string{"16x16", "18x16", "16x30", "48x32", "722x406", "1920x1920"}

func sized(t testing.TB, size string) Spec {
	t.Helper()
	s := Spec{Seconds: 1, Title: "A paper boat crosses a quiet lake at dawn", Seed: 7, Generation: 1}
	if _, err := fmt.Sscanf(size, "%dx%d", &s.Width, &s.Height); err != nil {
		t.Fatal(err)
	}
	return s
}

// part is a box of a file.
type part struct {
	name string
	from int // From is the offset of the payload.
	data []byte
}

// parts cuts a run of boxes. Lengths that do not add up are an error.
func parts(data []byte, from int) ([]part, error) {
	var all []part
	for len(data) > 0 {
		if len(data) < 8 {
			return nil, fmt.Errorf("%d bytes are left after the last box", len(data))
		}
		n := int(binary.BigEndian.Uint32(data))
		if n < 8 || n > len(data) {
			return nil, fmt.Errorf("a box %q of %d bytes where %d are left", data[4:8], n, len(data))
		}
		all = append(all, part{string(data[4:8]), from + 8, data[8:n]})
		data, from = data[n:], from+n
	}
	return all, nil
}

// boxes finds the boxes of a film by name, however deep, and the order of the outermost.
func boxes(file []byte) (map[string]part, []string, error) {
	found := map[string]part{}
	var order []string
	holders := map[string]int{"moov": 0, "trak": 0, "mdia": 0, "minf": 0, "stbl": 0, "dinf": 0, "dref": 8, "stsd": 8, "avc1": 78}
	var walk func(data []byte, from, depth int) error
	walk = func(data []byte, from, depth int) error {
		all, err := parts(data, from)
		if err != nil {
			return err
		}
		for _, p := range all {
			if depth == 0 {
				order = append(order, p.name)
			}
			if _, twice := found[p.name]; twice {
				return fmt.Errorf("a second box %s", p.name)
			}
			found[p.name] = p
			if skip, holds := holders[p.name]; holds {
				if err := walk(p.data[skip:], p.from+skip, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return found, order, walk(file, 0, 0)
}

func word(b []byte, at int) int { return int(binary.BigEndian.Uint32(b[at:])) }

// checkFile says what of a file is not as the spec has it.
func checkFile(file []byte, s Spec) error {
	found, order, err := boxes(file)
	if err != nil {
		return err
	}
	if fmt.Sprint(order) != "[ftyp moov mdat]" {
		return fmt.Errorf("the boxes are %v", order)
	}
	frames, milliseconds := s.Seconds*24, s.Seconds*1000
	wanted := []struct {
		box      string
		at, want int
		what     string
	}{
		{"mvhd", 12, 1000, "the time scale"},
		{"mvhd", 16, milliseconds, "the duration"},
		{"tkhd", 20, milliseconds, "the track's duration"},
		{"tkhd", 76, s.Width << 16, "the width"},
		{"tkhd", 80, s.Height << 16, "the height"},
		{"avc1", 24, s.Width<<16 | s.Height, "the coded size"},
		{"stts", 8, frames, "the number of timed frames"},
		{"stss", 4, (s.Seconds + 1) / 2, "the number of key frames"},
		{"stsc", 12, frames, "the number of frames in the chunk"},
		{"stsz", 8, frames, "the number of sizes"},
		{"stco", 8, found["mdat"].from, "the chunk's place"},
	}
	for _, w := range wanted {
		if data := found[w.box].data; len(data) < w.at+4 || word(data, w.at) != w.want {
			return fmt.Errorf("%s: %s is not %d: % x", w.box, w.what, w.want, data)
		}
	}
	media := found["mdhd"].data
	if word(media, 16) != s.Seconds*word(media, 12) || word(media, 16) != frames*word(found["stts"].data, 12) {
		return fmt.Errorf("the media's duration is %d in %d", word(media, 16), word(media, 12))
	}
	return checkSamples(found, frames)
}

// checkSamples follows the tables through the samples, each of which is one unit of the kind that stss says.
func checkSamples(found map[string]part, frames int) error {
	samples, sizes, keys := found["mdat"].data, found["stsz"].data, found["stss"].data[8:]
	for i := range frames {
		n := word(sizes, 12+4*i)
		if n < 6 || n > len(samples) || word(samples, 0) != n-4 {
			return fmt.Errorf("frame %d: %d bytes do not hold one unit", i, n)
		}
		want := byte(1)
		if len(keys) > 0 && word(keys, 0) == i+1 {
			want, keys = 5, keys[4:]
		}
		if kind := samples[4] & 31; kind != want {
			return fmt.Errorf("frame %d is of kind %d, not %d", i, kind, want)
		}
		if unit := samples[4:n]; bytes.Contains(unit, []byte{0, 0, 0}) || bytes.Contains(unit, []byte{0, 0, 1}) || unit[len(unit)-1] == 0 {
			return fmt.Errorf("frame %d looks as if another unit began in it", i)
		}
		samples = samples[n:]
	}
	if len(samples) > 0 || len(keys) > 0 {
		return fmt.Errorf("%d bytes and %d key frames are left over", len(samples), len(keys)/4)
	}
	return nil
}

// program is an outside player's word on our files. The tests that ask it do not pass without it.
func program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing; install it with: apt-get install -y --no-install-recommends ffmpeg", name)
	}
	return path
}

// programSecondsMax bounds one run of a program.
const programSecondsMax = 60

// run gives a program its input and returns what it printed.
func run(t testing.TB, input []byte, name string, args ...string) []byte {
	t.Helper()
	var out []byte
	pipe(t, input, func(r io.Reader) error {
		var err error
		out, err = io.ReadAll(io.LimitReader(r, printedBytesMax))
		return err
	}, name, args...)
	return out
}

// printedBytesMax bounds what run keeps of a program's output.
const printedBytesMax = 16 << 20

// pipe gives a program its input and hands on its output while it comes. Anything on the error stream is a failure.
func pipe(t testing.TB, input []byte, read func(io.Reader) error, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), programSecondsMax*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, program(t, name), args...)
	var complaints bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(input), &complaints
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	misread := read(out)
	_, _ = io.Copy(io.Discard, out) // The program exits only after the output is read to its end.
	if err := command.Wait(); err != nil || complaints.Len() > 0 {
		t.Errorf("%s: %v: %s", name, err, complaints.Bytes())
	}
	if misread != nil {
		t.Error(misread)
	}
}
