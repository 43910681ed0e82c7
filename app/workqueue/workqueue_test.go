package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"umg/app/apptest"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
	"umg/app/workqueue"
)

func TestATaskRunsAgainAtOnceWhileMoreIsDueAndAfterItsPauseOtherwise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var at []time.Duration
		log := &apptest.LogBuffer{}
		wakes := make(chan struct{}, 1)
		results := []struct {
			more bool
			err  error
		}{{true, nil}, {false, nil}, {true, errors.New("store away")}, {false, nil}}
		workqueue.Run(ctx, slog.New(slog.NewTextHandler(log, nil)), workqueue.Task{
			Name: "count", Every: time.Minute, Wakes: wakes, Work: func(context.Context) (bool, error) {
				at = append(at, time.Since(start))
				switch n := len(at); n {
				case len(results):
					wakes <- struct{}{}
				case len(results) + 1:
					cancel()
					return true, context.Canceled
				}
				return results[len(at)-1].more, results[len(at)-1].err
			},
		})
		if want := []time.Duration{0, 0, time.Minute, 2 * time.Minute, 2 * time.Minute}; !slices.Equal(at, want) {
			t.Errorf("the task ran at %v, want %v", at, want)
		}
		if said := log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, `task=count error="store away"`) {
			t.Errorf("the log says %s", said)
		}
	})
}

func TestATaskKeepsItsRhythm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var at []time.Duration
		takes := []time.Duration{time.Second, 4 * time.Second, 11 * time.Second, 0, 0}
		workqueue.Run(ctx, slog.New(slog.DiscardHandler), workqueue.Task{
			Name: "count", Every: 5 * time.Second, Work: func(context.Context) (bool, error) {
				at = append(at, time.Since(start))
				time.Sleep(takes[len(at)-1])
				if len(at) == len(takes) {
					cancel()
				}
				return false, nil
			},
		})
		// The third run takes longer than the time between two runs, so that a whole pause follows it.
		want := []time.Duration{0, 5 * time.Second, 10 * time.Second, 26 * time.Second, 31 * time.Second}
		if !slices.Equal(at, want) {
			t.Errorf("the task ran at %v, want %v", at, want)
		}
	})
}

func TestRunEndsWhenAllTasksHaveEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ended atomic.Bool
		time.AfterFunc(time.Second, cancel)
		workqueue.Run(ctx, slog.New(slog.DiscardHandler),
			workqueue.Task{Every: time.Hour, Work: workqueue.Repeat(func(context.Context) error { return nil })},
			workqueue.Task{Every: time.Hour, Work: workqueue.Repeat(func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Second)
				ended.Store(true)
				return ctx.Err()
			})})
		if !ended.Load() {
			t.Error("Run left a task behind")
		}
	})
}

func TestEachWorksOnAllRowsAtTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, start := []int{1, 2, 3}, time.Now()
		workqueue.Each(rows, func(n *int) {
			time.Sleep(time.Second)
			*n *= 10
		})
		if took := time.Since(start); took != time.Second || fmt.Sprint(rows) != "[10 20 30]" {
			t.Errorf("%v after %s", rows, took)
		}
	})
}

func TestBackoffDoublesUpToItsMost(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]time.Duration{
		0: time.Minute, 1: time.Minute, 2: 2 * time.Minute, 4: 8 * time.Minute, 5: 10 * time.Minute, 1000: 10 * time.Minute,
	} {
		if got := workqueue.Backoff(time.Minute, 10*time.Minute, attempts); got != want {
			t.Errorf("after %d attempts: %s, want %s", attempts, got, want)
		}
	}
}

func TestBatchesEndWithTheirRowsOrTheirRounds(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	db.MustExec(`create table jobs (id integer primary key)`)
	db.MustExec(`insert into jobs select generate_series(1, 25)`)
	remove := func() (int64, error) {
		return postgres.ChangedRows(db.ExecContext(t.Context(), `delete from jobs where id in (select id from jobs limit 10)`))
	}
	for _, want := range []struct {
		more bool
		left int
	}{{true, 5}, {false, 0}, {false, 0}} {
		more, err := workqueue.InBatches(2, 10, remove)
		if left := apptest.Count(t, db, `select count(*) from jobs`); err != nil || more != want.more || left != want.left {
			t.Errorf("%v with %d left, want %+v: %v", more, left, want, err)
		}
	}
	db.MustExec(`drop table jobs`)
	if more, err := workqueue.InBatches(2, 10, remove); err == nil || more {
		t.Errorf("%v, %v", more, err)
	}
}
