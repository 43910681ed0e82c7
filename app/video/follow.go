package video

import (
	"context"
	"sync"
	"time"

	"umg/app"
)

// Limits of the callers that follow jobs.
const (
	followersMax = 8192            // limit for the followers of this process
	watchFresh   = 5 * time.Second // after which a job is read again although nothing was heard of it
)

// subscriptions holds the jobs that callers follow, by id. Followers of one job share one reading of it.
type subscriptions struct {
	mu        sync.Mutex
	watches   map[string]*watch
	followers int
}

// watch is a job that is followed.
type watch struct {
	followers int           // guarded by subscriptions.mu
	heard     chan struct{} // closed at the next change; guarded by subscriptions.mu
	version   uint64        // the version of the last notification; guarded by subscriptions.mu

	reading chan struct{} // holds one token: who has it may read and change what follows
	job     Job
	readAt  time.Time // by the clock of the machine, zero for never
	read    uint64    // the version that the job was read at
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
	if _, err := s.Get(ctx, accountID, id); err != nil { // only its owner may join the others
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
	_, version = s.work.following.next(w) // what is heard while it is read may not be in it
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
