package plainhttp

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const path = "/v1/chat/completions"

var paths = map[string]bool{path: true}

// plainHead is the head of a plain request.
const plainHead = "POST " + path + " HTTP/1.1\r\nHost: gateway.example\r\nauthorization: Bearer key\r\nContent-Length: 2\r\nX-Two: a\r\nx-two:  b\t\r\n\r\n"

// FuzzPlainHeads compares the reading of heads with that of net/http.
func FuzzPlainHeads(f *testing.F) {
	for _, seed := range []string{
		plainHead + "{}",
		strings.Replace(plainHead, " HTTP", "?beta=true&x=%20 HTTP", 1) + "{}",
		strings.Replace(plainHead, "Content-Length: 2", "Content-Length: 02", 1) + "{}",
		strings.Replace(plainHead, "X-Two: a", "Connection: keep-alive", 1) + "{}",
		strings.Replace(plainHead, "X-Two: a", "X_under.score!: ü \xff", 1) + "{}",
		strings.Replace(plainHead, "X-Two: a", "Pragma: no-cache", 1) + "{}",
		strings.Replace(plainHead, "X-Two: a", "Transfer-Encoding: chunked", 1) + "2\r\n{}\r\n0\r\n\r\n",
		strings.Replace(plainHead, "X-Two: a", " folded", 1) + "{}",
		strings.Replace(plainHead, "gateway.example", "", 1) + "{}",
		strings.Replace(plainHead, "gateway.example", "a b", 1) + "{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		var h head
		if !h.parse(bytes.Clone(sent), paths) {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", sent, err)
		}
		delete(r.Header, "Host") // The server of net/http does so.
		target := h.path
		if h.query != "" {
			target += "?" + h.query
		}
		if r.Method != "POST" || r.Proto != "HTTP/1.1" || r.RequestURI != target || r.URL.Path != h.path || r.URL.RawQuery != h.query ||
			r.URL.RawPath != "" || r.URL.ForceQuery || r.Host != h.host || r.ContentLength != h.length || len(r.TransferEncoding) > 0 || r.Close {
			t.Errorf("%q: %+v, and net/http reads %+v", sent, h, r)
		}
		if !maps.EqualFunc(r.Header, h.header, slices.Equal) {
			t.Errorf("%q: the header is %v, and net/http reads %v", sent, h.header, r.Header)
		}
		body, _ := io.ReadAll(r.Body)
		if rest := sent[h.size:]; !bytes.Equal(body, rest[:min(int64(len(rest)), h.length)]) {
			t.Errorf("%q: the body begins elsewhere", sent)
		}
	})
}

func TestWhatIsNotPlainIsNotRead(t *testing.T) {
	t.Parallel()
	var h head
	if !h.parse([]byte(plainHead), paths) || h.host != "gateway.example" || h.length != 2 || h.size != len(plainHead) ||
		!slices.Equal(h.header["X-Two"], []string{"a", "b"}) || h.header["Authorization"][0] != "Bearer key" {
		t.Fatalf("%+v", h)
	}
	for name, change := range map[string][2]string{
		"method":                   {"POST ", "GET "},
		"other path":               {path, "/v1/models"},
		"escaped path":             {"/chat/", "/ch%61t/"},
		"absolute address":         {path, "http://gateway.example" + path},
		"empty query":              {path, path + "?"},
		"fragment":                 {path, path + "?a#b"},
		"space in the query":       {path, path + "?a b"},
		"version":                  {"HTTP/1.1", "HTTP/1.0"},
		"spaces before it":         {" HTTP", "  HTTP"},
		"no host":                  {"Host: gateway.example\r\n", ""},
		"two hosts":                {"X-Two: a", "host: b"},
		"empty host":               {"gateway.example", ""},
		"host with a space":        {"gateway.example", "a b"},
		"no length":                {"Content-Length: 2\r\n", ""},
		"length of zero":           {"Length: 2", "Length: 0"},
		"two lengths":              {"X-Two: a", "Content-Length: 2"},
		"signed length":            {"Length: 2", "Length: +2"},
		"list of lengths":          {"Length: 2", "Length: 2, 2"},
		"long length":              {"Length: 2", "Length: 2000000000000000"},
		"transfer encoding":        {"X-Two: a", "transfer-encoding: chunked"},
		"expectation":              {"X-Two: a", "Expect: 100-continue"},
		"upgrade":                  {"X-Two: a", "UPGRADE: h2c"},
		"trailer":                  {"X-Two: a", "Trailer: X"},
		"te":                       {"X-Two: a", "TE: trailers"},
		"pragma":                   {"X-Two: a", "Pragma: no-cache"},
		"connection that closes":   {"X-Two: a", "Connection: close"},
		"connection with a header": {"X-Two: a", "Connection: keep-alive, X-Two"},
		"space before a colon":     {"X-Two: a", "X-Two : a"},
		"folded line":              {"X-Two: a", " a"},
		"line without a colon":     {"X-Two: a", "X-Two"},
		"empty name":               {"X-Two: a", ": a"},
		"bare line feed":           {"X-Two: a", "X-Two: a\nX-Three: b"},
		"bare carriage return":     {"X-Two: a", "X-Two: a\rX-Three: b"},
		"NUL":                      {"X-Two: a", "X-Two: a\x00"},
		"many lines":               {"X-Two: a", strings.Repeat("X: a\r\n", linesMax) + "X-Two: a"},
		"a part of it":             {"\r\n\r\n", "\r\n"},
		"line feeds alone":         {"\r\n", "\n"},
	} {
		sent := strings.ReplaceAll(plainHead, change[0], change[1])
		if p := []byte(sent); sent == plainHead || h.parse(p, paths) || string(p) != sent {
			t.Errorf("%s: %q is read, or changed to %q", name, sent, p)
		}
	}
}
