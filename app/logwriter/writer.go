package logwriter

import (
	"io"
	"strconv"
	"sync"
	"time"

	"umg/app"
)

const (
	lateMax      = 5 * time.Millisecond // An added line is written within this time.
	earlyBytes   = 32 << 10             // More bytes than this are written at once.
	waitingBytes = 1 << 20              // At most this much waits while the output blocks; more is lost and counted.
	keptBytesMax = 256 << 10            // A larger buffer is not reused.
)

// Writer collects lines and writes them together. It is safe for concurrent use.
type Writer struct {
	out io.Writer
	now app.Clock

	writing sync.Mutex // Writing is held while lines are written, so that they keep their order.

	mu    sync.Mutex
	lines []byte // Lines wait to be written.
	spare []byte // Spare is the other buffer, while it is not being written.
	lost  int64  // Lost counts the lines that found no room.
	armed bool   // The timer will write the lines.
	timer *time.Timer
}

// New returns a writer of lines to an output. Flush must be called at the end.
func New(out io.Writer, now app.Clock) *Writer {
	w := &Writer{out: out, now: now}
	// goroutine: the timer owns it; it ends when its write has ended, and at most two of them wait for a write.
	w.timer = time.AfterFunc(time.Hour, func() { _ = w.Flush() })
	w.timer.Stop()
	return w
}

// Add adds a line with its end. It never waits for the output: the line is written with others soon afterwards, at once if it is urgent,
// or it is lost when too much waits. Add keeps no reference to the line.
func (w *Writer) Add(line []byte, isUrgent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(line)
	isUrgent = isUrgent || len(w.lines) >= earlyBytes && len(w.lines)-len(line) < earlyBytes
	if !w.armed || isUrgent {
		w.armed = true
		wait := lateMax
		if isUrgent {
			wait = 0
		}
		w.timer.Reset(wait)
	}
}

func (w *Writer) add(line []byte) {
	if len(w.lines)+len(line) > waitingBytes {
		w.lost++
		return
	}
	w.lines = append(w.lines, line...)
}

// Write writes a line after those that wait, and waits until it is written.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	w.add(line)
	w.mu.Unlock()
	return len(line), w.Flush()
}

// Flush writes all lines that wait.
func (w *Writer) Flush() error {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	lines, lost := w.lines, w.lost
	w.lines, w.spare, w.lost, w.armed = w.spare[:0], nil, 0, false
	w.mu.Unlock()
	if lost > 0 {
		lines = w.appendLost(lines, lost)
	}
	if len(lines) == 0 {
		w.keep(lines)
		return nil
	}
	_, err := w.out.Write(lines)
	w.keep(lines)
	return err
}

// keep keeps a written buffer for the lines after those that are being collected.
func (w *Writer) keep(buffer []byte) {
	if cap(buffer) > keptBytesMax {
		return
	}
	w.mu.Lock()
	w.spare = buffer[:0]
	w.mu.Unlock()
}

// appendLost appends a line that says how many lines were lost before it.
func (w *Writer) appendLost(b []byte, lost int64) []byte {
	b = append(b, `{"time":"`...)
	b = w.now().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","level":"WARN","msg":"log lines lost because the output blocked","lines":`...)
	return append(strconv.AppendInt(b, lost, 10), "}\n"...)
}
