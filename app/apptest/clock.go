package apptest

import (
	"bytes"
	"sync"
	"time"
)

// Clock is a time that a test moves. Any number of goroutines may read it.
type Clock struct {
	mu  sync.Mutex
	now func() time.Time
	// ahead is how far the test has moved the time.
	ahead time.Duration
}

// FixedClock returns a clock that stands at a time, and moves only by Advance.
func FixedClock(at time.Time) *Clock { return &Clock{now: func() time.Time { return at }} }

// NewClock returns a clock that stands at the present time, in the precision of the database.
func NewClock() *Clock { return FixedClock(time.Now().UTC().Truncate(time.Microsecond)) }

// RunningClock returns a clock that runs with the present time, and is put ahead by Advance.
func RunningClock() *Clock { return &Clock{now: func() time.Time { return time.Now().UTC() }} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now().Add(c.ahead)
}

// Advance puts the clock ahead.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// LogBuffer keeps the log lines that any number of goroutines write.
type LogBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds a line.
func (b *LogBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

// String returns all lines.
func (b *LogBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
