package journal

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	writeWithin = 5 * time.Millisecond   // A record that no caller waits for survives a kill after this long.
	syncWithin  = 200 * time.Millisecond // A record that no caller waits for survives a power cut after this long.
	tidyEvery   = time.Second
	restEvery   = 5 * time.Second // A journal to which nothing was appended is tidied this often.
)

// Run commits for waiting callers, writes records that no caller waits for, and tidies once a second while records are appended, until
// ctx ends or the log dies. It returns nil in the first case, when all that was appended is durable, and the reason in the second. Later
// calls of Wait commit by themselves.
func (l *Log) Run(ctx context.Context) error {
	l.setRunning(true)
	defer l.setRunning(false)
	ctx, stop := context.WithCancel(ctx)
	var tidying sync.WaitGroup
	defer tidying.Wait()
	defer stop()
	// goroutine: Run owns it and waits for it; it ends when Run returns.
	tidying.Go(func() { l.keepTidy(ctx) })
	syncAt := stoppedTimer()
	for {
		if err := l.step(ctx, syncAt); err != nil {
			return err
		}
		if ctx.Err() != nil {
			l.setRunning(false)
			return l.Commit()
		}
	}
}

// stoppedTimer is a timer that Reset starts. Streams make the journal write hundreds of times a second, so timers are used again.
func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// step waits for something to write, and writes it.
func (l *Log) step(ctx context.Context, syncAt *time.Timer) error {
	unsynced := l.unsynced()
	if unsynced {
		syncAt.Reset(syncWithin)
		defer syncAt.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-syncAt.C:
			return l.Commit()
		case <-l.flusher.hurry:
			letOthersAppend()
			return l.Commit()
		case <-l.flusher.writeAt.C:
		}
		if err := l.Write(); err != nil {
			return err
		}
		if !unsynced {
			return nil
		}
	}
}

func (l *Log) unsynced() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.appender.written > l.appender.durable
}

func (l *Log) setRunning(running bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appender.running = running
}

// keepTidy calls Tidy and logs when an error or a lasting refusal begins and ends.
func (l *Log) keepTidy(ctx context.Context) {
	timer := time.NewTimer(tidyEvery)
	defer timer.Stop()
	before, refused := "", error(nil)
	for last := LSN(0); ; {
		wait, at := tidyEvery, l.Last()
		if before == "" && refused == nil && at == last && at == l.Durable() {
			wait = restEvery
		}
		last = at
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-l.flusher.tidy:
		}
		now, err := "", l.Tidy()
		if err != nil && !errors.Is(err, l.Err()) {
			now = err.Error()
		}
		switch {
		case now == before:
		case now != "":
			l.o.Log.Warn("journal maintenance failed, refusing claims", "error", err)
		default:
			l.o.Log.Info("journal maintenance recovered")
		}
		before = now
		refused = l.logRefusal(refused)
	}
}

// logRefusal logs when claims begin and cease to be refused for a lasting reason, or when the reason changes, and returns the
// reason. The caller of Run logs the log's death.
func (l *Log) logRefusal(before error) error {
	why, s := l.Broken(), l.Stats()
	if errors.Is(why, dead) || errors.Is(why, before) {
		return before
	}
	if before != nil {
		l.o.Log.Info("journal admission resumed", "reason", before.Error())
	}
	if why != nil {
		l.o.Log.Error("journal admission stopped", "reason", why.Error(), "unapplied_bytes", s.UnappliedBytes,
			"unapplied_age", s.UnappliedAge.String(), "free_bytes", s.FreeBytes)
	}
	return why
}
