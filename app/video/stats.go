package video

import (
	"context"
	"maps"
	"time"
)

// Stats are the counters of this process since its start, for metrics. Running is of the whole service.
type Stats struct {
	Running       int64         // Running counts jobs that have not ended.
	Steps         int64         // Steps counts steps that run now.
	DueLag        time.Duration // DueLag is the delay of the oldest job of the last claim.
	Completed     int64
	Failed        map[string]int64 // Failed counts failed jobs by error code.
	Faults        int64            // Faults counts requests about jobs that a provider did not answer.
	CopyFaults    int64
	PictureFaults int64 // PictureFaults counts pictures that completed videos lack.
	LateSuccesses int64 // LateSuccesses counts renders found after their job had failed, which are never charged.
	Followers     int64
}

// ended counts the end of a job.
func (w *working) ended(e jobResult) {
	if e.to == Completed {
		w.completed.Add(1)
		return
	}
	w.failedMu.Lock()
	defer w.failedMu.Unlock()
	if w.failed == nil {
		w.failed = map[string]int64{}
	}
	code := e.problem.Code
	if _, known := w.failed[code]; !known && len(w.failed) >= failureCodesMax {
		code = "other"
	}
	w.failed[code]++
}

// gauge keeps the number of running jobs for metrics.
func (s *Service) gauge(ctx context.Context) {
	tick := time.NewTicker(gaugeEvery)
	defer tick.Stop()
	for {
		var n int64
		if err := s.repeated.GetContext(ctx, &n, `select count(*) from video_jobs where `+running); err == nil {
			s.work.running.Store(n)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Stats reads the counters.
func (s *Service) Stats() Stats {
	w := &s.work
	w.failedMu.Lock()
	failed := maps.Clone(w.failed)
	w.failedMu.Unlock()
	w.following.mu.Lock()
	followers := w.following.followers
	w.following.mu.Unlock()
	return Stats{
		Running: w.running.Load(), Steps: w.steps.Load(), DueLag: time.Duration(w.lag.Load()), Completed: w.completed.Load(),
		Failed: failed, Faults: w.faults.Load(), CopyFaults: w.copyFaults.Load(), PictureFaults: w.pictureFaults.Load(),
		LateSuccesses: w.late.Load(), Followers: int64(followers),
	}
}
