package usage

import (
	"context"
	"time"

	"umg/app/postgres"
)

// These limits apply to the monthly partitions of usage records.
const (
	recordsKept     = 400 * 24 * time.Hour // The operator may choose another time.
	monthsAhead     = 2                    // This many partitions are made before they are needed.
	partitionsEvery = time.Hour
)

// MaintainPartitions makes the partitions of the coming months and drops months of usage records that are older than
// RecordsKept. Their sums and the ledger's entries stay.
func (r *Reports) MaintainPartitions(ctx context.Context) error {
	now := r.o.Now().UTC()
	_, err := r.db.ExecContext(ctx, `select make_usage_months($1::date, $2::date)`,
		now.Format(time.DateOnly), now.AddDate(0, monthsAhead, 1-now.Day()).Format(time.DateOnly))
	if err != nil {
		return postgres.StoreError("usage: make partitions", err)
	}
	var dropped int
	err = r.db.GetContext(ctx, &dropped, `select drop_usage_months($1::date)`, now.Add(-r.o.RecordsKept).Format(time.DateOnly))
	if dropped > 0 {
		r.o.Log.Info("usage records dropped", "months", dropped, "before", now.Add(-r.o.RecordsKept).Format(time.DateOnly))
	}
	return postgres.StoreError("usage: drop partitions", err)
}
