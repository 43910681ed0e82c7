package http1

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
)

// framingKind is how the end of a body is found.
type framingKind uint8

const (
	none framingKind = iota
	counted
	chunked
	untilClose
)

const (
	chunkLineBytesMax   = 1 << 10
	chunkExcessBytesMax = 16 << 10 // This bounds what is not data in all chunks, as in net/http.
	chunkExcessEach     = 16       // This much of each chunk, and twice its data, does not count.
	trailerBytesMax     = 2 << 10
	chunkDigitsMax      = 15
)

// framing finds the end of a body.
type framing struct {
	kind      framingKind
	inData    bool  // A chunk with its bytes and its end was begun.
	inTrailer bool  // The last chunk was read.
	left      int64 // Left is the number of bytes to the end of the body or of the chunk.
	excess    int64
	trailer   int // Trailer counts the bytes of the trailer.
}

// Read reads the body. Its memory is held only while bytes are there that no one has read.
func (x *Exchange) Read(p []byte) (int, error) {
	x.mu.Lock()
	switch {
	case x.closed:
		x.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	case x.err != nil:
		defer x.mu.Unlock()
		return 0, x.err
	case x.reading:
		x.mu.Unlock()
		return 0, errors.New("http1: two goroutines read a body at once")
	}
	x.reading = true
	x.mu.Unlock()

	n, err := x.framing.read(x.conn, p)

	x.mu.Lock()
	defer x.mu.Unlock()
	x.reading = false
	if err != nil {
		x.finish(errors.Is(err, io.EOF))
		if !errors.Is(err, io.EOF) {
			err = x.failure(err)
		}
		x.err = err
	}
	if x.closed {
		x.finish(false)
	}
	return n, err
}

// failure is the error for the caller: the cause of the context's end, if it has ended.
func (x *Exchange) failure(err error) error {
	switch {
	case x.ctx.Err() != nil:
		return context.Cause(x.ctx)
	case x.closed:
		return http.ErrBodyReadAfterClose
	}
	return err
}

// Close ends the exchange. The connection is used again when the body was read to its end, or when the rest of it has arrived.
func (x *Exchange) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
	case x.finished:
	case x.reading:
		x.conn.socket.abort()
	default:
		x.finish(x.framing.skip(x.conn.in))
	}
	x.closed = true
	return nil
}

// skip consumes the rest of a body that has arrived. It reports whether that was all of it.
func (f *framing) skip(in *buffer) bool {
	switch f.kind {
	case counted:
		n := min(int64(in.len()), f.left)
		in.consume(int(n))
		f.left -= n
		return f.left == 0
	case chunked:
		for {
			n, more, err := f.nextChunkPart(in)
			if err != nil || more {
				return errors.Is(err, io.EOF)
			}
			in.consume(n)
			f.left -= int64(n)
		}
	case none, untilClose:
	}
	return false
}

// read reads at least one byte of the body. It returns io.EOF with the last bytes when the end is known.
func (f *framing) read(c *conn, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	switch f.kind {
	case counted:
		n, err := readSome(c, p, f.left)
		f.left -= int64(n)
		switch {
		case f.left == 0 && err == nil:
			return n, io.EOF
		case errors.Is(err, io.EOF):
			return n, io.ErrUnexpectedEOF
		}
		return n, err
	case chunked:
		return f.readChunks(c, p)
	case none, untilClose:
	}
	return readSome(c, p, int64(len(p)))
}

// readSome reads at most so many bytes, and waits for the first.
func readSome(c *conn, p []byte, most int64) (int, error) {
	if int64(len(p)) > most {
		p = p[:most]
	}
	if c.in.len() == 0 {
		if len(p) >= directBytesMin {
			return c.readDirect(p)
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.in.bytes())
	c.in.consume(n)
	return n, nil
}

// readChunks reads the bytes of all chunks that have arrived, and waits for the first byte.
func (f *framing) readChunks(c *conn, p []byte) (n int, err error) {
	for {
		most, more, err := f.nextChunkPart(c.in)
		switch {
		case err != nil:
			return n, err
		case more && n > 0, n == len(p):
			return n, nil
		case more && f.left > 0 && f.inData:
			got, err := readSome(c, p, f.left)
			f.left -= int64(got)
			n += got
			if err != nil {
				return n, unexpected(err)
			}
		case more:
			if err := c.fill(); err != nil {
				return n, unexpected(err)
			}
		default:
			got := copy(p[n:], c.in.bytes()[:most])
			c.in.consume(got)
			f.left -= int64(got)
			n += got
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// nextChunkPart consumes what is not data, and returns how many bytes of data follow in the buffer. More means that bytes must arrive
// first. The error at the end of the body is io.EOF.
func (f *framing) nextChunkPart(in *buffer) (data int, more bool, err error) {
	for {
		switch {
		case f.inTrailer:
			return f.readTrailer(in)
		case f.inData && f.left > 0:
			n := int(min(f.left, int64(in.len())))
			return n, n == 0, nil
		case f.inData:
			end := in.bytes()
			if len(end) < 2 {
				return 0, true, nil
			}
			if end[0] != '\r' || end[1] != '\n' {
				return 0, false, malformed("a chunk is longer than its size")
			}
			in.consume(2)
			f.inData = false
		}
		line, more, err := takeLine(in, chunkLineBytesMax)
		if more || err != nil {
			return 0, more, err
		}
		if err := f.beginChunk(line); err != nil {
			return 0, false, err
		}
		in.consume(len(line) + 2)
	}
}

// takeLine returns the line at the beginning of the buffer without its end, and does not consume it.
func takeLine(in *buffer, bytesMax int) (line []byte, more bool, err error) {
	p := in.bytes()
	i := bytes.IndexByte(p[:min(len(p), bytesMax)], '\n')
	switch {
	case i < 0 && len(p) >= bytesMax:
		return nil, false, malformed("a line of the body is too long")
	case i < 0:
		return nil, true, nil
	case i == 0 || bytes.IndexByte(p[:i], '\r') != i-1:
		return nil, false, malformed("a line of the body does not end with CR LF")
	}
	return p[:i-1], false, nil
}

// beginChunk parses the line with the size of a chunk.
func (f *framing) beginChunk(line []byte) error {
	f.excess += int64(len(line)) + 4
	size := bytes.TrimRight(line, " \t")
	if i := bytes.IndexByte(size, ';'); i >= 0 {
		size = size[:i]
	}
	if len(size) == 0 || len(size) > chunkDigitsMax {
		return malformed("the size of a chunk is not a number")
	}
	var n int64
	for _, c := range size {
		digit := hexDigit(c)
		if digit < 0 {
			return malformed("the size of a chunk is not a number")
		}
		n = n<<4 | digit
	}
	if f.excess = max(f.excess-chunkExcessEach-2*n, 0); f.excess > chunkExcessBytesMax {
		return malformed("the chunks have too much that is not data")
	}
	f.left, f.inData, f.inTrailer = n, n > 0, n == 0
	return nil
}

func hexDigit(c byte) int64 {
	switch {
	case '0' <= c && c <= '9':
		return int64(c - '0')
	case 'a' <= c && c <= 'f':
		return int64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int64(c-'A') + 10
	}
	return -1
}

// readTrailer checks the lines of a trailer and drops them.
func (f *framing) readTrailer(in *buffer) (data int, more bool, err error) {
	for {
		line, more, err := takeLine(in, trailerBytesMax-f.trailer)
		if more || err != nil {
			return 0, more, err
		}
		length := len(line) + 2
		if len(line) > 0 {
			err = canonicalizeLine(line)
		} else {
			err = io.EOF
		}
		in.consume(length)
		if err != nil {
			return 0, false, err
		}
		f.trailer += length
	}
}
