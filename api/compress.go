package api

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// compressedBody is a body that was compressed once, and the tag of the plain one.
type compressedBody struct {
	of, tag string
	body    []byte
}

// compressedListsMax bounds the lists that are kept compressed. Accounts that see the same models share one.
const compressedListsMax = 8

// compressedList compresses the list of all models once for each catalog: every caller of the same view whose key is not narrowed to
// some models gets the same bytes.
func (a *API) compressedList(body []byte, tag string) *compressedBody {
	known := a.modelLists.Load()
	for i := 0; known != nil && i < len(*known); i++ {
		if p := (*known)[i]; p.of == tag {
			return p
		}
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body) // Writes to a buffer do not fail.
	_ = z.Close()
	p := &compressedBody{of: tag, tag: strings.TrimSuffix(tag, `"`) + `-gzip"`, body: b.Bytes()}
	lists := []*compressedBody{p}
	if known != nil {
		lists = append(lists, (*known)[:min(len(*known), compressedListsMax-1)]...)
	}
	a.modelLists.Store(&lists)
	return p
}

// takesGzip reports whether the caller named gzip among the encodings it reads, and did not rule it out.
func takesGzip(h http.Header) bool {
	for _, v := range h["Accept-Encoding"] {
		for coding := range strings.SplitSeq(v, ",") {
			name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
			if strings.EqualFold(name, "gzip") {
				return strings.Trim(strings.TrimPrefix(strings.ToLower(weight), "q="), "0.") != "" || weight == ""
			}
		}
	}
	return false
}
