package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

const spoolMemoryBytesMax = 1 << 20 // Shorter bodies stay in memory.

// spooled is a complete body. Its length and digest are known, and it can be read again.
type spooled struct {
	io.ReaderAt
	size   int64
	sha256 string
	close  func()
}

// readerAt is a body that can be read twice: a file, or bytes in memory.
type readerAt interface {
	io.ReaderAt
	io.Seeker
}

// spool reads a whole body before anything is sent. A bucket needs the metadata, and so the digest, before the bytes. A body that
// breaks or has another length then fails before any request. The file has no name, so a killed process leaves nothing.
func spool(ctx context.Context, dir string, body io.Reader, size int64) (*spooled, error) {
	sum := sha256.New()
	if there, ok := body.(readerAt); ok {
		start, err := there.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, fmt.Errorf("storage: reading the body: %w", err)
		}
		n, err := copyBody(ctx, sum, body, size)
		if err != nil {
			return nil, err
		}
		return &spooled{ReaderAt: io.NewSectionReader(there, start, n), size: n, sha256: hex.EncodeToString(sum.Sum(nil)), close: func() {}}, nil
	}
	if size >= 0 && size <= spoolMemoryBytesMax {
		memory := bytes.NewBuffer(make([]byte, 0, size))
		n, err := copyBody(ctx, io.MultiWriter(memory, sum), body, size)
		if err != nil {
			return nil, err
		}
		return &spooled{ReaderAt: bytes.NewReader(memory.Bytes()), size: n, sha256: hex.EncodeToString(sum.Sum(nil)), close: func() {}}, nil
	}
	file, err := os.CreateTemp(dir, "blob-*")
	if err != nil {
		return nil, fmt.Errorf("storage: making a file for the body: %w", err)
	}
	unnamed := os.Remove(file.Name()) == nil // Where an open file cannot be removed, close removes it.
	end := func() {
		file.Close()
		if !unnamed {
			_ = os.Remove(file.Name())
		}
	}
	n, err := copyBody(ctx, io.MultiWriter(file, sum), body, size)
	if err != nil {
		end()
		return nil, err
	}
	return &spooled{ReaderAt: file, size: n, sha256: hex.EncodeToString(sum.Sum(nil)), close: end}, nil
}

// bucketError adds what failed to an error of a bucket.
func bucketError(what string, err error) error {
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrChanged) {
		return err
	}
	return fmt.Errorf("storage: %s: %w", what, err)
}
