package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
)

const (
	clockEvery    = 30 * time.Second // This is the time between two measurements.
	clockAskMax   = time.Second      // A slower measurement is ignored, because it may be wrong by half of its duration.
	differenceMax = time.Second      // A smaller difference of the clocks is ignored.
)

// Clock is the time of the database. With the time of its own machine, a replica whose clock is wrong would delete young records,
// expire credit too early, or take over work that others still do. While the clocks agree to a second, Clock is the local one.
type Clock struct {
	db     *sqlx.DB
	local  app.Clock
	log    *slog.Logger
	offset atomic.Int64 // Offset is the database's time minus the local time, in nanoseconds.
}

// NewClock measures the time of the database against a local clock. Run repeats the measurement.
func NewClock(ctx context.Context, db *sqlx.DB, local app.Clock, log *slog.Logger) (*Clock, error) {
	c := &Clock{db: db, local: local, log: log}
	return c, c.measure(ctx)
}

// Now is the time of the database.
func (c *Clock) Now() time.Time { return c.local().Add(time.Duration(c.offset.Load())) }

// Run repeats the measurement until ctx ends. While the database is unavailable, the last measurement stays valid.
func (c *Clock) Run(ctx context.Context) error {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			_ = c.measure(ctx)
		}
	}
}

func (c *Clock) measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, statementMax)
	defer cancel()
	var there time.Time
	defer TakeTurn(ctx)()
	before := c.local()
	if err := c.db.GetContext(ctx, &there, `select clock_timestamp()`); err != nil {
		return fmt.Errorf("postgres: read the time: %w", err)
	}
	took := c.local().Sub(before)
	if took > clockAskMax {
		return nil // The answer took too long to be exact.
	}
	offset := there.Sub(before.Add(took / 2))
	if offset.Abs() <= differenceMax {
		offset = 0
	}
	was := time.Duration(c.offset.Swap(int64(offset)))
	if (offset - was).Abs() > differenceMax {
		c.log.Warn("clock: time of this machine and of the database differ, using the database's", "offset_ms", offset.Milliseconds())
	}
	return nil
}
