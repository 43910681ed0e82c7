package video

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"umg/app/catalog"
	"umg/app/media"
	"umg/app/postgres"
	"umg/app/provider/videoapi"
)

// These are the limits of pictures.
const (
	pictureBytesMax = 16 << 20
	// latePicturesMax bounds the time for all pictures of a video that has ended.
	latePicturesMax  = 2 * time.Minute
	latePictureTries = 3
)

// picture is one of the pictures of a film, and who makes it when the provider does not.
type picture struct {
	variant Variant
	from    videoapi.Variant
	make    func(ctx context.Context, file string) (media.Picture, error)
}

// keepPictures stores the pictures that a video does not have yet. It reports whether the time was over before all were made or found to
// be impossible.
func (s *Service) keepPictures(
	ctx context.Context, r *jobRow, route *catalog.Route, task videoapi.Task, film string, limit time.Duration, files map[Variant]File,
) (late bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, p := range []picture{
		{Thumbnail, videoapi.Thumbnail, s.o.Thumbnailer.Thumbnail},
		{Spritesheet, videoapi.Spritesheet, s.o.Thumbnailer.Spritesheet},
	} {
		if _, made := files[p.variant]; !made && ctx.Err() == nil {
			s.keepPicture(ctx, r, route, task, film, p, files)
		}
	}
	return errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// makePictures makes the pictures of a completed job that were not made in time. What cannot be made is left out.
func (s *Service) makePictures(ctx context.Context, r *jobRow) (*postponed, error) {
	working, l := s.holdClaim(ctx, r)
	files, late, err := s.latePictures(working, r)
	l.end()
	switch {
	case ctx.Err() != nil:
		return s.released(r), nil //nolint:nilerr // to be stopped is no failure
	case l.isLost():
		return nil, s.deleteOrphans(ctx, r)
	case (err != nil || late) && r.Tries+1 < latePictureTries:
		if err != nil {
			s.o.Log.Warn("making late video pictures failed", "video_id", r.ID, "error", err)
		}
		return &postponed{r, s.backOff(r.Tries, nil), r.Tries + 1}, nil
	}
	made, _ := json.Marshal(files) //nolint:errchkjson // strings and numbers
	if set, err := setPictures(ctx, s.db, r, string(made)); set || err != nil {
		return nil, err
	}
	// The job was deleted in between, and the worker that claims it next purges it, unless the claim of this worker had run out before.
	if err := s.deleteOrphans(ctx, r); err != nil {
		return nil, err
	}
	return s.released(r), nil
}

// setPictures keeps the pictures that were made of a completed job, which rests then until its content expires. It sets nothing when
// the job was deleted or claimed by another worker in between.
func setPictures(ctx context.Context, q postgres.Queryer, r *jobRow, made string) (set bool, err error) {
	result, err := q.ExecContext(ctx, `
		update video_jobs set content = content || $2::jsonb, upstream = $3, due_at = expires_at, claimed_until = null, tries = 0
		where id = $1 and state = 'completed' and deleted_at is null and claimed_until = $4`,
		r.ID, made, upstreamState{Files: r.heard().Files}.encode(), r.ClaimedUntil)
	if err != nil {
		return false, postgres.StoreError("video: set pictures", err)
	}
	rows, err := result.RowsAffected()
	return rows > 0, postgres.StoreError("video: set pictures", err)
}

// deleteOrphans deletes the pictures of a job that were stored after it had been purged.
func (s *Service) deleteOrphans(ctx context.Context, r *jobRow) error {
	now, found, err := oneRow(ctx, s.db, "video: read", `select `+columns+` from video_jobs where id = $1`, r.ID)
	if err == nil && (!found || now.PurgedAt != nil) {
		s.deleteFiles(ctx, r)
	}
	return err
}

// latePictures makes the pictures of the film that is in storage.
func (s *Service) latePictures(ctx context.Context, r *jobRow) (files map[Variant]File, late bool, err error) {
	job, err := r.job()
	if err != nil {
		return nil, false, err
	}
	files = maps.Clone(job.Content)
	film, err := s.o.Store.Open(ctx, key(r.AccountID, r.ID, Movie))
	if err != nil {
		return files, false, fmt.Errorf("video: open the film: %w", err)
	}
	defer func() { _ = film.Close() }()
	spool, err := os.CreateTemp("", spoolPattern)
	if err != nil {
		return files, false, err
	}
	defer func() { _, _ = spool.Close(), os.Remove(spool.Name()) }()
	if _, err := io.Copy(spool, film); err != nil {
		return files, false, fmt.Errorf("video: spool: %w", err)
	}
	route, _ := s.route(r) // Without its provider, the pictures are made of the film.
	return files, s.keepPictures(ctx, r, route, r.task(), spool.Name(), latePicturesMax, files), nil
}

// keepPicture stores a picture of a film. A film without one is still a film, so no failure here fails the job.
func (s *Service) keepPicture(
	ctx context.Context, r *jobRow, route *catalog.Route, task videoapi.Task, film string, p picture, files map[Variant]File,
) {
	image, ok := s.fetchPicture(ctx, route, task, p.from)
	if !ok {
		made, err := p.make(ctx, film)
		if err != nil {
			s.work.pictureFaults.Add(1)
			if !errors.Is(err, media.ErrUnavailable) && ctx.Err() == nil {
				s.o.Log.Warn("making video picture failed", "video_id", r.ID, "variant", p.variant, "error", err)
			}
			return
		}
		image = made
	}
	file, err := s.put(ctx, r, p.variant, image.Type, int64(len(image.Data)), bytes.NewReader(image.Data))
	if err != nil {
		s.work.pictureFaults.Add(1)
		s.o.Log.Warn("storing video picture failed", "video_id", r.ID, "variant", p.variant, "error", err)
		return
	}
	files[p.variant] = file
}

// fetchPicture is the provider's own picture, if it makes one and what it sends is one.
func (s *Service) fetchPicture(ctx context.Context, route *catalog.Route, task videoapi.Task, v videoapi.Variant) (media.Picture, bool) {
	if route == nil {
		return media.Picture{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	file, f := s.o.Upstreams.Open(ctx, route, task, v)
	if f != nil {
		return media.Picture{}, false
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, pictureBytesMax+1))
	if err != nil || len(data) == 0 || len(data) > pictureBytesMax || file.Size >= 0 && int64(len(data)) != file.Size {
		return media.Picture{}, false
	}
	kind := http.DetectContentType(data)
	if !slices.Contains([]string{"image/webp", "image/jpeg", "image/png"}, kind) {
		return media.Picture{}, false
	}
	return media.Picture{Type: kind, Data: data}, true
}
