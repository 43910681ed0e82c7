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
	if err := makeMonths(ctx, r.db, now, now.AddDate(0, monthsAhead, 1-now.Day())); err != nil {
		return postgres.StoreError("usage: make partitions", err)
	}
	dropped, err := dropMonths(ctx, r.db, now.Add(-r.o.RecordsKept))
	if dropped > 0 {
		r.o.Log.Info("usage records dropped", "months", dropped, "before", now.Add(-r.o.RecordsKept).Format(time.DateOnly))
	}
	return postgres.StoreError("usage: drop partitions", err)
}

func makeMonths(ctx context.Context, q postgres.Queryer, from, to time.Time) error {
	_, err := q.ExecContext(ctx, `select make_usage_months($1::date, $2::date)`, from.Format(time.DateOnly), to.Format(time.DateOnly))
	return err
}

func dropMonths(ctx context.Context, q postgres.Queryer, before time.Time) (dropped int, err error) {
	err = q.GetContext(ctx, &dropped, `select drop_usage_months($1::date)`, before.Format(time.DateOnly))
	return dropped, err
}
