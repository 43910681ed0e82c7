package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"umg/app/provider/http1"
)

// scriptConn is a connection whose server sends fixed bytes in pieces of a size and takes everything.
type scriptConn struct {
	net.Conn

	answer *bytes.Reader
	piece  int
	closed atomic.Bool
}

func (c *scriptConn) Read(p []byte) (int, error) {
	if c.piece > 0 && len(p) > c.piece {
		p = p[:c.piece]
	}
	return c.answer.Read(p)
}

func (*scriptConn) Write(p []byte) (int, error)      { return len(p), nil }
func (*scriptConn) SetDeadline(time.Time) error      { return nil }
func (*scriptConn) SetWriteDeadline(time.Time) error { return nil }
func (c *scriptConn) Close() error {
	c.closed.Store(true)
	return nil
}

// ask returns the answer of a server that sends fixed bytes, and its body as far as it can be read.
func ask(method string, answer []byte, piece int) (resp *http.Response, body []byte, reusable bool, headErr, bodyErr error) {
	c := &scriptConn{answer: bytes.NewReader(answer), piece: piece}
	t := http1.New(http1.Options{DialContext: func(context.Context, string, string) (net.Conn, error) { return c, nil }})
	defer t.CloseIdleConnections()
	r, err := http.NewRequestWithContext(context.Background(), method, "http://upstream.example/", nil)
	if err != nil {
		panic(err)
	}
	resp, err = t.RoundTrip(r)
	if err != nil {
		return nil, nil, false, err, nil
	}
	defer resp.Body.Close()
	body, bodyErr = io.ReadAll(resp.Body)
	return resp, body, !c.closed.Load(), nil, bodyErr
}

// askStandard does the same with the parser of net/http. Rest are the bytes after the answer.
func askStandard(method string, answer []byte) (resp *http.Response, body []byte, rest int64, headErr, bodyErr error) {
	in := bufio.NewReader(bytes.NewReader(answer))
	for {
		var err error
		resp, err = http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return nil, nil, 0, err, nil
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			break
		}
	}
	body, bodyErr = io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	rest, _ = io.Copy(io.Discard, in)
	return resp, body, rest, nil, bodyErr
}

// wantAgreement fails when an answer is read in another way than net/http reads it. Refusing it is no disagreement.
func wantAgreement(t *testing.T, method string, answer []byte, piece int) {
	t.Helper()
	resp, body, reusable, headErr, bodyErr := ask(method, answer, piece)
	if headErr != nil {
		return
	}
	want, wantBody, rest, wantErr, wantBodyErr := askStandard(method, answer)
	if wantErr != nil {
		t.Fatalf("%s %q is accepted, and net/http refuses it: %v", method, answer, wantErr)
	}
	if resp.StatusCode != want.StatusCode || resp.Status != want.Status || resp.Proto != want.Proto || resp.ProtoMinor != want.ProtoMinor ||
		resp.ContentLength != want.ContentLength || resp.Close != want.Close || !slices.Equal(resp.TransferEncoding, want.TransferEncoding) {
		t.Fatalf("%s %q: %+v, want %+v", method, answer, resp, want)
	}
	if !maps.EqualFunc(resp.Header, want.Header, slices.Equal) {
		t.Fatalf("%s %q: header %q, want %q", method, answer, resp.Header, want.Header)
	}
	switch {
	case bodyErr != nil:
		if !bytes.HasPrefix(wantBody, body) {
			t.Fatalf("%s %q: body %q before an error, want a part of %q", method, answer, body, wantBody)
		}
	case wantBodyErr != nil || !bytes.Equal(body, wantBody):
		t.Fatalf("%s %q: body %q, want %q, %v", method, answer, body, wantBody, wantBodyErr)
	case reusable && piece == 0 && len(answer) < 16<<10 && (rest > 0 || want.Close):
		t.Fatalf("%s %q: the connection is used again with %d bytes after the answer", method, answer, rest)
	}
}

// goodAnswers are answers that must be accepted, with their bodies.
var goodAnswers = map[string]struct{ answer, body string }{
	"a length":           {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"},
	"an empty body":      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
	"equal lengths":      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\nhello", "hello"},
	"chunks":             {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n006  \r\n world\r\n0\r\n\r\n", "hello world"},
	"chunks and length":  {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: Chunked\r\n\r\nA;ext=1\r\n0123456789\r\n0\r\n\r\n", "0123456789"},
	"a trailer":          {"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0;last\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n", "a"},
	"to the close":       {"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello", "hello"},
	"HTTP/1.0":           {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi"},
	"HTTP/1.0 kept":      {"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi", "hi"},
	"close":              {"HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 2\r\n\r\nhi", "hi"},
	"no reason":          {"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", "hi"},
	"an empty reason":    {"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nhi", "hi"},
	"no content":         {"HTTP/1.1 204 No Content\r\n\r\n", ""},
	"not modified":       {"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n", ""},
	"continue":           {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx", "x"},
	"many values":        {"HTTP/1.1 200 OK\r\nset-cookie: a\r\nX:\t b \r\nSet-Cookie: c\r\nEmpty:\r\nContent-Length: 1\r\n\r\nx", "x"},
	"bytes over 127":     {"HTTP/1.1 200 Größe\r\nX-Text: größer\r\nContent-Length: 1\r\n\r\nx", "x"},
	"pragma":             {"HTTP/1.1 200 OK\r\nPragma: no-cache\r\nContent-Length: 1\r\n\r\nx", "x"},
	"a long head":        {"HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("y", 40_000) + "\r\nContent-Length: 1\r\n\r\nx", "x"},
	"a long body":        {"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("z", 100_000), strings.Repeat("z", 100_000)},
	"long chunks":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n" + strings.Repeat("z", 100_000) + "\r\n0\r\n\r\n", strings.Repeat("z", 100_000)},
	"chunks of one byte": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nz\r\n", 9000) + "0\r\n\r\n", strings.Repeat("z", 9000)},
}

func TestAnswersAreReadAsNetHTTPReadsThem(t *testing.T) {
	t.Parallel()
	for name, c := range goodAnswers {
		for _, piece := range []int{0, 1, 3, 1000} {
			_, body, _, headErr, bodyErr := ask(http.MethodGet, []byte(c.answer), piece)
			if headErr != nil || bodyErr != nil || string(body) != c.body {
				t.Errorf("%s in pieces of %d: %.50q, %v, %v", name, piece, body, headErr, bodyErr)
			}
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
				wantAgreement(t, method, []byte(c.answer), piece)
			}
		}
	}
}

// badHeads are answers that are refused before anything of their body is given.
var badHeads = map[string]string{
	"two lengths":             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
	"a list of lengths":       "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
	"a signed length":         "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
	"a negative length":       "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
	"a hexadecimal length":    "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello",
	"an empty length":         "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello",
	"a length over 63 bits":   "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nhello",
	"two codings":             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"gzip and chunked":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
	"chunked and identity":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
	"an unknown coding":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
	"an empty coding":         "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\nContent-Length: 1\r\n\r\nx",
	"chunks in HTTP/1.0":      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"a trailer of framing":    "HTTP/1.1 200 OK\r\nTrailer: X, content-length\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"a bare line feed":        "HTTP/1.1 200 OK\r\nContent-Length: 5\nX: y\r\n\r\nhello",
	"bare line feeds":         "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
	"a line feed at the end":  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\nhello",
	"a bare carriage return":  "HTTP/1.1 200 OK\r\nX: a\rContent-Length: 5\r\n\r\nhello",
	"an obsolete fold":        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 5\r\n\r\nhello",
	"a fold of the first":     "HTTP/1.1 200 OK\r\n X: a\r\nContent-Length: 5\r\n\r\nhello",
	"NUL in a value":          "HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 5\r\n\r\nhello",
	"NUL in a name":           "HTTP/1.1 200 OK\r\nX\x00: a\r\nContent-Length: 5\r\n\r\nhello",
	"a space before a colon":  "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello",
	"a space in a name":       "HTTP/1.1 200 OK\r\nContent Length: 5\r\n\r\nhello",
	"a name beyond ASCII":     "HTTP/1.1 200 OK\r\nÄ: x\r\nContent-Length: 5\r\n\r\nhello",
	"no name":                 "HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 5\r\n\r\nhello",
	"no colon":                "HTTP/1.1 200 OK\r\nhello\r\nContent-Length: 5\r\n\r\nhello",
	"an empty line first":     "\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"another protocol":        "ICY 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/2 by name":          "HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.2":                "HTTP/1.2 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"a small version":         "http/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"two spaces":              "HTTP/1.1  200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"a status of two digits":  "HTTP/1.1 20 OK\r\nContent-Length: 5\r\n\r\nhello",
	"a status of four digits": "HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\nhello",
	"a status below 100":      "HTTP/1.1 099 OK\r\nContent-Length: 5\r\n\r\nhello",
	"a signed status":         "HTTP/1.1 +20 OK\r\nContent-Length: 5\r\n\r\nhello",
	"NUL in the reason":       "HTTP/1.1 200 O\x00K\r\nContent-Length: 5\r\n\r\nhello",
	"no status":               "HTTP/1.1\r\n\r\n",
	"another protocol chosen": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
	"endless continues":       strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100) + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"text":                    "hello\r\n\r\n",
	"TLS":                     "\x15\x03\x01\x00\x02\x02\x16\r\n\r\n",
}

func TestMalformedHeadsAreRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range badHeads {
		for _, piece := range []int{0, 1} {
			_, _, _, err, _ := ask(http.MethodGet, []byte(answer), piece)
			if err == nil || !strings.Contains(err.Error(), "malformed") {
				t.Errorf("%s in pieces of %d: %v", name, piece, err)
			}
		}
	}
}

func TestEarlyEndsOfHeadsAreErrorsOfTheConnection(t *testing.T) {
	t.Parallel()
	whole := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
	for n := range len(whole) {
		if _, _, _, err, _ := ask(http.MethodGet, []byte(whole[:n]), 0); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", whole[:n], err)
		}
	}
}

func TestHeadsAreBounded(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"one line":       "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 70<<10) + "\r\n\r\n",
		"no end":         "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 200<<10),
		"many lines":     "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 12_000) + "\r\n",
		"many heads":     strings.Repeat("HTTP/1.1 100 Continue\r\nX: "+strings.Repeat("y", 30_000)+"\r\n\r\n", 3) + "HTTP/1.1 204 OK\r\n\r\n",
		"no line at all": strings.Repeat("y", 70<<10),
	} {
		for _, piece := range []int{0, 1000} {
			if _, _, _, err, _ := ask(http.MethodGet, []byte(answer), piece); err == nil || !strings.Contains(err.Error(), "response headers exceeded") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// badBodies are bodies in chunks that are refused, with what is given before.
var badBodies = map[string]struct{ body, given string }{
	"no size":                     {"\r\nhello\r\n0\r\n\r\n", ""},
	"a size that is no digit":     {"g\r\nhello\r\n0\r\n\r\n", ""},
	"a prefix":                    {"0x5\r\nhello\r\n0\r\n\r\n", ""},
	"a sign":                      {"+5\r\nhello\r\n0\r\n\r\n", ""},
	"a negative size":             {"-5\r\nhello\r\n0\r\n\r\n", ""},
	"a space before":              {" 5\r\nhello\r\n0\r\n\r\n", ""},
	"a space before an extension": {"5 ;x\r\nhello\r\n0\r\n\r\n", ""},
	"an underscore":               {"1_0\r\nhello\r\n0\r\n\r\n", ""},
	"a size over 60 bits":         {"10000000000000005\r\nhello\r\n0\r\n\r\n", ""},
	"a bare line feed":            {"5\nhello\r\n0\r\n\r\n", ""},
	"only a line feed":            {"\nhello\r\n0\r\n\r\n", ""},
	"two carriage returns":        {"5\r\r\nhello\r\n0\r\n\r\n", ""},
	"a line in an extension":      {"5;a\rb\r\nhello\r\n0\r\n\r\n", ""},
	"a longer chunk":              {"5\r\nhello!\r\n0\r\n\r\n", "hello"},
	"a shorter chunk":             {"6\r\nhello\r\n0\r\n\r\n", "hello\r"},
	"a bare end of a chunk":       {"5\r\nhello\n0\r\n\r\n", "hello"},
	"a long extension":            {"5;" + strings.Repeat("x", 5000) + "\r\nhello\r\n0\r\n\r\n", ""},
	"many extensions":             {strings.Repeat("1;"+strings.Repeat("x", 900)+"\r\nh\r\n", 30) + "0\r\n\r\n", "h*"},
	"a bad trailer":               {"5\r\nhello\r\n0\r\nno colon\r\n\r\n", "hello"},
	"a fold in a trailer":         {"5\r\nhello\r\n0\r\nA: b\r\n c\r\n\r\n", "hello"},
	"a bare trailer":              {"5\r\nhello\r\n0\r\n\n", "hello"},
	"a long trailer":              {"5\r\nhello\r\n0\r\n" + strings.Repeat("A: b\r\n", 1000) + "\r\n", "hello"},
	"no last chunk":               {"5\r\nhello\r\n", "hello"},
	"no end of the last":          {"5\r\nhello\r\n0\r\n", "hello"},
	"half a chunk":                {"5\r\nhel", "hel"},
	"nothing":                     {"", ""},
}

func TestMalformedBodiesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range badBodies {
		for _, piece := range []int{0, 1} {
			answer := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + c.body)
			_, body, reusable, headErr, bodyErr := ask(http.MethodGet, answer, piece)
			if headErr != nil || bodyErr == nil || reusable {
				t.Errorf("%s: %v, %v, used again %t", name, headErr, bodyErr, reusable)
			}
			if given, some := strings.CutSuffix(c.given, "*"); some && strings.Trim(string(body), given) != "" || !some && string(body) != given {
				t.Errorf("%s: the body is %q", name, body)
			}
			wantAgreement(t, http.MethodGet, answer, piece)
		}
	}
	_, body, _, _, err := ask(http.MethodGet, []byte("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), 0)
	if !errors.Is(err, io.ErrUnexpectedEOF) || string(body) != "hello" {
		t.Errorf("a body shorter than its length: %q, %v", body, err)
	}
}

func TestConnectionsWithBytesAfterAnAnswerAreClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, answer string
		reusable       bool
	}{
		"a length":               {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", true},
		"more than a length":     {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy", false},
		"another answer":         {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", false},
		"chunks":                 {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", true},
		"more than chunks":       {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n\r\n", false},
		"chunks with a length":   {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", false},
		"no content":             {"GET", "HTTP/1.1 204 No Content\r\n\r\n", true},
		"content of no content":  {"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\nx", false},
		"no body of HEAD":        {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", true},
		"a body of HEAD":         {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", false},
		"close":                  {"GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", false},
		"to the close":           {"GET", "HTTP/1.1 200 OK\r\n\r\nx", false},
		"HTTP/1.0":               {"GET", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", false},
		"HTTP/1.0 with a length": {"GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", true},
	} {
		if _, _, reusable, headErr, bodyErr := ask(c.method, []byte(c.answer), 0); headErr != nil || bodyErr != nil || reusable != c.reusable {
			t.Errorf("%s: %v, %v, used again %t", name, headErr, bodyErr, reusable)
		}
	}
}

// seedBytesMax keeps the fuzzer fast: it changes and shortens each seed.
const seedBytesMax = 1 << 10

func FuzzAnswers(f *testing.F) {
	for _, c := range goodAnswers {
		if len(c.answer) < seedBytesMax {
			f.Add([]byte(c.answer), uint8(0), uint8(0))
			f.Add([]byte(c.answer), uint8(1), uint8(7))
		}
	}
	for _, answer := range badHeads {
		if len(answer) < seedBytesMax {
			f.Add([]byte(answer), uint8(0), uint8(0))
		}
	}
	for _, c := range badBodies {
		if len(c.body) < seedBytesMax {
			f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+c.body), uint8(2), uint8(1))
		}
	}
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost}
	f.Fuzz(func(t *testing.T, answer []byte, method, piece uint8) {
		wantAgreement(t, methods[int(method)%len(methods)], answer, int(piece))
	})
}
