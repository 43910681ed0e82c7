package http1

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"umg/app/headerfield"

	"golang.org/x/net/http/httpguts"
)

// answerError is an answer that cannot be understood.
type answerError struct{ problem string }

func (e *answerError) Error() string { return "http1: malformed answer: " + e.problem }

func malformed(problem string) error { return &answerError{problem} }

var errHeadTooLarge = errors.New("http1: response headers exceeded the bound")

// headEnd looks for the end of a head in p from the line that begins at from. It returns the length of the head, or zero and the
// beginning of the line to continue with. All lines must end with CR LF.
func headEnd(p []byte, from int) (length, next int, err error) {
	for {
		i := bytes.IndexByte(p[from:], '\n')
		switch {
		case i < 0:
			return 0, from, nil
		case i == 0 || p[from+i-1] != '\r':
			return 0, from, malformed("a line ends with a bare line feed")
		case i == 1:
			return from + 2, from, nil
		}
		from += i + 1
	}
}

// head is a parsed head of an answer.
type head struct {
	status    int
	text      string // Text is the status with its reason.
	minor     int    // Minor is that of the HTTP version.
	header    http.Header
	length    int64 // Length is that of the body, when there is no other framing; -1 when it is not said.
	chunked   bool
	mustClose bool // MustClose means that no other request can follow.
}

// keptLinesMax bounds the lines of a header whose memory is used again.
const keptLinesMax = 64

// headerMemory is memory for the header of an answer.
type headerMemory struct {
	header http.Header
	values []string
}

// take returns an empty header, and values for its lines.
func (m *headerMemory) take(lines int) (http.Header, []string) {
	if lines > keptLinesMax {
		return make(http.Header, lines), make([]string, lines)
	}
	m.clear()
	if m.header == nil || cap(m.values) < lines {
		m.header, m.values = make(http.Header, lines), make([]string, lines)
	}
	m.values = m.values[:lines]
	return m.header, m.values
}

func (m *headerMemory) clear() {
	clear(m.header)
	clear(m.values)
}

// parseHead parses a whole head, which ends with an empty line. It changes the case of names in p, and uses what memory held.
func parseHead(p []byte, memory *headerMemory) (head, error) {
	h := head{length: -1}
	lines := 0
	for at := bytes.IndexByte(p, '\n') + 1; at < len(p)-2; lines++ {
		end := bytes.IndexByte(p[at:], '\n')
		if err := canonicalizeLine(p[at : at+end-1]); err != nil {
			return h, err
		}
		at += end + 1
	}
	text := string(p)
	line, rest, _ := strings.Cut(text, "\r\n")
	if err := h.parseStatus(line); err != nil {
		return h, err
	}
	header, values := memory.take(lines)
	h.header = header
	for len(rest) > 2 {
		line, rest, _ = strings.Cut(rest, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if earlier := h.header[name]; earlier != nil {
			h.header[name] = append(earlier, value)
			continue
		}
		values[0] = value
		h.header[name], values = values[:1:1], values[1:]
	}
	return h, h.frame()
}

// parseStatus parses the first line.
func (h *head) parseStatus(line string) error {
	version, status, _ := strings.Cut(line, " ")
	switch version {
	case "HTTP/1.1":
		h.minor = 1
	case "HTTP/1.0":
	default:
		return malformed("the version is not HTTP/1.1 or HTTP/1.0")
	}
	if len(status) < 3 || len(status) > 3 && status[3] != ' ' || status[0] < '1' {
		return malformed("the status is not a number of three digits")
	}
	for _, c := range []byte(status[:3]) {
		if c < '0' || c > '9' {
			return malformed("the status is not a number of three digits")
		}
		h.status = h.status*10 + int(c-'0')
	}
	if !headerfield.IsValue(status) {
		return malformed("the reason has a control character")
	}
	h.text = status
	return nil
}

// frame finds the length of the body and whether the connection can be used again.
func (h *head) frame() error {
	connection := h.header["Connection"]
	if h.minor == 0 {
		h.mustClose = !httpguts.HeaderValuesContainsToken(connection, "keep-alive")
	}
	if len(connection) > 0 && httpguts.HeaderValuesContainsToken(connection, "close") {
		h.mustClose = true
		if h.minor == 1 {
			delete(h.header, "Connection")
		}
	}
	if pragma := h.header["Pragma"]; len(pragma) > 0 && pragma[0] == "no-cache" && h.header["Cache-Control"] == nil {
		h.header["Cache-Control"] = []string{"no-cache"} // RFC 7234, section 5.4; net/http does it too.
	}
	if codings := h.header["Transfer-Encoding"]; codings != nil {
		if len(codings) != 1 || !strings.EqualFold(codings[0], "chunked") || h.minor == 0 {
			return malformed("the transfer encoding is not chunked alone")
		}
		h.chunked = true
		delete(h.header, "Transfer-Encoding")
		if err := checkTrailerNames(h.header["Trailer"]); err != nil {
			return err
		}
		delete(h.header, "Trailer")
	}
	lengths := h.header["Content-Length"]
	for i, text := range lengths {
		if text != lengths[0] {
			return malformed("the content lengths differ")
		}
		n, err := parseLength(text)
		if err != nil {
			return err
		}
		h.length = n
		if i > 0 {
			h.header["Content-Length"] = lengths[:1:1]
		}
	}
	return nil
}

// checkTrailerNames refuses a trailer that would change how the answer is read.
func checkTrailerNames(values []string) error {
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "transfer-encoding", "trailer", "content-length":
				return malformed("the trailer has a header of the framing")
			}
		}
	}
	return nil
}

// lengthDigitsMax keeps lengths within an int64.
const lengthDigitsMax = 18

func parseLength(text string) (n int64, err error) {
	if text == "" || len(text) > lengthDigitsMax {
		return 0, malformed("the content length is not a number")
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, malformed("the content length is not a number")
		}
		n = n*10 + int64(c-'0')
	}
	return n, nil
}

// canonicalizeLine checks a header line without its end, and gives its name the usual case. A line that begins with a space continues the
// line before it in the obsolete way, and is refused.
func canonicalizeLine(line []byte) error {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return malformed("a header line has no name")
	}
	name := line[:colon]
	switch {
	case !headerfield.IsName(name):
		return fmt.Errorf("%w in its name", malformed("a header line has a wrong character"))
	case !headerfield.IsValue(line[colon+1:]):
		return malformed("a header value has a control character")
	}
	headerfield.Canonicalize(name)
	return nil
}
