package plainhttp

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"umg/app/headerfield"

	"golang.org/x/net/http/httpguts"
)

const (
	lengthDigitsMax = 15
	linesMax        = 64
)

// head is the head of a plain request. Its header is used again for the next one.
type head struct {
	size   int // Size is the number of bytes of the head.
	path   string
	query  string
	host   string
	length int64 // Length is that of the body, at least one.
	header http.Header
	values []string
}

var (
	post    = []byte("POST ")
	version = []byte(" HTTP/1.1")
	lineEnd = []byte("\r\n")
	headEnd = []byte("\r\n\r\n")
)

// parse reads a head from the beginning of p. It reports false for everything that is not a plain request to one of the paths beyond
// doubt. It then has changed nothing; otherwise it has changed the case of the names in p.
func (h *head) parse(p []byte, paths map[string]bool) bool {
	end := bytes.Index(p, headEnd)
	if end < 0 || !bytes.HasPrefix(p, post) {
		return false
	}
	first := bytes.Index(p, lineEnd)
	target, ok := bytes.CutSuffix(p[len(post):first], version)
	if !ok {
		return false
	}
	path, query, _ := bytes.Cut(target, []byte("?"))
	if !paths[string(path)] || !isQuery(query) || len(path) < len(target) && len(query) == 0 {
		return false
	}
	h.length = 0
	hosts, lines := 0, 0
	for at := first + len(lineEnd); at < end+len(lineEnd); lines++ {
		size := bytes.Index(p[at:], lineEnd)
		if lines == linesMax || !h.check(p[at:at+size], &hosts) {
			return false
		}
		at += size + len(lineEnd)
	}
	if hosts != 1 || h.length == 0 {
		return false
	}
	h.size = end + len(headEnd)
	if cap(h.values) < lines {
		h.values = make([]string, lines)
	}
	h.values = h.values[:lines]
	h.take(p[:end+len(lineEnd)], first+len(lineEnd), len(path), len(query))
	return true
}

// isQuery reports whether a query can be passed on as it is.
func isQuery(query []byte) bool {
	for _, c := range query {
		if c <= ' ' || c >= 0x7f || c == '#' {
			return false
		}
	}
	return true
}

// check checks a line of the header and notes what it says of the framing. It reports false for a line that is wrong or that changes how
// the request is served.
func (h *head) check(line []byte, hosts *int) bool {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return false
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	if !headerfield.IsName(name) || !headerfield.IsValue(value) {
		return false
	}
	switch {
	case bytes.EqualFold(name, hostName):
		*hosts++
		return len(value) > 0 && httpguts.ValidHostHeader(string(value))
	case bytes.EqualFold(name, lengthName):
		return h.readLength(value)
	case bytes.EqualFold(name, connectionName):
		return bytes.EqualFold(value, keepAlive)
	}
	return !slices.ContainsFunc(otherNames[:], func(other []byte) bool { return bytes.EqualFold(name, other) })
}

var (
	hostName       = []byte("host")
	lengthName     = []byte("content-length")
	connectionName = []byte("connection")
	keepAlive      = []byte("keep-alive")

	// otherNames are the headers that net/http reads.
	otherNames = [...][]byte{
		[]byte("transfer-encoding"), []byte("expect"), []byte("upgrade"), []byte("trailer"), []byte("te"), []byte("pragma"),
	}
)

// readLength reads the one length of the body.
func (h *head) readLength(digits []byte) bool {
	if h.length != 0 || len(digits) == 0 || len(digits) > lengthDigitsMax {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
		h.length = 10*h.length + int64(c-'0')
	}
	return h.length > 0
}

// take makes the texts of a checked head, which share one piece of memory.
func (h *head) take(p []byte, from, pathSize, querySize int) {
	for at := from; at < len(p); at += bytes.Index(p[at:], lineEnd) + len(lineEnd) {
		headerfield.Canonicalize(p[at : at+bytes.IndexByte(p[at:], ':')])
	}
	text := string(p)
	h.path = text[len(post) : len(post)+pathSize]
	h.query = ""
	if querySize > 0 {
		at := len(post) + pathSize + 1
		h.query = text[at : at+querySize]
	}
	if h.header == nil {
		h.header = make(http.Header, len(h.values))
	}
	clear(h.header)
	rest := text[from:]
	for i := 0; rest != ""; i++ {
		var line string
		line, rest, _ = strings.Cut(rest, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if name == "Host" {
			h.host = value
			continue
		}
		if earlier := h.header[name]; earlier != nil {
			h.header[name] = append(earlier, value)
			continue
		}
		h.values[i] = value
		h.header[name] = h.values[i : i+1 : i+1]
	}
}

// release drops what the texts of the head hold.
func (h *head) release() {
	clear(h.header)
	clear(h.values)
	h.path, h.query, h.host = "", "", ""
}
