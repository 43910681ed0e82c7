package requestbody

import (
	"io"
	"strings"
	"testing"
)

// trickle is a body of so many bytes.
func trickle(n int) io.Reader { return strings.NewReader(strings.Repeat("x", n)) }

// TestBuffersAreNoLargerThanTwiceWhatHasCome reads bodies and looks at their buffers.
func TestBuffersAreNoLargerThanTwiceWhatHasCome(t *testing.T) {
	t.Parallel()
	p := NewPool()
	for _, size := range []int{0, 1, BytesMin - 1, BytesMin, BytesMin + 1, 100_000, 1 << 20, 3<<20 + 5} {
		var b Body
		b.Begin(p, nil)
		read, err := b.Fill(trickle(size), -1)
		if err != nil || read != int64(size) || b.Len() != size || string(b.Bytes()) != strings.Repeat("x", size) {
			t.Fatalf("%d bytes: %d read, %v", size, b.Len(), err)
		}
		if room := cap(b.data); room >= max(BytesMin+1, 2*size) || size > 0 && int64(room) != BufferFor(int64(size)) {
			t.Errorf("%d bytes: the buffer has room for %d", size, room)
		}
		b.Release()
		b.Release()
		if b.Bytes() != nil {
			t.Errorf("%d bytes: a released body has bytes", size)
		}
	}
	for _, size := range []int{BytesMax, BytesMax + 1, 6<<20 + 5} {
		var b Body
		b.Begin(p, nil)
		_, err := b.Fill(trickle(size), int64(size))
		if err != nil || b.Len() != size || cap(b.data) != size || BufferFor(int64(size)) != int64(size) {
			t.Errorf("%d declared bytes: %d read into room for %d, %v", size, b.Len(), cap(b.data), err)
		}
		b.Release()
	}
	// A buffer that was put must come back only for sizes that it has room for.
	for size := range 3 * BytesMin {
		p.put(p.get(size))
		if b := p.get(size); cap(b) < size {
			t.Fatalf("for %d bytes there is a buffer of %d", size, cap(b))
		}
	}
}

// TestAReleasedBodyIsOverwritten has a pool whose released bodies a test can tell from those in use.
func TestAReleasedBodyIsOverwritten(t *testing.T) {
	t.Parallel()
	p := NewPool()
	p.Overwrite = true
	var b Body
	b.Begin(p, nil)
	if _, err := b.Fill(trickle(9), -1); err != nil {
		t.Fatal(err)
	}
	bytes := b.Bytes()
	b.Release()
	if string(bytes) != "#########" {
		t.Errorf("the bytes are %q", bytes)
	}
	(*Body)(nil).Release()
}
