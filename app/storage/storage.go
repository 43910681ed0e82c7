// Package storage keeps blobs in a folder or in an S3 bucket. Open a Store with Open, and use Put, Open and Delete by key.
//
// Put returns only when the blob is durable, because a video is charged after that: the folder store syncs the file and the
// entries of its directories itself.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"time"
)

const (
	keyBytesMax     = 512
	segmentBytesMax = 120
	typeBytesMax    = 128
	blobBytesMax    = 5 << 30 // S3 accepts this much in one request, far more than a video has.
	typeUnknown     = "application/octet-stream"
)

var (
	// ErrNotFound means that there is no such blob.
	ErrNotFound = errors.New("storage: no such blob")
	// ErrKey means that a key is not one of [a-z0-9/_.-] with plain segments.
	ErrKey = errors.New("storage: not a key")
	// ErrSize means that a body had another length than said, or was longer than a blob may be.
	ErrSize = errors.New("storage: wrong size")
	// ErrChanged means that a blob was replaced while it was read.
	ErrChanged = errors.New("storage: the blob was replaced while it was read")
	// ErrDamaged means that what is kept is not what was put.
	ErrDamaged = errors.New("storage: the blob is damaged")
)

// Info describes a blob.
type Info struct {
	Size       int64
	Type       string // Type is the media type that Put received.
	ETag       string // ETag is quoted and strong: equal for equal bytes.
	ModifiedAt time.Time
}

// Blob is an open blob. Reads can begin anywhere. One caller uses it at a time and must Close it.
type Blob interface {
	io.ReadSeekCloser
	Info() Info
}

// Store keeps blobs by key. Keys are paths of [a-z0-9/_.-]. It is safe for concurrent use.
type Store interface {
	// Put keeps a blob whole or not at all, durable when it returns. Size is -1 when it is unknown; a body of another
	// length than said is an error. Putting a key again replaces it.
	Put(ctx context.Context, key, mediaType string, size int64, body io.Reader) (Info, error)
	// Open opens a blob, or fails with ErrNotFound. The blob is read under ctx, so ctx has to outlive it.
	Open(ctx context.Context, key string) (Blob, error)
	// Delete removes a blob. One that is not there is no error.
	Delete(ctx context.Context, key string) error
	Close() error
}

// checkKey rejects keys that could leave the folder, be hidden files, or be normalized by a server.
func checkKey(key string) error {
	if key == "" || len(key) > keyBytesMax {
		return fmt.Errorf("%w: it has %d bytes, and 1 to %d are allowed", ErrKey, len(key), keyBytesMax)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment[0] == '.' || len(segment) > segmentBytesMax {
			return fmt.Errorf("%w: %q has a segment that is empty, too long or begins with a dot", ErrKey, key)
		}
		for _, c := range []byte(segment) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
				return fmt.Errorf("%w: %q may only have a-z, 0-9, _, . and - between its slashes", ErrKey, key)
			}
		}
	}
	return nil
}

// checkType returns the media type to store. It rejects a text that is none, because the type becomes a header of answers.
func checkType(mediaType string) (string, error) {
	if mediaType == "" {
		return typeUnknown, nil
	}
	word, _, err := mime.ParseMediaType(mediaType)
	if err != nil || !strings.Contains(word, "/") || len(mediaType) > typeBytesMax {
		return "", fmt.Errorf("storage: %q is not a media type of at most %d bytes", mediaType, typeBytesMax)
	}
	for _, c := range []byte(mediaType) {
		if c < ' ' || c > '~' {
			return "", fmt.Errorf("storage: the media type %q has characters that a header may not have", mediaType)
		}
	}
	return mediaType, nil
}

// checkSize rejects sizes that no blob can have, before a byte is read.
func checkSize(size int64) error {
	if size < -1 || size > blobBytesMax {
		return fmt.Errorf("%w: %d bytes, and at most %d are kept", ErrSize, size, int64(blobBytesMax))
	}
	return nil
}

// copyBody copies a body of the given size until ctx ends. A size of -1 means any size up to the largest.
func copyBody(ctx context.Context, to io.Writer, body io.Reader, size int64) (int64, error) {
	most := size
	if size < 0 {
		most = blobBytesMax
	}
	n, err := io.Copy(to, io.LimitReader(&contextReader{ctx: ctx, from: body}, most+1))
	switch {
	case err != nil:
		return n, fmt.Errorf("storage: reading the body after %d bytes: %w", n, err)
	case n > most:
		return n, fmt.Errorf("%w: the body is longer than %d bytes", ErrSize, most)
	case size >= 0 && n < size:
		return n, fmt.Errorf("%w: the body ended after %d of %d bytes", ErrSize, n, size)
	}
	return n, nil
}

// contextReader fails when its context ends, because a file knows no context.
type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (p *contextReader) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.from.Read(b)
}
