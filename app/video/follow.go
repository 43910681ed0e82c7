package video

import (
	"context"
	"sync"
	"time"

	"umg/app"
)

// These limits apply to the callers that follow jobs.
const (
	followersMax = 8192            // This bounds the followers of one process.
	watchFresh   = 5 * time.Second // A job without notifications is read again after this time.
)

// subscriptions holds the jobs that callers follow, by id. Followers of one job share one reading of it.
type subscriptions struct {
	mu        sync.Mutex
	watches   map[string]*watch
	followers int
}

// watch is a job that is followed.
type watch struct {
	followers int           // The mutex of subscriptions guards followers.
	heard     chan struct{} // The channel is closed at the next change. The mutex of subscriptions guards it.
	version   uint64        // This is the version of the last notification. The mutex of subscriptions guards it.

	reading chan struct{} // The channel holds one token. Its holder may read and change the fields below.
	job     Job
	readAt  time.Time // This time is of the machine's clock. Zero means never.
	read    uint64    // The job was read at this version.
}

// join adds a follower, or reports that there are too many.
func (f *subscriptions) join(id string) (*watch, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followers >= followersMax {
		return nil, false
	}
	w := f.watches[id]
	if w == nil {
		w = &watch{heard: make(chan struct{}), reading: make(chan struct{}, 1)}
		if f.watches == nil {
			f.watches = map[string]*watch{}
		}
		f.watches[id] = w
	}
	f.followers++
	w.followers++
	return w, true
}

func (f *subscriptions) leave(id string, w *watch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followers--
	if w.followers--; w.followers == 0 {
		delete(f.watches, id)
	}
}

// notify wakes the followers of a job that has changed, or all followers when the id is empty.
func (f *subscriptions) notify(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id != "" {
		f.watches[id].notify()
		return
	}
	for _, w := range f.watches {
		w.notify()
	}
}

// notify is called while the lock of the subscriptions is held.
func (w *watch) notify() {
	if w == nil {
		return
	}
	w.version++
	close(w.heard)
	w.heard = make(chan struct{})
}

// next is what is closed at the next change, and the version that comes before it.
func (f *subscriptions) next(w *watch) (<-chan struct{}, uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return w.heard, w.version
}

// Follow calls tell with the job at once and at each change that its owner can see, until the job has ended. It returns
// the error of tell when tell fails. A job that is deleted while it is followed ends with the error of an unknown job. A
// job is read once for each change, however many callers follow it.
func (s *Service) Follow(ctx context.Context, accountID, id string, tell func(Job) error) error {
	if _, err := s.Get(ctx, accountID, id); err != nil { // Only the owner of a job may follow it.
		return err
	}
	w, ok := s.work.following.join(id)
	if !ok {
		return app.Errorf(app.Unavailable, "service_unavailable",
			"Too many clients are following videos right now. Ask for the status of the video instead.").After(watchFresh)
	}
	defer s.work.following.leave(id, w)
	var told *Job
	for {
		upstreamState, version := s.work.following.next(w)
		job, err := s.current(ctx, w, version, accountID, id)
		if err != nil {
			return err
		}
		if told == nil || !told.looksLike(job) {
			if err := tell(job); err != nil {
				return err
			}
			told = &job
		}
		if job.State.Ended() {
			return nil
		}
		net := time.NewTimer(watchFresh + time.Duration(s.o.Jitter(int64(watchFresh/2))))
		select {
		case <-ctx.Done():
		case <-upstreamState:
		case <-net.C:
		}
		net.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// current is the job at a version or later. The first follower that needs it reads it, the others wait for that.
func (s *Service) current(ctx context.Context, w *watch, version uint64, accountID, id string) (Job, error) {
	select {
	case w.reading <- struct{}{}:
	case <-ctx.Done():
		return Job{}, ctx.Err()
	}
	defer func() { <-w.reading }()
	if !w.readAt.IsZero() && w.read >= version && time.Since(w.readAt) < watchFresh {
		return w.job, nil
	}
	_, version = s.work.following.next(w) // The read may miss changes that are notified while it runs.
	job, err := s.Get(ctx, accountID, id)
	if err != nil {
		return Job{}, err
	}
	w.job, w.readAt, w.read = job, time.Now(), version
	return job, nil
}

// looksLike reports whether a client sees no difference between two readings of a job.
func (j *Job) looksLike(other Job) bool {
	return j.State.Status() == other.State.Status() && j.Progress == other.Progress && j.Problem == other.Problem
}
