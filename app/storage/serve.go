package storage

import (
	"net/http"
	"time"
)

const (
	writeStallMax = 30 * time.Second // A client that reads nothing for this long is gone.
	writeStep     = 5 * time.Second  // Deadlines are renewed at most this often.
)

// Serve answers a GET or HEAD request with a blob: ranges, conditions and the usual headers; RFC 9110, sections 13 and
// 14. Each write has a deadline of its own, so that a slow reader may take as long as the file needs and one that has
// stopped reading ends.
func Serve(w http.ResponseWriter, r *http.Request, b Blob, now func() time.Time) {
	info := b.Info()
	h := w.Header()
	h.Set("Content-Type", info.Type)
	h.Set("ETag", info.ETag)
	http.ServeContent(&stallWriter{ResponseWriter: w, now: now}, r, "", info.ModifiedAt, b)
}

type stallWriter struct {
	http.ResponseWriter

	now      func() time.Time
	extended time.Time
}

// Write moves the deadline on and writes.
func (w *stallWriter) Write(p []byte) (int, error) {
	if now := w.now(); now.Sub(w.extended) >= writeStep {
		w.extended = now
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(now.Add(writeStallMax))
	}
	return w.ResponseWriter.Write(p)
}
