package simulator

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
)

// wholes are the faults that take the place of the answer.
var wholes = map[string]func(x *exchange){
	"status": func(x *exchange) { x.fail(x.fault.failure()) },
	"reset":  func(x *exchange) { x.drop(true) },
	"stall":  (*exchange).stall,
	"redirect": func(x *exchange) {
		x.head("text/plain").Set("Location", x.fault.url)
		x.entry.status(http.StatusFound)
		x.w.WriteHeader(http.StatusFound)
	},
	"html": (*exchange).sendPage,
	"empty": func(x *exchange) {
		if x.prompt.stream {
			x.head(eventStream)
		} else {
			x.head("application/json")
		}
		x.entry.status(http.StatusOK)
		x.w.WriteHeader(http.StatusOK)
	},

	// It says 200 and means an error: in the stream when one was asked for, else in the body.
	"error-in-200": func(x *exchange) {
		e := x.fault.failure()
		if !x.prompt.stream {
			x.sendJSON(func(b *buffer) { x.style.fail(b, x, e) })
			return
		}
		o := x.newStream()
		defer x.sim.buffers.put(o.buffer)
		o.start()
		x.style.failLate(o, x, e)
		o.flush()
	},
	// It sends a head that no HTTP client may take.
	"bad-header": func(x *exchange) {
		conn, _, err := http.NewResponseController(x.w).Hijack()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Bad\x00Name: \x01\r\nContent-Length: 2\r\n\r\n{}"))
		_ = conn.Close()
	},

	"context-length": func(x *exchange) { x.fail(tooLong[x.style.name]) },
	"content-filter": func(x *exchange) { x.fail(filtered[x.style.name]) },
}

func (x *exchange) sendPage() {
	x.head("text/html; charset=utf-8")
	x.entry.status(http.StatusOK)
	x.write([]byte("<!doctype html><html><head><title>Just a moment</title></head>" +
		"<body><h1>Checking your browser</h1></body></html>\n"))
}

// bomb answers with a body that is small on the wire and large when it is unpacked.
func (x *exchange) bomb() {
	x.head("application/json").Set("Content-Encoding", "gzip")
	x.entry.status(http.StatusOK)
	zip := gzip.NewWriter(x.w)
	block := []byte(strings.Repeat(" ", 64<<10))
	for left := x.fault.gzip; left > 0; left -= int64(len(block)) {
		if _, err := zip.Write(block[:min(left, int64(len(block)))]); err != nil {
			return
		}
	}
	_ = zip.Close()
}

// sendJSON renders a whole answer and sends it, spoiled as the fault says.
func (x *exchange) sendJSON(render func(b *buffer)) {
	b := x.sim.buffers.take()
	defer x.sim.buffers.put(b)
	render(b)
	f := x.fault
	if f.hugeLine > 0 {
		b.pad(0, f.hugeLine)
	}
	if f.truncated || f.malformedAt > 0 {
		b.b = b.b[:len(b.b)/2]
	}
	if f.extra {
		b.raw("\n" + `{"extra":true} trailing garbage`)
	}
	h := x.head("application/json")
	h["Content-Length"] = []string{strconv.Itoa(len(b.b))}
	x.entry.status(http.StatusOK)
	if f.breaking != "" {
		x.sendHalf(b.b)
		return
	}
	if !x.write(b.b) {
		return
	}
	switch {
	case f.closeIdle:
		x.flush()
		x.drop(false)
	case f.keepOpen:
		x.flush()
		x.stall()
	}
}

// sendHalf breaks off a body: before its first byte when the fault says zero, else in the middle.
func (x *exchange) sendHalf(body []byte) {
	if x.fault.breakAfter == 0 {
		body = nil
	}
	x.w.WriteHeader(http.StatusOK)
	if !x.write(body[:len(body)/2]) {
		return
	}
	x.flush()
	switch x.fault.breaking {
	case "stall", "chatter":
		x.stall()
	default:
		x.drop(x.fault.breaking == "reset")
	}
}

// write sends bytes, one at a time when the fault is a slow drip, and reports whether the client took them.
func (x *exchange) write(data []byte) bool {
	if x.fault.drip == 0 {
		_, err := x.w.Write(data)
		x.entry.wrote(len(data), err)
		return err == nil
	}
	for i := range data {
		if _, err := x.w.Write(data[i : i+1]); err != nil {
			x.entry.wrote(i, err)
			return false
		}
		x.flush()
		if !x.pause(x.fault.drip) {
			x.entry.wrote(i+1, nil)
			return false
		}
	}
	x.entry.wrote(len(data), nil)
	return true
}

func (x *exchange) flush() { _ = http.NewResponseController(x.w).Flush() }
