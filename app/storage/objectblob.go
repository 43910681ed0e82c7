package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/minio/minio-go/v7"
)

const (
	resumesMax   = 3         // This many broken answers of one blob are resumed.
	skipBytesMax = 128 << 10 // A shorter seek ahead reads on, because a new request costs more.
)

// objectBlob reads an object. A seek asks for nothing: a request goes out at the first read after it, from there to
// the end, and reads that follow each other share it.
type objectBlob struct {
	bucket  *bucket
	ctx     context.Context
	key     string
	info    Info
	version string // This is the server's own tag. All ranges must have it.

	offset  int64 // The next byte to return has this offset.
	answer  io.ReadCloser
	at      int64 // The next byte of answer has this offset.
	resumes int
	closed  bool
}

func (o *objectBlob) Info() Info { return o.info }

func (o *objectBlob) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += o.offset
	case io.SeekEnd:
		offset += o.info.Size
	default:
		return 0, fmt.Errorf("storage: seeking with whence %d", whence)
	}
	if offset < 0 {
		return 0, errors.New("storage: seeking to before the beginning")
	}
	o.offset = offset
	return offset, nil
}

func (o *objectBlob) Read(p []byte) (int, error) {
	if o.closed {
		return 0, fs.ErrClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	if o.offset >= o.info.Size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), o.info.Size-o.offset)]
	for {
		if err := o.reach(); err != nil {
			return 0, err
		}
		n, err := o.answer.Read(p)
		o.offset, o.at = o.offset+int64(n), o.at+int64(n)
		if n > 0 || err == nil {
			return n, nil // The next read returns the error again.
		}
		o.drop()
		if o.resumes++; o.resumes > resumesMax || o.ctx.Err() != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // The object has fewer bytes than its header says.
			}
			return 0, bucketError("reading the blob", err)
		}
	}
}

// reach makes answer stand at offset.
func (o *objectBlob) reach() error {
	if ahead := o.offset - o.at; o.answer != nil && ahead > 0 && ahead <= skipBytesMax {
		n, err := io.CopyN(io.Discard, o.answer, ahead)
		o.at += n
		if err != nil {
			o.drop()
		}
	}
	if o.answer != nil && o.at == o.offset {
		return nil
	}
	o.drop()
	var ask minio.GetObjectOptions
	if err := ask.SetMatchETag(o.version); err != nil {
		return bucketError("asking for the blob", err)
	}
	if o.offset > 0 {
		if err := ask.SetRange(o.offset, 0); err != nil {
			return bucketError("asking for the blob", err)
		}
	}
	answer, got, _, err := o.bucket.core.GetObject(o.ctx, o.bucket.name, o.key, ask)
	if err != nil {
		return bucketError("asking for the blob", mapError(err))
	}
	if got.Size != o.info.Size-o.offset { // The server ignored the range, or has another object.
		answer.Close()
		return bucketError("asking for the blob", fmt.Errorf("it has %d bytes after %d, and %d were said", got.Size, o.offset, o.info.Size))
	}
	o.answer, o.at = answer, o.offset
	return nil
}

func (o *objectBlob) drop() {
	if o.answer != nil {
		o.answer.Close()
		o.answer = nil
	}
}

// Close ends the request that may be under way.
func (o *objectBlob) Close() error {
	o.drop()
	o.closed = true
	return nil
}
