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

// TestBuffersAreNoLargerThanTwiceWhatHasCome reads bodies and looks at their buffers.
func TestBuffersAreNoLargerThanTwiceWhatHasCome(t *testing.T) {
	t.Parallel()
	a := &API{buffers: newBuffers()}
	for _, size := range []int{0, 1, bufferBytesMin - 1, bufferBytesMin, bufferBytesMin + 1, 100_000, 1 << 20, 3<<20 + 5} {
		b, err := a.fill(&call{}, trickle(size), -1)
		if err != nil || b.Len() != size || string(b.Bytes()) != strings.Repeat("x", size) {
			t.Fatalf("%d bytes: %d read, %v", size, b.Len(), err)
		}
		if room := cap(b.data); room >= max(bufferBytesMin+1, 2*size) || size > 0 && int64(room) != bufferFor(int64(size)) {
			t.Errorf("%d bytes: the buffer has room for %d", size, room)
		}
		a.release(b)
		a.release(b)
	}
	for _, size := range []int{bufferBytesMax, bufferBytesMax + 1, 6<<20 + 5} {
		b, err := a.fill(&call{}, trickle(size), int64(size))
		if err != nil || b.Len() != size || cap(b.data) != size || bufferFor(int64(size)) != int64(size) {
			t.Errorf("%d declared bytes: %d read into room for %d, %v", size, b.Len(), cap(b.data), err)
		}
		a.release(b)
	}
	for size := range 3 * bufferBytesMin { // what is put is found where it is looked for
		a.buffers.put(a.buffers.get(size))
		if b := a.buffers.get(size); cap(b) < size {
			t.Fatalf("for %d bytes there is a buffer of %d", size, cap(b))
		}
	}
}
