// Package usage reports what accounts used: sums, records, percentiles and the statistics of models, from the usage records that
// settlements write. Make Reports with NewReports and keep its Run running.
package usage

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"
	"golang.org/x/sync/singleflight"

	"umg/app"
)

// The pool of Options.Reads should have few connections and a limit for each statement, which these are right for.
const (
	ReadConnections  = 4
	ReadStatementMax = 10 * time.Second
)

// pageSizeMax is how many records Requests and LastText return at most.
const pageSizeMax = 200

// workerEvery is how often the worker looks for work.
const workerEvery = 5 * time.Second

// Options configure reports.
type Options struct {
	Now app.Clock
	Log *slog.Logger // The worker logs its errors, because it has no caller.
	// RecordsKept is how long usage records are kept; zero means 400 days. Whole months are dropped.
	RecordsKept time.Duration
	// Reads is the pool of reports, so that long ones take no connections from calls; nil means that of everything else.
	Reads *sqlx.DB
}

// Reports reads what accounts used from the records that settlements wrote, and keeps what the records need: monthly partitions
// and the statistics of models. It caches nothing, so any number of replicas may share the database.
type Reports struct {
	db *sqlx.DB
	// reads is the pool for whatever may read many rows.
	reads *sqlx.DB
	turn  chan struct{} // Turn has a value while a report has its turn, and while it rests.
	long  singleflight.Group
	// encoded are reports in their forms.
	encoded singleflight.Group
	o       Options
}

// NewReports returns reports of a migrated database. It panics when a required option is missing.
func NewReports(db *sqlx.DB, o Options) *Reports {
	app.RequireOptions("usage.NewReports", map[string]bool{"db": db != nil, "Options.Now": o.Now != nil, "Options.Log": o.Log != nil})
	o.RecordsKept = cmp.Or(o.RecordsKept, recordsKept)
	return &Reports{db: db, reads: cmp.Or(o.Reads, db), turn: make(chan struct{}, 1), o: o}
}

// Run maintains the partitions of usage records and updates the statistics of models until ctx ends. Any number of replicas may run it.
func (r *Reports) Run(ctx context.Context) error {
	tick := time.NewTicker(workerEvery)
	defer tick.Stop()
	var partitioned, counted time.Time
	for {
		if now := r.o.Now(); now.Sub(partitioned) >= partitionsEvery {
			if err := r.MaintainPartitions(ctx); err == nil {
				partitioned = now
			} else if ctx.Err() == nil {
				r.o.Log.Warn("usage record partition upkeep failed", "error", err)
			}
		}
		if end := r.o.Now().Add(-statsLag).Truncate(time.Minute); end.After(counted) {
			if err := r.UpdateModelStats(ctx); err != nil && ctx.Err() == nil {
				r.o.Log.Warn("model statistics update failed", "error", err)
			}
			counted = end // A failed update is retried in a minute.
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
