package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// atom writes a box of an MP4.
func atom(name string, contents ...[]byte) []byte {
	all := bytes.Join(contents, nil)
	b := binary.BigEndian.AppendUint32(nil, uint32(len(all)+8))
	return append(append(b, name...), all...)
}

func u32(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

func u64(values ...uint64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}

// film writes an MP4 that has nothing but what says its length.
func film(moov ...[]byte) []byte {
	return append(atom("ftyp", []byte("isom\x00\x00\x02\x00")), atom("moov", moov...)...)
}

func of(b []byte) (time.Duration, error) { return Duration(bytes.NewReader(b), int64(len(b))) }

func TestTheLengthIsReadFromAllKindsOfHeaders(t *testing.T) {
	t.Parallel()
	mvhd := atom("mvhd", u32(0, 1, 2, 1000, 4000), make([]byte, 80))
	large := append(append(u32(1), "mdat"...), append(u64(16+5), "12345"...)...)
	for name, c := range map[string]struct {
		film []byte
		want time.Duration
	}{
		"milliseconds":       {film(mvhd), 4 * time.Second},
		"odd scale":          {film(atom("mvhd", u32(0, 1, 2, 30_000, 240_240))), 8_008 * time.Millisecond},
		"version 1":          {film(atom("mvhd", u32(1<<24), u64(1, 2), u32(90_000), u64(90_000*12))), 12 * time.Second},
		"not the first":      {film(atom("free", make([]byte, 9)), atom("trak", []byte("any")), mvhd), 4 * time.Second},
		"after the media":    {bytes.Join([][]byte{atom("ftyp"), atom("mdat", make([]byte, 5000)), atom("moov", mvhd)}, nil), 4 * time.Second},
		"after large media":  {bytes.Join([][]byte{atom("ftyp"), large, atom("moov", mvhd)}, nil), 4 * time.Second},
		"to the end":         {append(atom("ftyp"), append(append(u32(0), "moov"...), mvhd...)...), 4 * time.Second},
		"fragments":          {film(atom("mvhd", u32(0, 1, 2, 1000, 0)), atom("mvex", atom("mehd", u32(0, 5000)))), 5 * time.Second},
		"fragments, version": {film(atom("mvhd", u32(0, 1, 2, 1000, 1<<32-1)), atom("mvex", atom("mehd", u32(1<<24), u64(6000)))), 6 * time.Second},
		"words after it":     {append(film(mvhd), "not a box"...), 4 * time.Second},
	} {
		if got, err := of(c.film); got != c.want || err != nil {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
}

func TestWhatSaysNoLengthIsRefused(t *testing.T) {
	t.Parallel()
	mvhd := atom("mvhd", u32(0, 1, 2, 1000, 4000))
	for name, b := range map[string][]byte{
		"nothing":              nil,
		"a page":               []byte("<!DOCTYPE html><html><body>moved</body></html>"),
		"no ftyp":              atom("moov", mvhd),
		"no moov":              atom("ftyp"),
		"no mvhd":              film(atom("trak")),
		"scale of zero":        film(atom("mvhd", u32(0, 1, 2, 0, 4000))),
		"length of zero":       film(atom("mvhd", u32(0, 1, 2, 1000, 0))),
		"unknown length":       film(atom("mvhd", u32(0, 1, 2, 1000, 1<<32-1))),
		"days":                 film(atom("mvhd", u32(0, 1, 2, 1, 1<<31))),
		"ages":                 film(atom("mvhd", u32(1<<24), u64(1, 2), u32(1), u64(1<<63))),
		"short header":         film(atom("mvhd", u32(0, 1, 2, 1000))),
		"short version 1":      film(atom("mvhd", u32(1<<24, 1, 2, 1000, 4000))),
		"version 9":            film(atom("mvhd", u32(9<<24, 1, 2, 1000, 4000))),
		"empty header":         film(atom("mvhd")),
		"a box past its end":   film(append(u32(4000), "mvhd"...)),
		"a box in its head":    film(append(u32(7), "mvhd"...)),
		"a large box too long": append(atom("ftyp"), append(append(u32(1), "moov"...), u64(1<<63)...)...),
		"a large box in head":  append(atom("ftyp"), append(append(u32(1), "moov"...), u64(15)...)...),
		"cut":                  film(mvhd)[:40],
		"too many boxes":       film(bytes.Repeat(atom("free"), boxesMax), mvhd),
		"empty fragments":      film(atom("mvhd", u32(0, 1, 2, 1000, 0)), atom("mvex", atom("mehd"))),
	} {
		if got, err := of(b); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := Duration(strings.NewReader(string(film(mvhd))), 1<<40); !errors.Is(err, ErrFormat) && err != nil {
		t.Errorf("a size that is not true: %v", err)
	}
}

func TestTheLengthOfARealVideoIsRight(t *testing.T) {
	t.Parallel()
	file := brightening(t, 64, 36, "3")
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Duration(f, stat.Size()); got != 3*time.Second || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// FuzzDuration holds that no bytes make the parser fail otherwise than by saying so, or give a length out of bounds.
func FuzzDuration(f *testing.F) {
	f.Add(film(atom("mvhd", u32(0, 1, 2, 1000, 4000))))
	f.Add(film(atom("mvhd", u32(1<<24), u64(1, 2), u32(90_000), u64(90_000*12))))
	f.Add(film(atom("mvhd", u32(0, 1, 2, 1000, 0)), atom("mvex", atom("mehd", u32(0, 5000)))))
	f.Add(append(atom("ftyp"), append(append(u32(1), "moov"...), u64(1<<63)...)...))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := of(b)
		if err != nil && !errors.Is(err, ErrFormat) || err == nil && (got <= 0 || got > durationMax) {
			t.Errorf("%v, %v", got, err)
		}
	})
}
