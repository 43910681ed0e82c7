package simulator

import (
	"bytes"
	"container/list"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"umg/app/simulator/testvideo"
)

const (
	// filmsMax and filmBytesMax bound the films that are kept, the latest used ones.
	filmsMax     = 64
	filmBytesMax = 128 << 20
	// slowPiece and slowWait are how a slow file comes, unless its fault says another time.
	slowPiece = 1 << 10
	slowWait  = 100 * time.Millisecond
)

// filmKey is what a drawn file depends on.
type filmKey struct {
	variant string
	spec    testvideo.Spec
}

// films are the drawn files, so that one that is looked at often is drawn once. The zero value has none.
type films struct {
	mu     sync.Mutex
	byKey  map[filmKey]*list.Element
	recent list.List // The elements are *drawn, and the latest used is first.
	bytes  int
}

// drawn is a file, or one that is being drawn.
type drawn struct {
	key   filmKey
	once  sync.Once
	data  []byte
	bytes int // Bytes is the part of films.bytes for this file, and films.mu guards it.
}

// get draws a file, or finds it; those who want the same one at once wait for one drawing.
func (c *films) get(key filmKey, draw func(testvideo.Spec) []byte) []byte {
	c.mu.Lock()
	at, ok := c.byKey[key]
	if ok {
		c.recent.MoveToFront(at)
	} else {
		if c.byKey == nil {
			c.byKey = make(map[filmKey]*list.Element)
		}
		at = c.recent.PushFront(&drawn{key: key})
		c.byKey[key] = at
	}
	c.mu.Unlock()
	d, _ := at.Value.(*drawn) // All elements have this type.
	d.once.Do(func() {
		d.data = draw(key.spec)
		c.count(d, len(d.data))
	})
	return d.data
}

// count adds a drawn file, unless it was released since, and releases the least recently used files while there are too many.
func (c *films) count(d *drawn, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[d.key]; !ok || at.Value != any(d) {
		return
	}
	d.bytes = bytes
	c.bytes += bytes
	for c.recent.Len() > 1 && (c.recent.Len() > filmsMax || c.bytes > filmBytesMax) {
		last, _ := c.recent.Remove(c.recent.Back()).(*drawn) // All elements have this type.
		delete(c.byKey, last.key)
		c.bytes -= last.bytes
	}
}

// sendFile sends a file, whole or the range that is asked for, spoiled as the fault says.
func (x *exchange) sendFile(mime string, data []byte) {
	f := x.fault
	switch f.content {
	case "html":
		x.sendPage()
		return
	case "empty":
		data = nil
	case "wrong-type":
		mime = "text/plain; charset=utf-8"
	}
	h := x.head(mime)
	if f.content == "" && f.breaking == "" && f.drip == 0 {
		x.serveFile(h, data)
		return
	}
	h["Content-Length"] = []string{strconv.Itoa(len(data))}
	x.entry.status(http.StatusOK)
	switch {
	case f.content == "slow":
		x.w.WriteHeader(http.StatusOK)
		x.sendSlowly(data)
	case f.content == "short":
		x.w.WriteHeader(http.StatusOK)
		_ = x.write(data[:len(data)/2])
		x.flush()
		x.drop(false)
	case f.breaking != "":
		x.sendHalf(data)
	default:
		_ = x.write(data)
	}
}

// serveFile sends what is right, with ranges and a tag.
func (x *exchange) serveFile(h http.Header, data []byte) {
	sum := fnv.New64a()
	_, _ = sum.Write(data)
	h["Etag"] = []string{`"` + strconv.FormatUint(sum.Sum64(), 16) + `"`}
	counted := &countingWriter{ResponseWriter: x.w}
	http.ServeContent(counted, x.r, "", time.Time{}, bytes.NewReader(data))
	x.entry.status(counted.status)
	x.entry.wrote(counted.bytes, counted.err)
}

// countingWriter notes what a file server did.
type countingWriter struct {
	http.ResponseWriter

	status, bytes int
	err           error
}

// WriteHeader notes the status.
func (w *countingWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (w *countingWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	if err != nil {
		w.err = err
	}
	return n, err
}

func (x *exchange) sendSlowly(data []byte) {
	pause := slowWait
	if x.fault.drip > 0 {
		pause = x.fault.drip
	}
	sent := 0
	for sent < len(data) {
		n, err := x.w.Write(data[sent:min(sent+slowPiece, len(data))])
		sent += n
		x.entry.wrote(n, err)
		if err != nil {
			return
		}
		x.flush()
		if !x.pause(pause) {
			return
		}
	}
}

const mediaRoute = "/v1/media/"

// mediaPath matches the files of the tasks service, which need no key.
func mediaPath(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, mediaRoute)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, ".mp4")
}

// serveMedia sends a file of the tasks service.
func serveMedia(x *exchange) {
	x.style, x.prompt = &tasksService.style, &prompt{}
	x.id = x.mint("req_")
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		x.wrongMethod("GET, HEAD")
		return
	}
	r := x.sim.renders.findResult(x.provider, x.tail)
	if r == nil {
		x.fail(failure{status: http.StatusNotFound})
		return
	}
	x.sendOwnFile(r)
}

// sendOwnFile sends the video of a render to a caller that has its address.
func (x *exchange) sendOwnFile(r *render) {
	if !x.about(onContent, r) {
		return
	}
	now := x.sim.options.Now()
	if x.sim.renders.peek(r, now).stage != succeeded {
		x.fail(failure{status: http.StatusNotFound, message: "There is no such file."})
		return
	}
	if v := x.r.URL.Query().Get("expires"); v != "" || r.fault.expiry > 0 {
		if ms, err := strconv.ParseInt(v, 10, 64); err != nil || now.UnixMilli() > ms {
			x.fail(failure{status: http.StatusForbidden, message: "The address has expired."})
			return
		}
	}
	x.sendFile("video/mp4", x.sim.films.get(filmKey{"video", r.film()}, testvideo.MP4))
}
