package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"umg/e2e/rawhttp"
)

const (
	answerBufferBytes = 16 << 10
	callTimeMax       = time.Minute
	dialTimeMax       = 5 * time.Second
	// markBytesMax is more than the longest mark of a stream has.
	markBytesMax = 32
)

// contentMark begins the text of every answer of the mock upstream. Its arrival is the first content.
var contentMark = []byte("lorem")

// request is one HTTP request, ready to be written.
type request struct {
	address string
	bytes   []byte
	// end is in the last event of a stream; empty for an answer in one piece.
	end string
}

// newRequest makes a request to the origin, which is a host and a port. The key may be empty.
func newRequest(method, address, path, key, body, end string) *request {
	var b bytes.Buffer
	// Keys of other customers than the demo's would otherwise get errors with the status 200.
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nAuthorization: Bearer %s\r\n"+
		"X-Error-Status: standard\r\n", method, path, address, cmp.Or(key, "none"))
	if method == http.MethodPost {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return &request{address: address, bytes: b.Bytes(), end: end}
}

// answer is what a client saw of one call. Times count from when it was sent.
type answer struct {
	status int
	err    error
	// first is the time of the first content, or of the answer when that has none.
	first time.Duration
	whole time.Duration
	body  []byte
}

// succeeded reports whether the answer is a whole success.
func (a answer) succeeded() bool { return a.err == nil && a.status == http.StatusOK }

// client makes calls over one connection, one after the other.
type client struct {
	conn net.Conn
	in   *rawhttp.Reader
	// opened is called at the first content of each answer, if it is set.
	opened func()
	sent   time.Time
	result answer
	// tail is the end of the last part of the answer, and across has room for it and the beginning of the next part.
	tail, across []byte
	ended        bool
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// call makes one call and reads its answer whole.
func (c *client) call(r *request) answer {
	c.result, c.tail, c.ended = answer{}, c.tail[:0], r.end == ""
	if err := c.exchange(r); err != nil {
		c.result.err = err
		c.close()
	}
	c.result.whole = time.Since(c.sent)
	c.result.first = cmp.Or(c.result.first, c.result.whole)
	return c.result
}

func (c *client) exchange(r *request) error {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", r.address, dialTimeMax)
		if err != nil {
			return err
		}
		c.conn, c.in = conn, rawhttp.NewReader(conn, answerBufferBytes)
	}
	c.sent = time.Now()
	if err := c.conn.SetDeadline(c.sent.Add(callTimeMax)); err != nil {
		return err
	}
	if _, err := c.conn.Write(r.bytes); err != nil {
		return err
	}
	head, err := c.in.Head()
	if err != nil {
		return err
	}
	_, status, _ := bytes.Cut(head.Start, []byte(" "))
	if c.result.status, err = strconv.Atoi(string(status[:min(3, len(status))])); err != nil {
		return rawhttp.ErrHead
	}
	if c.result.status != http.StatusOK {
		c.ended = true
		err = c.in.Body(head, func(part []byte) { c.result.body = append(c.result.body, part...) })
	} else {
		err = c.in.Body(head, func(part []byte) { c.look(part, r.end) })
	}
	if err == nil && !c.ended {
		err = fmt.Errorf("the stream ended without %s", r.end)
	}
	if head.Close {
		c.close()
	}
	return err
}

// look searches a part of an answer for its first content and its last event. A mark may lie across two parts.
func (c *client) look(part []byte, end string) {
	if c.result.first > 0 && c.ended {
		return
	}
	c.across = append(append(c.across[:0], c.tail...), part[:min(markBytesMax, len(part))]...)
	has := func(mark []byte) bool { return bytes.Contains(part, mark) || bytes.Contains(c.across, mark) }
	if c.result.first == 0 && has(contentMark) {
		c.result.first = time.Since(c.sent)
		if c.opened != nil {
			c.opened()
		}
	}
	c.ended = c.ended || has([]byte(end))
	if len(part) >= markBytesMax {
		c.tail = append(c.tail[:0], part[len(part)-markBytesMax:]...)
	} else {
		c.tail = append(c.tail[:0], c.across[max(0, len(c.across)-markBytesMax):]...)
	}
}
