package journal_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"umg/billing/journal"
	"umg/billing/journal/journaltest"
)

// TestUnawaitedMarksSurviveAKillSoonAndAPowerCutLater measures both times with a fake clock.
func TestUnawaitedMarksSurviveAKillSoonAndAPowerCutLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := journaltest.New()
		l := open(t, d)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		write(t, l, 1, 1)
		_, syncs := d.Counts()
		if _, err := l.Append('P', payload(2)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		if s := l.Stats(); s.Writes != 2 || s.Durable != 1 {
			t.Fatalf("%+v", s)
		}
		for range 10 { // More marks must not postpone the sync.
			time.Sleep(20 * time.Millisecond)
			if _, err := l.Append('P', nil); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if _, now := d.Counts(); now != syncs+1 || l.Durable() < 2 {
			t.Fatalf("%d syncs, %d is durable", now-syncs, l.Durable())
		}
		stop()
		if err := <-done; err != nil || l.Durable() != 12 {
			t.Fatalf("%v, and %d is durable", err, l.Durable())
		}
		lsn, err := l.Append('S', nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Wait(t.Context(), lsn); err != nil { // Wait commits by itself.
			t.Fatal(err)
		}
	})
}

// TestRunEndsWithTheErrorThatKillsTheLogAndWaitersLearnIt has callers that wait for the sync that fails, and for the one
// after it.
func TestRunEndsWithTheErrorThatKillsTheLogAndWaitersLearnIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := journaltest.New()
		l, err := journal.Open(&slowDisk{Disk: d.Boot(), takes: time.Minute}, options())
		if err != nil {
			t.Fatal(err)
		}
		write(t, l, 1, 1)
		done := make(chan error, 1)
		go func() { done <- l.Run(t.Context()) }()
		synctest.Wait()
		d.FailSync(rand.New(rand.NewPCG(1, 1)))
		var waiting sync.WaitGroup
		for range 10 {
			for range 5 {
				lsn, err := l.Append('S', nil)
				if err != nil {
					t.Fatal(err)
				}
				waiting.Go(func() {
					if err := l.Wait(t.Context(), lsn); !errors.Is(err, syscall.EIO) {
						t.Errorf("wait: %v", err)
					}
				})
			}
			synctest.Wait()
			time.Sleep(5 * time.Second)
		}
		waiting.Wait()
		if err := <-done; !errors.Is(err, syscall.EIO) {
			t.Fatalf("run: %v", err)
		}
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &slowDisk{Disk: journaltest.New().Boot(), takes: time.Minute}
		l, err := journal.Open(d, options())
		if err != nil {
			t.Fatal(err)
		}
		running, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(running) }()
		synctest.Wait()
		lsn, err := l.Append('S', nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		if err := l.Wait(ctx, lsn); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		refused(t, l, "does not answer") // Calls that would wait as long must not be admitted.
		if err := l.Wait(t.Context(), lsn); err != nil {
			t.Fatal(err)
		}
		admitted(t, l)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// slowDisk is a disk with a slow sync.
type slowDisk struct {
	journal.Disk
	takes time.Duration
}

type slowFile struct {
	journal.File
	takes time.Duration
}

func (d *slowDisk) Create(name string, size int64) (journal.File, error) {
	f, err := d.Disk.Create(name, size)
	return slowFile{f, d.takes}, err
}

func (f slowFile) Sync() error {
	time.Sleep(f.takes)
	return f.File.Sync()
}

// TestManyCallersAndAFollower runs appenders, waiters and a reader concurrently, while segments are made and removed.
func TestManyCallersAndAFollower(t *testing.T) {
	t.Parallel()
	const callers, each = 40, 50
	d := journaltest.New()
	o := options()
	o.SegmentBytes, o.Keep = 64<<10, time.Nanosecond
	l, err := journal.Open(d.Boot(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	seen := make(chan map[string]int, 1)
	go func() { seen <- followAll(t, l, callers*each*2) }()
	var calls sync.WaitGroup
	for c := range callers {
		calls.Go(func() {
			for n := range each {
				if err := settle(t.Context(), l, c, n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	calls.Wait()
	for text, times := range <-seen {
		if times != 1 {
			t.Errorf("%q was read %d times", text, times)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); s.Claims != 0 || s.Records != callers*each*2 || s.Commits > s.Records/2 {
		t.Fatalf("%+v", s)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// settle does what one call does.
func settle(ctx context.Context, l *journal.Log, caller, n int) error {
	for l.Claim() != nil { // The next segment is not prepared yet.
		if err := l.Tidy(); err != nil {
			return err
		}
	}
	defer l.Unclaim()
	if _, err := l.Append('P', fmt.Appendf(nil, "mark %d of %d", n, caller)); err != nil {
		return err
	}
	lsn, err := l.Append('S', fmt.Appendf(nil, "call %d of %d", n, caller))
	if err != nil {
		return err
	}
	if err := l.Wait(ctx, lsn); err != nil {
		return err
	}
	if l.Durable() < lsn {
		return fmt.Errorf("record %d was acknowledged and is not durable", lsn)
	}
	return nil
}

// followAll reads a given number of records, and counts each.
func followAll(t *testing.T, l *journal.Log, records int) map[string]int {
	seen := map[string]int{}
	after := journal.LSN(0)
	for len(seen) < records && t.Context().Err() == nil && !t.Failed() {
		for r, err := range l.Read(after, 100, 8<<10) {
			if after++; err != nil || r.LSN != after {
				t.Errorf("record %d comes in the place of %d: %v", r.LSN, after, err)
				return seen
			}
			seen[string(r.Data)]++
		}
		l.Applied(after, 0)
	}
	return seen
}

func TestAReadThatBreaksOffGoesOnAtAnyRecord(t *testing.T) {
	t.Parallel()
	l := open(t, journaltest.New())
	write(t, l, 50, 7)
	for after := journal.LSN(0); after < 49; {
		first := after
		for r, err := range l.Read(after, 100, 1<<20) {
			if err != nil || r.LSN < first+3 && r.LSN != after+1 {
				t.Fatalf("read after %d: %d, %v", first, r.LSN, err)
			}
			if r.LSN == first+3 { // This record is left for the next read.
				break
			}
			after = r.LSN
		}
		if after != min(first+2, l.Durable()) {
			t.Fatalf("the read after %d ended with %d", first, after)
		}
	}
	if l.Durable() != 49 {
		t.Fatalf("%d is durable though it was not committed", l.Durable())
	}
}
