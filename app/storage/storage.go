// Package storage keeps blobs: in a folder of this machine, or in a bucket that speaks S3. It knows how a blob becomes
// durable and how ranges of it are read. It does not know what a blob is or whose.
package storage

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrNotFound means that there is no such blob.
var ErrNotFound = errors.New("storage: no such blob")

// Info is what is known of a blob.
type Info struct {
	Size       int64
	Type       string // media type it was put with
	ETag       string // quoted, strong: equal for equal bytes
	ModifiedAt time.Time
}

// Blob is an open blob. It reads from anywhere; Close ends it.
type Blob interface {
	io.ReadSeekCloser
	Info() Info
}

// Store keeps blobs by key. Keys are paths of [a-z0-9/_.-]. It is safe for concurrent use.
type Store interface {
	// Put keeps a blob whole or not at all, durable when it returns. Size is -1 when it is unknown; a body of another
	// length than said is an error. Putting a key again replaces it.
	Put(ctx context.Context, key, mediaType string, size int64, body io.Reader) (Info, error)
	// Open opens a blob, or fails with ErrNotFound.
	Open(ctx context.Context, key string) (Blob, error)
	// Delete removes a blob. One that is not there is no error.
	Delete(ctx context.Context, key string) error
	Close() error
}
