package api

import (
	"fmt"
	"net/http"
	"strings"

	"umg/app"
	"umg/app/dialect"
	"umg/app/storage"
)

// rangeUnit begins the only ranges there are. RFC 9110, section 14.2: others are to be ignored.
const rangeUnit = "bytes="

// serveBlob answers with a file or a part of it. A part that the file does not have is an error like all others of the
// route, and not a line of text.
func (a *API) serveBlob(x *call, blob storage.Blob) error {
	r := x.Request()
	asked := r.Header.Get("Range")
	switch {
	case len(asked) < len(rangeUnit) || !strings.EqualFold(asked[:len(rangeUnit)], rangeUnit):
		r.Header.Del("Range")
	default:
		r.Header.Set("Range", rangeUnit+asked[len(rangeUnit):])
	}
	w := &rangeWriter{ResponseWriter: x.Response()}
	storage.Serve(w, r, blob, a.now)
	if !w.beyond {
		return nil
	}
	e := app.Errorf(app.Invalid, "range_not_satisfiable",
		"Range %s is no part of the file: it has %d bytes. Range is written as in bytes=0-1023.",
		quoted(shorten(asked)), blob.Info().Size).At("Range")
	x.log.Fail(e)
	h := x.Header()
	h.Del("Content-Disposition")
	h.Set("Content-Type", jsonType)
	h.Set("Content-Range", fmt.Sprintf("bytes */%d", blob.Info().Size))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Error-Code", e.Code)
	h.Add("Link", a.helpLink(e))
	_, body := dialect.Error(layouts[x.route.Family].style, e, x.log.RequestID)
	return x.Blob(http.StatusRequestedRangeNotSatisfiable, jsonType, body)
}

// rangeWriter holds back the response to a range that the file does not have.
type rangeWriter struct {
	http.ResponseWriter

	beyond bool
}

// WriteHeader writes the status, unless it is the one that is kept back.
func (w *rangeWriter) WriteHeader(status int) {
	if w.beyond = status == http.StatusRequestedRangeNotSatisfiable; !w.beyond {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write writes a piece of the file.
func (w *rangeWriter) Write(p []byte) (int, error) {
	if w.beyond {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets deadlines be set on the connection.
func (w *rangeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
