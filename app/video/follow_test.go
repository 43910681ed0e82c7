package video

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/media"
)

// quick makes a worker look all the time, and make no pictures, which takes long.
func quick(o *Options) {
	o.Waits.PollMin, o.Waits.PollMax = 20*time.Millisecond, 40*time.Millisecond
	o.Waits.StopMax = 50 * time.Millisecond
	o.Thumbnailer = media.New("/nowhere/ffmpeg")
}

func TestFollowersSeeEachChangeUntilTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	id := b.sent("test/film", simulate("render=hold", "followed"))
	b.running(b.service)
	const followers = 40
	var following sync.WaitGroup
	begun := make(chan struct{}, followers)
	for range followers {
		following.Go(func() {
			var seen []Job
			err := b.service.Follow(t.Context(), b.account, id, func(j Job) error {
				if seen = append(seen, j); j.Progress == 50 {
					begun <- struct{}{}
				}
				return nil
			})
			if err != nil || len(seen) < 2 || seen[len(seen)-1].State != Completed {
				t.Errorf("a follower saw %d changes and ended with %v", len(seen), err)
			}
			for i := 1; i < len(seen); i++ {
				if seen[i].Progress < seen[i-1].Progress || seen[i].looksLike(seen[i-1]) {
					t.Errorf("%s %d %% came after %s %d %%", seen[i].State, seen[i].Progress, seen[i-1].State, seen[i-1].Progress)
				}
			}
		})
	}
	for range followers {
		<-begun
	}
	if n := b.service.Stats().Followers; n != followers {
		t.Errorf("%d follow, want %d", n, followers)
	}
	b.control("POST", "finish", "")
	following.Wait()
	if n := b.service.Stats().Followers; n != 0 || len(b.service.work.following.watches) != 0 {
		t.Errorf("%d follow after the end, %d jobs are watched", n, len(b.service.work.following.watches))
	}
	b.paid(price)
}

func TestFollowingEndsWithADelete(t *testing.T) {
	t.Parallel()
	b := setup(t, quick)
	id := b.sent("test/film", simulate("render=hold", "deleted"))
	b.running(b.service)
	ended, told := make(chan error, 1), make(chan struct{}, 100)
	go func() {
		ended <- b.service.Follow(t.Context(), b.account, id, func(Job) error {
			told <- struct{}{}
			return nil
		})
	}()
	<-told
	b.must(b.service.Delete(t.Context(), b.account, id))
	if err := <-ended; app.KindOf(err) != app.NotFound {
		t.Errorf("following a deleted job ended with %v", err)
	}
	eventually(t, "the job has ended", func() bool { return b.row(id).State.Ended() })
	b.failed(id, "generation_cancelled")
	b.told(id)
	b.paid(0)
}

func TestFollowingIsForTheOwnerAndEndsWhenTheyWish(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", simulate("render=hold", "mine"))
	stranger := b.fund(0)
	never := func(Job) error { t.Error("a stranger was told"); return nil }
	if err := b.service.Follow(t.Context(), stranger, id, never); app.KindOf(err) != app.NotFound {
		t.Errorf("a stranger got %v", err)
	}
	enough := errors.New("enough")
	if err := b.service.Follow(t.Context(), b.account, id, func(Job) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("following ended with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := b.service.Follow(ctx, b.account, id, func(Job) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("following ended with %v", err)
	}
	if n := b.service.Stats().Followers; n != 0 {
		t.Errorf("%d follow after the end", n)
	}
	b.service.work.following.followers = followersMax
	if err := b.service.Follow(t.Context(), b.account, id, never); app.KindOf(err) != app.Unavailable {
		t.Errorf("one follower too many got %v", err)
	}
}

func TestFollowersShareOneReading(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.sent("test/film", "read once")
	f := &b.service.work.following
	w, _ := f.join(id)
	defer f.leave(id, w)
	read := func() Job {
		_, version := f.next(w)
		j, err := b.service.current(t.Context(), w, version, b.account, id)
		b.must(err)
		return j
	}
	before := read()
	_, err := b.db.ExecContext(t.Context(), `update video_jobs set progress = 7 where id = $1`, id)
	b.must(err)
	if read().Progress != before.Progress {
		t.Error("the job was read again although nothing was heard of it")
	}
	f.notify("another")
	f.notify(id)
	if got := read().Progress; got != 7 {
		t.Errorf("the progress is %d %% after a change was heard", got)
	}
	_, err = b.db.ExecContext(t.Context(), `update video_jobs set progress = 9 where id = $1`, id)
	b.must(err)
	f.notify("")
	if got := read().Progress; got != 9 {
		t.Errorf("the progress is %d %% after anything may have changed", got)
	}
}
