// Package workqueue runs background work on rows of Postgres that are due. Give the tasks of a service to Run; a task claims a few
// rows with a statement of its own, works on them with Each, and puts a failed row off by Backoff. A Queue lets operators read the rows and
// retry one.
//
// A claim is a time in the row until which no other replica takes it. A replica that crashes keeps its rows until then.
package workqueue

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Task is work that repeats.
type Task struct {
	Name  string          // Name is the name of the task in logs.
	Every time.Duration   // Every is the time between the starts of two runs, and the pause after a run that took longer.
	Wakes <-chan struct{} // A value from Wakes ends the pause. Wakes may be nil.
	// Work does a limited part of what is due. It reports whether more may be due, and then runs again without a pause.
	Work func(ctx context.Context) (more bool, err error)
}

// Repeat makes work that leaves nothing due.
func Repeat(work func(ctx context.Context) error) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) { return false, work(ctx) }
}

// Run runs each task until ctx ends, and returns when all have ended. A task that fails runs again at its next time.
func Run(ctx context.Context, log *slog.Logger, tasks ...Task) {
	var running sync.WaitGroup
	for _, t := range tasks {
		// goroutine: Run owns it and waits for it; it ends when ctx ends.
		running.Go(func() { t.run(ctx, log) })
	}
	running.Wait()
}

func (t Task) run(ctx context.Context, log *slog.Logger) {
	rhythm := time.NewTicker(t.Every)
	defer rhythm.Stop()
	for ctx.Err() == nil {
		began := time.Now()
		more, err := t.Work(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("background task failed, retrying", "task", t.Name, "error", err)
		}
		if more && err == nil {
			continue
		}
		if time.Since(began) >= t.Every { // Long work is followed by a whole pause.
			rhythm.Reset(t.Every)
		}
		select {
		case <-ctx.Done():
		case <-t.Wakes:
		case <-rhythm.C:
		}
	}
}

// Each works on all rows at the same time, and returns when the last one is done. Work must have a time limit that ends before the
// claims of the rows do.
func Each[Row any](rows []Row, work func(*Row)) {
	var running sync.WaitGroup
	for i := range rows {
		// goroutine: Each owns it and waits for it; it ends with the work on its row.
		running.Go(func() { work(&rows[i]) })
	}
	running.Wait()
}

// Backoff is the wait after a failed attempt: least after the first one, and twice as long after each further one, up to most.
func Backoff(least, most time.Duration, attempts int) time.Duration {
	wait := least
	for range attempts - 1 {
		if wait *= 2; wait >= most {
			return most
		}
	}
	return wait
}

// InBatches repeats a statement until it changes fewer rows than a batch has, at most rounds times, so that no statement holds its
// locks for long. It reports whether rows may be left.
func InBatches(rounds, batch int, statement func() (int64, error)) (more bool, err error) {
	for range rounds {
		if n, err := statement(); err != nil || n < int64(batch) {
			return false, err
		}
	}
	return true, nil
}
