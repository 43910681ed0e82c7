package rawhttp_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"umg/e2e/rawhttp"
)

// TestMessagesAreReadOneAfterTheOther reads bodies of both kinds, whole and byte by byte.
func TestMessagesAreReadOneAfterTheOther(t *testing.T) {
	const stream = "POST /a HTTP/1.1\r\nHost: x\r\ncontent-length: 5\r\n\r\nhello" +
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nT: v\r\n\r\n" +
		"GET /b HTTP/1.1\r\nConnection: close\r\n\r\n"
	for _, in := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
		r := rawhttp.NewReader(in, 64)
		for _, want := range []struct {
			start, body string
			closes      bool
		}{{"POST /a HTTP/1.1", "hello", false}, {"HTTP/1.1 200 OK", "hello world", false}, {"GET /b HTTP/1.1", "", true}} {
			h, err := r.Head()
			if err != nil || string(h.Start) != want.start || h.Close != want.closes {
				t.Fatalf("head %q, closes %v, error %v; want %+v", h.Start, h.Close, err, want)
			}
			var body []byte
			if err := r.Body(h, func(part []byte) { body = append(body, part...) }); err != nil || string(body) != want.body {
				t.Errorf("body %q, error %v; want %q", body, err, want.body)
			}
		}
		if _, err := r.Head(); !errors.Is(err, io.EOF) {
			t.Errorf("the error at the end is %v, want EOF", err)
		}
	}
}

// TestBrokenMessagesAreErrors reads messages that are cut or malformed.
func TestBrokenMessagesAreErrors(t *testing.T) {
	for _, text := range []string{
		"POST / HTTP/1.1", "POST / HTTP/1.1\r\nno colon\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhell", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n",
	} {
		r := rawhttp.NewReader(strings.NewReader(text), 64)
		h, err := r.Head()
		if err == nil {
			err = r.Body(h, nil)
		}
		if err == nil {
			t.Errorf("%q was read without an error", text)
		}
	}
}
