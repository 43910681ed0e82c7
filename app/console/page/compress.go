package page

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

const (
	compressBytesMin = 1 << 10 // A smaller page fits into one packet as it is.
	// compressLevel is the level of gzip with most of its gain at a third of the time of the best.
	compressLevel = 5
)

// secretMark is an attribute of elements that hold a secret which is shown once, such as a new API key. Pages with it are sent
// uncompressed: the length of a compressed page would tell those who can read lengths, and add text to the page, about the secret.
var secretMark = []byte("data-secret")

var compressors = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, compressLevel)
	if err != nil { // NewWriterLevel fails only for a level that does not exist.
		panic(err)
	}
	return w
}}

// compress returns a page as it is sent, and sets the headers that say how. The page comes back as it is if it is short, holds a
// secret, or is for a client that does not take gzip.
func compress(h http.Header, accepted string, page []byte) ([]byte, error) {
	h.Add("Vary", "Accept-Encoding")
	if len(page) < compressBytesMin || !takesGzip(accepted) || bytes.Contains(page, secretMark) {
		return page, nil
	}
	var b bytes.Buffer
	w := compressors.Get().(*gzip.Writer) //nolint:forcetypeassert // the pool holds nothing else
	defer compressors.Put(w)
	w.Reset(&b)
	if _, err := w.Write(page); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	h.Set("Content-Encoding", "gzip")
	return b.Bytes(), nil
}

// takesGzip reports whether an Accept-Encoding header names gzip, or any encoding, without refusing it by a weight of zero.
func takesGzip(accepted string) bool {
	for part := range strings.SplitSeq(accepted, ",") {
		name, parameters, _ := strings.Cut(part, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if name != "gzip" && name != "*" {
			continue
		}
		weight, hasWeight := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
		if !hasWeight {
			return true
		}
		q, err := strconv.ParseFloat(weight, 64)
		return err == nil && q > 0
	}
	return false
}
