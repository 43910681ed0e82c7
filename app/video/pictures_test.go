package video

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"umg/app"
	"umg/app/media"
	"umg/app/webhook"
)

// slowProgram is a program for pictures that hangs for as long as a file exists, and is ffmpeg without it. It returns both paths. When
// there is a named pipe "began" beside it, the program says there that it runs, and goes on when it can read from the pipe "proceed".
func slowProgram(t *testing.T) (program, hangs string) {
	t.Helper()
	dir := t.TempDir()
	program, hangs = filepath.Join(dir, "program"), filepath.Join(dir, "hangs")
	script := fmt.Sprintf(`#!/bin/sh
PATH=%q
cd %s
[ -e hangs ] && exec sleep 600
[ -p began ] && { echo >began; cat proceed >/dev/null; rm began; }
exec ffmpeg "$@"
`, os.Getenv("PATH"), dir)
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

func TestADeleteWhileAPictureIsMadeLeavesNoFile(t *testing.T) {
	t.Parallel()
	for name, claimRunsOut := range map[string]bool{"claim holds": false, "claim runs out": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testDeleteWhileAPictureIsMade(t, claimRunsOut)
		})
	}
}

func testDeleteWhileAPictureIsMade(t *testing.T, claimRunsOut bool) {
	program, hangs := slowProgram(t)
	b := setup(t, func(o *Options) {
		o.Thumbnailer = media.New(program)
		o.Waits.PicturesMax = 100 * time.Millisecond
	})
	id := b.sent("test/film", simulate("no-stills", "deleted while its stills are made"))
	b.worksIn(looks)
	b.worksIn(copies)
	b.must(os.Remove(hangs))
	began, proceed := filepath.Join(filepath.Dir(program), "began"), filepath.Join(filepath.Dir(program), "proceed")
	b.must(syscall.Mkfifo(began, 0o600))
	b.must(syscall.Mkfifo(proceed, 0o600))
	made := make(chan struct{})
	go func() {
		defer close(made)
		b.worksIn(pictures)
	}()
	_, err := os.ReadFile(began)
	b.must(err)
	if claimRunsOut {
		_, err = b.db.ExecContext(t.Context(), `update video_jobs set claimed_until = $2 where id = $1`, id, b.clock.Now().Add(-time.Second))
		b.must(err)
	}
	b.must(b.service.Delete(t.Context(), b.account, id))
	if b.blob(id, Movie) != nil {
		t.Error("the film of a deleted video is kept until its pictures are made")
	}
	b.must(os.WriteFile(proceed, nil, 0o600))
	<-made
	b.works()
	if r := b.row(id); r.PurgedAt == nil {
		t.Errorf("the content of a deleted video is not purged: %+v", r)
	}
	for _, v := range Variants() {
		if b.blob(id, v) != nil {
			t.Errorf("the %s of a deleted video is kept", v)
		}
	}
}
