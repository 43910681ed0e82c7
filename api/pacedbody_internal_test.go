package api

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// trickle is a body of so many bytes.
func trickle(n int) io.ReadCloser { return io.NopCloser(strings.NewReader(strings.Repeat("x", n))) }

// deadlineNoter notes the deadline of a connection.
type deadlineNoter struct {
	http.ResponseWriter

	until time.Time
}

func (n *deadlineNoter) SetReadDeadline(until time.Time) error {
	n.until = until
	return nil
}

// TestTheDeadlineOfABodyMovesWithItsBytes reads a body in steps and looks at the deadline that each has.
func TestTheDeadlineOfABodyMovesWithItsBytes(t *testing.T) {
	t.Parallel()
	began := time.Now()
	connection := &deadlineNoter{}
	p := &pacedBody{ReadCloser: trickle(8 << 20), connection: connection, started: began, timeMax: jsonTimeMax}
	read := 0
	for _, c := range []struct {
		bytes int
		until time.Duration
	}{
		{0, 5 * time.Second}, {32 << 10, 7 * time.Second}, {160 << 10, 15 * time.Second}, {1600 << 10, 105 * time.Second},
		{4 << 20, 120 * time.Second},
	} {
		if _, err := io.CopyN(io.Discard, p, int64(c.bytes-read)); err != nil {
			t.Fatal(err)
		}
		read = c.bytes
		if _, err := p.Read(make([]byte, 0)); err != nil {
			t.Fatal(err)
		}
		if deadline := connection.until.Sub(began); deadline != c.until {
			t.Errorf("after %d KiB the next must come within %s, want %s", c.bytes>>10, deadline, c.until)
		}
	}
}
