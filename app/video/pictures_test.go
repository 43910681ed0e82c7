package video

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/media"
	"umg/app/webhook"
)

// slowProgram is a program for pictures that hangs for as long as a file exists, and is ffmpeg without it. It returns both paths.
func slowProgram(t *testing.T) (program, hangs string) {
	t.Helper()
	dir := t.TempDir()
	program, hangs = filepath.Join(dir, "program"), filepath.Join(dir, "hangs")
	script := fmt.Sprintf("#!/bin/sh\nPATH=%q\n[ -e %s ] && exec sleep 600\nexec ffmpeg \"$@\"\n", os.Getenv("PATH"), hangs)
	for name, text := range map[string]string{program: script, hangs: ""} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return program, hangs
}

// worksIn makes one pass over the work of one kind.
func (b *bench) worksIn(want kind) {
	b.Helper()
	for _, l := range lanes() {
		if l.kind == want {
			b.must(b.service.newDispatcher(b.Context(), l, nil).pass(b.Context(), b.service.now()))
		}
	}
}

func TestAVideoDoesNotWaitForItsPictures(t *testing.T) {
	t.Parallel()
	program, hangs := slowProgram(t)
	b := setup(t, func(o *Options) {
		o.Thumbnailer = media.New(program)
		o.Waits.PicturesMax = 100 * time.Millisecond
	})
	id := b.sent("test/film", simulate("no-stills", "stills that take long"))
	b.worksIn(looks)
	b.worksIn(copies)
	r := b.row(id)
	if r.State != Completed {
		t.Fatalf("the job is %s", r.State)
	}
	b.content(r, Movie)
	b.paid(price)
	b.told(id, webhook.VideoCompleted)
	// Who asks for a picture now waits for it.
	opened := make(chan error, 1)
	go func() {
		blob, _, err := b.service.Open(t.Context(), b.account, id, Thumbnail)
		if err == nil {
			err = blob.Close()
		}
		opened <- err
	}()
	impatient, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := b.service.Open(impatient, b.account, id, Thumbnail); err == nil {
		t.Error("a picture that is not made was opened")
	}

	b.must(os.Remove(hangs))
	b.worksIn(copies)
	b.worksIn(looks)
	if r := b.row(id); b.blob(id, Thumbnail) != nil || r.DueAt.After(b.service.now()) {
		t.Errorf("another kind of work took the pictures: %+v", r)
	}
	b.worksIn(pictures)
	r = b.row(id)
	b.content(r, Movie)
	b.content(r, Thumbnail)
	b.content(r, Spritesheet)
	if r.heard().PicturesDue || !r.DueAt.Equal(*r.ExpiresAt) || r.ClaimedUntil != nil {
		t.Errorf("after its pictures the job is %+v", r)
	}
	b.must(<-opened)
	b.paid(price)
	b.told(id, webhook.VideoCompleted)
}

func TestPicturesThatNeverSucceedAreLeftOut(t *testing.T) {
	t.Parallel()
	program, hangs := slowProgram(t)
	b := setup(t, func(o *Options) {
		o.Thumbnailer = media.New(program)
		o.Waits.PicturesMax = 100 * time.Millisecond
	})
	id := b.sent("test/film", simulate("no-stills", "stills that cannot be made"))
	b.worksIn(looks)
	b.worksIn(copies)
	b.must(os.Remove(hangs))
	b.must(b.store.Delete(t.Context(), key(b.account, id, Movie)))
	for range latePictureTries {
		b.worksIn(pictures)
		b.clock.Advance(backOffMax)
	}
	r := b.row(id)
	if r.heard().PicturesDue || !r.DueAt.Equal(*r.ExpiresAt) || b.blob(id, Thumbnail) != nil {
		t.Errorf("the job still waits for pictures: %+v", r)
	}
	_, _, err := b.service.Open(t.Context(), b.account, id, Thumbnail)
	var said *app.Error
	if !errors.As(err, &said) || said.Code != "variant_unavailable" || strings.Contains(said.Message, "still") {
		t.Errorf("a picture that was left out is answered with %v", err)
	}
}

func TestADeleteEndsTheWaitForPictures(t *testing.T) {
	t.Parallel()
	program, hangs := slowProgram(t)
	b := setup(t, func(o *Options) {
		o.Thumbnailer = media.New(program)
		o.Waits.PicturesMax = 100 * time.Millisecond
	})
	id := b.sent("test/film", simulate("no-stills", "deleted before its stills"))
	b.worksIn(looks)
	b.worksIn(copies)
	b.must(os.Remove(hangs))
	b.must(b.service.Delete(t.Context(), b.account, id))
	b.worksIn(pictures)
	if b.blob(id, Thumbnail) != nil {
		t.Error("a deleted video got a picture")
	}
	b.works()
	if r := b.row(id); r.PurgedAt == nil || b.blob(id, Movie) != nil {
		t.Errorf("the content of a deleted video is kept: %+v", r)
	}
}
