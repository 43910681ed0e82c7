package rawhttp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// Errors of messages that cannot be read.
var (
	ErrHead  = errors.New("rawhttp: the head of the message cannot be read")
	ErrChunk = errors.New("rawhttp: the chunks of the body cannot be read")
)

// chunked is the Length of a body that comes in chunks.
const chunked = -1

// Head is the part of the head of a message that its reader needs.
type Head struct {
	// Start is the first line without its end. It is valid until the next call of Head.
	Start []byte
	// Length is the number of bytes of the body, or negative for a body in chunks.
	Length int64
	// Close reports whether the sender closes the connection after the message.
	Close bool
}

// Reader reads the messages of one connection.
type Reader struct {
	in    *bufio.Reader
	start []byte
}

// NewReader returns a reader with a buffer of so many bytes, which must be more than the longest line.
func NewReader(r io.Reader, size int) *Reader { return &Reader{in: bufio.NewReaderSize(r, size)} }

// Head reads the head of the next message. The error is io.EOF when the connection ends before it.
func (r *Reader) Head() (Head, error) {
	line, err := r.in.ReadSlice('\n')
	if err != nil {
		if len(line) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Head{}, err
	}
	r.start = append(r.start[:0], bytes.TrimRight(line, "\r\n")...)
	h := Head{Start: r.start}
	for {
		if line, err = r.in.ReadSlice('\n'); err != nil {
			return Head{}, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			return h, nil
		}
		if err := h.add(line); err != nil {
			return Head{}, err
		}
	}
}

// add reads one header.
func (h *Head) add(line []byte) (err error) {
	name, value, found := bytes.Cut(line, []byte(":"))
	if !found {
		return ErrHead
	}
	value = bytes.TrimSpace(value)
	// Most headers are told apart by their length alone.
	switch {
	case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
		if h.Length, err = strconv.ParseInt(string(value), 10, 64); err != nil || h.Length < 0 {
			return ErrHead
		}
	case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		h.Length = chunked
	case len(name) == len("Connection") && bytes.EqualFold(name, []byte("Connection")):
		h.Close = bytes.EqualFold(value, []byte("close"))
	}
	return nil
}

// Body reads the body of a message. It passes the parts to each as they come; each may be nil, and may keep no part.
func (r *Reader) Body(h Head, each func(part []byte)) error {
	if h.Length >= 0 {
		return r.take(h.Length, each)
	}
	for {
		size, err := r.chunkSize()
		if err != nil {
			return err
		}
		if size == 0 {
			return r.trailers()
		}
		if err := r.take(size, each); err != nil {
			return err
		}
		if end, err := r.in.ReadSlice('\n'); err != nil || len(bytes.TrimRight(end, "\r\n")) > 0 {
			return errors.Join(ErrChunk, err)
		}
	}
}

// take passes on the next bytes of a body.
func (r *Reader) take(size int64, each func([]byte)) error {
	for size > 0 {
		if _, err := r.in.Peek(1); err != nil {
			return io.ErrUnexpectedEOF
		}
		part, err := r.in.Peek(int(min(size, int64(r.in.Buffered()))))
		if err != nil {
			return err
		}
		if each != nil {
			each(part)
		}
		size -= int64(len(part))
		if _, err := r.in.Discard(len(part)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) chunkSize() (int64, error) {
	line, err := r.in.ReadSlice('\n')
	if err != nil {
		return 0, errors.Join(ErrChunk, err)
	}
	line, _, _ = bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(";"))
	size, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 32)
	if err != nil {
		return 0, ErrChunk
	}
	return int64(size), nil
}

func (r *Reader) trailers() error {
	for {
		line, err := r.in.ReadSlice('\n')
		if err != nil {
			return errors.Join(ErrChunk, err)
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return nil
		}
	}
}
