package journal_test

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"umg/billing/journal"
	"umg/billing/journal/journaltest"
)

const (
	small  = 4 << 10 // Segments have this many bytes.
	header = 512
	prefix = 24
	data   = 104 // Records in these tests have this many bytes of data, and so take 128 bytes.
)

func options() journal.Options {
	return journal.Options{Owner: "r1", SegmentBytes: small, FreeBytesMin: 1}
}

func open(t testing.TB, d *journaltest.Disk) *journal.Log {
	t.Helper()
	l, err := journal.Open(d.Boot(), options())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func payload(n int) []byte { return fmt.Appendf(nil, "%0*d", data, n) }

// write appends and commits a number of records, in commits of the given size.
func write(t testing.TB, l *journal.Log, records, each int) {
	t.Helper()
	for n := range records {
		if _, err := l.Append('S', payload(int(l.Last())+1)); err != nil {
			t.Fatal(err)
		}
		if (n+1)%each == 0 {
			if err := l.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func tidy(t testing.TB, l *journal.Log) {
	t.Helper()
	if err := l.Tidy(); err != nil {
		t.Fatal(err)
	}
}

// verify reads the whole journal and expects records 1 to last.
func verify(t testing.TB, l *journal.Log, last journal.LSN) {
	t.Helper()
	n := journal.LSN(0)
	for n < l.Durable() {
		for r, err := range l.Read(n, 7, 1<<20) {
			if n++; err != nil || r.LSN != n || !bytes.Equal(r.Data, payload(int(n))) || r.Kind != 'S' {
				t.Fatalf("record %d is %d %c %q: %v", n, r.LSN, r.Kind, r.Data, err)
			}
		}
	}
	if n != last {
		t.Fatalf("the journal ends with %d, not with %d", n, last)
	}
}

// TestATornEndIsCutOff tears the last commit at every sector, and continues after it.
func TestATornEndIsCutOff(t *testing.T) {
	t.Parallel()
	base := journaltest.New()
	l := open(t, base)
	write(t, l, 5, 5)
	name := slices.Clone(base.Names())[0]
	before := base.Content(name)
	write(t, l, 20, 20)
	after := base.Content(name)
	from, to := header+5*128, header+25*128
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		content := bytes.Clone(after)
		torn := false
		for at := from / 512 * 512; at < to; at += 512 { // Any of the sectors may be missing.
			if r.IntN(2) == 0 {
				copy(content[at:at+512], before[at:at+512])
				torn = true
			}
		}
		d := journaltest.New()
		d.Put(name, content)
		l := open(t, d)
		last := l.Last()
		if last < 5 || last > 25 || last == 25 && torn {
			t.Fatalf("seed %d: the journal ends with %d", seed, last)
		}
		write(t, l, 1, 1)
		verify(t, l, last+1)
		d.Crash(r)
		verify(t, open(t, d), last+1)
	}
}

type rot struct {
	name string
	harm func(*journaltest.Disk)
	want []string // The refusal contains these words.
}

// rots are the faults that four segments and a spare may have.
func rots(files []string) []rot {
	second := files[1]
	return []rot{
		{"a byte of a closed segment's data flips", func(d *journaltest.Disk) { d.Flip(second, header+3*128+prefix+9) },
			[]string{second, fmt.Sprint("byte ", header+3*128), "record 32"}},
		{"a byte of a length flips", func(d *journaltest.Disk) { d.Flip(second, header+1) }, []string{second, "byte 512", "record 29"}},
		{"a byte of a number flips", func(d *journaltest.Disk) { d.Flip(second, header+128+8) }, []string{second, "byte 640"}},
		{"a byte of a header flips", func(d *journaltest.Disk) { d.Flip(second, 50) }, []string{second, "byte 0"}},
		{"a byte of the last header flips", func(d *journaltest.Disk) { d.Flip(files[3], 50) }, []string{files[3], "byte 0"}},
		{"a byte of the last segment flips before other commits", func(d *journaltest.Disk) { d.Flip(files[3], header+128+prefix) },
			[]string{files[3], "byte 640", "record 86"}},
		{"the first record's length of the last segment flips", func(d *journaltest.Disk) { d.Flip(files[3], header) },
			[]string{files[3], "byte 512", "record 85"}},
		{"a segment is missing", func(d *journaltest.Disk) { d.Put(second, nil) }, []string{second, "missing"}},
		{"a segment is empty", func(d *journaltest.Disk) { d.Put(second, []byte{}) }, []string{second, "byte 0"}},
		{"a segment is short", func(d *journaltest.Disk) { d.Put(second, d.Content(second)[:1000]) }, []string{second, "byte 1000"}},
		{"a segment is shorter than its header", func(d *journaltest.Disk) { d.Put(second, d.Content(second)[:100]) },
			[]string{second, "byte 0"}},
		{"the last segment is short", func(d *journaltest.Disk) { d.Put(files[3], d.Content(files[3])[:1000]) }, []string{files[3], "byte 1000"}},
		{"a segment is all zeros", func(d *journaltest.Disk) { d.Put(second, make([]byte, small)) }, []string{second, "byte 0"}},
		{"the end of a closed segment is gone", func(d *journaltest.Disk) {
			content := d.Content(second)
			clear(content[header+20*128:])
			d.Put(second, content)
		}, []string{second, fmt.Sprint("byte ", header+20*128), "record 49"}},
		{"a whole record is in the place of another", func(d *journaltest.Disk) {
			content := d.Content(second)
			copy(content[header+4*128:], content[header+9*128:header+10*128])
			d.Put(second, content)
		}, []string{second, fmt.Sprint("byte ", header+4*128), "record 33"}},
		{"the last header is gone", func(d *journaltest.Disk) {
			content := d.Content(files[3])
			clear(content[:header])
			d.Put(files[3], content)
		}, []string{files[3], "header"}},
		{"two segments are swapped", func(d *journaltest.Disk) {
			a, b := d.Content(files[1]), d.Content(files[2])
			d.Put(files[1], b)
			d.Put(files[2], a)
		}, []string{files[1], "renamed"}},
		{"the spare has bytes", func(d *journaltest.Disk) { d.Flip(files[4], 2000) }, []string{files[4], "byte 2000"}},
	}
}

func TestRotIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	base := journaltest.New()
	l := open(t, base)
	write(t, l, 90, 1) // This fills four segments of 28 records.
	tidy(t, l)         // This prepares a spare segment.
	files := base.Names()
	if len(files) != 5 {
		t.Fatalf("%v", files)
	}
	for _, c := range rots(files) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := journaltest.New()
			for _, f := range files {
				d.Put(f, base.Content(f))
			}
			c.harm(d)
			_, err := journal.Open(d.Boot(), options())
			if err == nil {
				t.Fatal("the journal opens")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not name %q", err, want)
				}
			}
		})
	}
}

func TestAnotherOwnersJournalIsRefused(t *testing.T) {
	t.Parallel()
	d := journaltest.New()
	write(t, open(t, d), 1, 1)
	o := options()
	o.Owner = "r2"
	if _, err := journal.Open(d.Boot(), o); err == nil || !strings.Contains(err.Error(), `belongs to "r1" and not to "r2"`) {
		t.Fatalf("%v", err)
	}
	o.Owner = strings.Repeat("r", 256)
	if _, err := journal.Open(d.Boot(), o); err == nil {
		t.Fatal("an owner that no header holds is taken")
	}
}

// TestOpenAfterACrashDuringSegmentCreation opens the file in every state that its creation passes through.
func TestOpenAfterACrashDuringSegmentCreation(t *testing.T) {
	t.Parallel()
	for _, begun := range []int{0, 30} {
		for _, left := range []int{0, 1, header - 1, header, 1000, small} {
			for _, torn := range []bool{false, true} {
				d := journaltest.New()
				if begun > 0 {
					l := open(t, d)
					write(t, l, begun, 1)
					tidy(t, l)
				}
				spare := d.Names()
				name := "0000000001.journal"
				if begun > 0 {
					name = spare[len(spare)-1]
				}
				content := make([]byte, left)
				if torn && left > 3 {
					content[3] = 7 // This byte belongs to a header.
				}
				d.Put(name, content)
				l := open(t, d)
				write(t, l, 60, 3)
				verify(t, l, journal.LSN(begun+60))
				d.Kill()
				verify(t, open(t, d), journal.LSN(begun+60))
			}
		}
	}
}

func TestOtherFilesOfTheFolderAreLeftAlone(t *testing.T) {
	t.Parallel()
	d := journaltest.New()
	d.Put("notes.txt", []byte("ours"))
	d.Put("1.journal", []byte("not a segment's name"))
	write(t, open(t, d), 60, 1)
	d.Kill()
	verify(t, open(t, d), 60)
	if string(d.Content("notes.txt")) != "ours" || d.Content("1.journal") == nil {
		t.Fatal("a file that is not the journal's was changed")
	}
}

func TestAJournalGoesOnAfterTheBooksCursor(t *testing.T) {
	t.Parallel()
	d := journaltest.New()
	l := open(t, d)
	if err := l.StartAfter(1000, 0); err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); s.Durable != 1000 || s.UnappliedBytes != 0 {
		t.Fatalf("%+v", s)
	}
	if lsn, err := l.Append('S', payload(1)); err != nil || lsn != 1001 {
		t.Fatalf("%d %v", lsn, err)
	}
	if err := l.Commit(); err != nil {
		t.Fatal(err)
	}
	d.Kill()
	l = open(t, d)
	if l.First() != 1001 || l.Last() != 1001 {
		t.Fatalf("%d to %d", l.First(), l.Last())
	}
	if err := l.StartAfter(1001, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.StartAfter(1002, 0); err == nil || !strings.Contains(err.Error(), "1002") {
		t.Fatalf("a journal that lost its end starts: %v", err)
	}
	next, stop := iter.Pull2(l.Read(5, 1, 1))
	defer stop()
	if _, err, _ := next(); err == nil || !strings.Contains(err.Error(), "record 6 is wanted") {
		t.Fatalf("records that are not there are read: %v", err)
	}
}
