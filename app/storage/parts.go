package storage

import (
	"context"
	"io"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"
)

const (
	partBytes      = 16 << 20 // Longer bodies are sent in parts of this size.
	partsAtOnceMax = 2
	abortTimeout   = 10 * time.Second
)

// sendParts sends a body in parts that become one object. No part is being sent when it returns. The library would abort the upload
// at the first failed part, and a part that arrives later may recreate the upload, which costs money unseen.
func (b *bucket) sendParts(ctx context.Context, key string, body *spooled, o minio.PutObjectOptions) error {
	id, err := b.core.NewMultipartUpload(ctx, b.name, key, o)
	if err != nil {
		return err
	}
	parts, err := b.sendEach(ctx, key, id, body)
	if err == nil {
		_, err = b.core.CompleteMultipartUpload(ctx, b.name, key, id, parts, minio.PutObjectOptions{})
	}
	if err != nil {
		// A caller that left must not leave the upload; what this does not reach is removed at a start, when it is old.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		_ = b.core.AbortMultipartUpload(ctx, b.name, key, id)
	}
	return err
}

// sendEach sends the parts, some at once. After a failure it begins no further part, and waits for those it began.
func (b *bucket) sendEach(ctx context.Context, key, id string, body *spooled) ([]minio.CompletePart, error) {
	parts := make([]minio.CompletePart, (body.size+partBytes-1)/partBytes)
	sending, good := errgroup.WithContext(ctx)
	sending.SetLimit(partsAtOnceMax)
	for i := range parts {
		// goroutine: sendEach owns it and waits for it; it ends with its part.
		sending.Go(func() error {
			if err := good.Err(); err != nil {
				return err
			}
			at := int64(i) * partBytes
			size := min(partBytes, body.size-at)
			part, err := b.core.PutObjectPart(ctx, b.name, key, id, i+1, io.NewSectionReader(body, at, size), size, minio.PutObjectPartOptions{})
			parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: part.ETag}
			return err
		})
	}
	return parts, sending.Wait()
}
