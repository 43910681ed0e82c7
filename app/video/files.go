package video

import (
	"context"
	"fmt"
	"io"
)

// Variant is one of the files of a job.
type Variant string

// These are the variants of a job's content.
const (
	Movie       Variant = "video"
	Thumbnail   Variant = "thumbnail"
	Spritesheet Variant = "spritesheet"
)

// Variants are all of them, in the order in which they are made.
func Variants() []Variant { return []Variant{Movie, Thumbnail, Spritesheet} }

// File is one stored file of a job.
type File struct {
	Type  string `json:"type"` // Type is a media type.
	Bytes int64  `json:"bytes"`
	ETag  string `json:"etag"` // ETag includes its quotes.
}

// key is where a file of a job lies in storage. Ids have letters, digits and underscores only.
func key(accountID, id string, v Variant) string {
	return "videos/" + accountID + "/" + id + "/" + string(v)
}

// extensions are what a downloaded file's name ends in, by media type.
var extensions = map[string]string{"video/mp4": ".mp4", "image/webp": ".webp", "image/jpeg": ".jpg", "image/png": ".png"}

// FileName is what a downloaded file of the job is called.
func (j Job) FileName(v Variant) string {
	name := j.ID
	if v != Movie {
		name += "-" + string(v)
	}
	return name + extensions[j.Content[v].Type]
}

// put stores a file of a job.
func (s *Service) put(ctx context.Context, r *jobRow, v Variant, mediaType string, size int64, from io.Reader) (File, error) {
	info, err := s.o.Store.Put(ctx, key(r.AccountID, r.ID, v), mediaType, size, from)
	if err != nil {
		return File{}, fmt.Errorf("video: store the %s: %w", v, err)
	}
	return File{Type: mediaType, Bytes: size, ETag: info.ETag}, nil
}
