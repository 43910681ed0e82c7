package journal_test

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"umg/billing/journal"
	"umg/billing/journal/journaltest"
)

// FuzzOpen opens segments of arbitrary bytes. Half of them get headers with correct checksums, which lets the records behind
// them be reached. Some of the record checksums are corrected too.
func FuzzOpen(f *testing.F) {
	base := journaltest.New()
	l := open(f, base)
	write(f, l, 40, 3)
	for _, name := range base.Names() {
		f.Add(base.Content(name), byte(0))
		f.Add(base.Content(name), byte(3))
	}
	f.Add([]byte{}, byte(1))
	f.Add(make([]byte, small), byte(2))
	f.Fuzz(func(t *testing.T, content []byte, how byte) {
		if len(content) > 16<<10 {
			return
		}
		if how&1 != 0 && len(content) > header {
			copy(content, base.Content(base.Names()[0])[:header])
			binary.LittleEndian.PutUint64(content[32:], uint64(len(content)))
			sum(content[:header-4], content[header-4:])
		}
		if how&2 != 0 {
			repair(content)
		}
		d := journaltest.New()
		d.Put("0000000001.journal", content)
		if how&4 != 0 {
			d.Put("0000000002.journal", make([]byte, small))
		}
		l, err := journal.Open(d.Boot(), options())
		if err != nil {
			return
		}
		first, last := l.First(), l.Last()
		n := first - 1
		for r, err := range l.Read(n, 1<<20, 1<<30) {
			if err != nil {
				t.Fatal(err)
			}
			n = r.LSN
		}
		if n != last {
			t.Fatalf("read to %d of %d", n, last)
		}
		if last > 1<<62 {
			return
		}
		if _, err := l.Append('S', []byte("next")); err != nil {
			t.Fatal(err)
		}
		if err := l.Commit(); err != nil {
			t.Fatal(err)
		}
		d.Kill()
		if l, err = journal.Open(d.Boot(), options()); err != nil || l.Last() != last+1 {
			t.Fatalf("open again: %v", err)
		}
	})
}

func sum(of, into []byte) {
	binary.LittleEndian.PutUint32(into, crc32.Checksum(of, crc32.MakeTable(crc32.Castagnoli)))
}

// repair corrects the checksums of everything that could be a record.
func repair(content []byte) {
	for at := header; at+prefix <= len(content); {
		end := at + (prefix+int(binary.LittleEndian.Uint32(content[at:])%512)+7)/8*8
		if end > len(content) {
			return
		}
		binary.LittleEndian.PutUint32(content[at:], binary.LittleEndian.Uint32(content[at:])%512)
		sum(slices.Concat(content[at:at+4], content[at+8:end]), content[at+4:])
		at = end
	}
}
