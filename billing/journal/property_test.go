package journal_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/billing/journal"
	"umg/billing/journal/journaltest"
)

// world is a journal over a failing disk, and the acknowledgements that its caller received.
type world struct {
	t       *rapid.T
	disk    *journaltest.Disk
	log     *journal.Log
	now     time.Time
	records map[journal.LSN]string
	last    journal.LSN // Records up to here were appended.
	written journal.LSN // Records up to here were acknowledged to survive a kill.
	acked   journal.LSN // Records up to here were acknowledged to survive a power cut.
	applied journal.LSN
	open    journal.LSN
	over    bool // The run ended or the log is dead, so only the next run continues.
}

func (w *world) random() *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(w.t, "seed"), 0))
}

func (w *world) boot() {
	l, err := journal.Open(w.disk.Boot(), journal.Options{
		Owner: "r1", SegmentBytes: 4 << 10, FreeBytesMin: 1, Now: func() time.Time { return w.now },
	})
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	w.log, w.over = l, false
	l.Applied(w.applied, w.open)
}

// reboot opens the journal after the run's end and checks its content: every acknowledged record, and a prefix of those
// appended later.
func (w *world) reboot(promised journal.LSN) {
	w.boot()
	last := w.log.Last()
	if last < promised || last > w.last {
		w.t.Fatalf("the journal ends with %d: promised %d, appended %d", last, promised, w.last)
	}
	if w.log.Durable() != last {
		w.t.Fatalf("after the start %d is durable of %d", w.log.Durable(), last)
	}
	w.last, w.written, w.acked = last, last, last
	w.check()
}

func text(kind journal.Kind, data []byte) string { return fmt.Sprintf("%c%x", kind, data) }

func (w *world) appendRecord() {
	if w.over {
		return
	}
	kind := journal.Kind(rapid.SampledFrom([]byte("SP")).Draw(w.t, "kind"))
	data := bytes.Repeat([]byte{byte(w.last)}, rapid.IntRange(0, 900).Draw(w.t, "bytes"))
	lsn, err := w.log.Append(kind, data)
	if err != nil {
		w.t.Fatalf("append: %v", err)
	}
	w.last++
	if lsn != w.last {
		w.t.Fatalf("record %d follows %d", lsn, w.last-1)
	}
	w.records[lsn] = text(kind, data)
}

func (w *world) flush(sync bool) {
	if w.over {
		return
	}
	f := w.log.Write
	if sync {
		f = w.log.Commit
	}
	if err := f(); err != nil {
		w.over = true
		return
	}
	w.written = w.last
	if sync {
		w.acked = w.last
	}
	if w.log.Durable() < w.acked {
		w.t.Fatalf("%d is durable of %d", w.log.Durable(), w.acked)
	}
}

func (w *world) end(power bool) {
	if power {
		w.disk.Crash(w.random())
		w.reboot(w.acked)
		return
	}
	w.disk.Kill()
	w.reboot(w.written)
}

// cut makes the power fail, or the process end, during the next operations.
func (w *world) cut() {
	w.disk.CutAfter(rapid.IntRange(0, 12).Draw(w.t, "operations"), w.random())
	for range 6 {
		if !w.over {
			w.appendRecord()
		}
		w.flush(rapid.Bool().Draw(w.t, "sync"))
		if !w.over {
			_ = w.log.Tidy() // The power may fail during Tidy.
		}
	}
	w.over = true
	w.end(rapid.Bool().Draw(w.t, "power"))
}

// cutStart interrupts a start, several times in a row.
func (w *world) cutStart() {
	w.disk.Kill()
	for range rapid.IntRange(1, 5).Draw(w.t, "times") {
		w.disk.CutAfter(rapid.IntRange(0, 6).Draw(w.t, "operations"), w.random())
		l, err := journal.Open(w.disk.Boot(), journal.Options{Owner: "r1", SegmentBytes: 4 << 10, FreeBytesMin: 1})
		if err == nil { // What it found is durable now.
			w.written, w.acked = l.Last(), l.Last()
		}
		if rapid.Bool().Draw(w.t, "power") {
			w.disk.Crash(w.random())
			w.written = w.acked
			continue
		}
		w.disk.Kill()
	}
	w.reboot(w.written)
}

func (w *world) failSync() {
	if w.over {
		return
	}
	w.disk.FailSync(w.random())
	w.appendRecord()
	w.flush(true)
	if !w.over {
		w.t.Fatal("a record was acknowledged after a sync that failed")
	}
	if err := w.log.Commit(); err == nil {
		w.t.Fatal("a dead log commits")
	}
	if _, err := w.log.Append('S', nil); err == nil {
		w.t.Fatal("a dead log takes records")
	}
	if w.log.Claim() == nil {
		w.t.Fatal("a dead log gives claims")
	}
}

func (w *world) apply() {
	if w.over {
		return
	}
	w.applied = journal.LSN(rapid.Uint64Range(uint64(w.applied), uint64(w.log.Durable())).Draw(w.t, "applied"))
	w.open = journal.LSN(rapid.Uint64Range(uint64(max(w.open, 1)), uint64(w.applied+1)).Draw(w.t, "open"))
	w.log.Applied(w.applied, w.open)
	if rapid.Bool().Draw(w.t, "old") {
		w.now = w.now.Add(8 * 24 * time.Hour)
	}
	if err := w.log.Tidy(); err != nil {
		w.t.Fatalf("tidy: %v", err)
	}
	if s := w.log.Stats(); w.applied == w.last && s.UnappliedBytes != 0 {
		w.t.Fatalf("all is applied, and %d bytes are not", s.UnappliedBytes)
	}
}

// check reads everything durable and compares it with what was appended.
func (w *world) check() {
	first := w.log.First()
	if first > max(w.open, 1) {
		w.t.Fatalf("record %d is needed, and %d is the oldest kept", w.open, first)
	}
	for last := first - 1; last < w.log.Durable(); {
		for r, err := range w.log.Read(last, rapid.IntRange(1, 20).Draw(w.t, "records"), 1<<20) {
			if err != nil {
				w.t.Fatalf("read after %d: %v", last, err)
			}
			if last++; r.LSN != last {
				w.t.Fatalf("record %d comes in the place of %d", r.LSN, last)
			}
			if got := text(r.Kind, r.Data); got != w.records[last] {
				w.t.Fatalf("record %d is %s and was %s", last, got, w.records[last])
			}
		}
	}
}

// TestAJournalKeepsExactlyWhatItAcknowledged runs random sequences of operations and faults.
func TestAJournalKeepsExactlyWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			t: t, disk: journaltest.New(), now: time.Unix(1_800_000_000, 0), records: map[journal.LSN]string{},
		}
		w.boot()
		act := func(f func(*world)) func(*rapid.T) {
			return func(t *rapid.T) {
				w.t = t
				f(w)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"append":    act((*world).appendRecord),
			"append2":   act((*world).appendRecord),
			"write":     act(func(w *world) { w.flush(false) }),
			"commit":    act(func(w *world) { w.flush(true) }),
			"crash":     act(func(w *world) { w.end(true) }),
			"kill":      act(func(w *world) { w.end(false) }),
			"cut":       act((*world).cut),
			"cut start": act((*world).cutStart),
			"fail sync": act((*world).failSync),
			"apply":     act((*world).apply),
			"read":      act((*world).check),
		})
	})
}
