package usage

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// KeyDay is what one key cost on one day of UTC.
type KeyDay struct {
	KeyID string     `db:"key_id"`
	Day   time.Time  `db:"day"` // Day is the beginning of the day.
	Spend app.Amount `db:"spend"`
	Model string     `db:"model"` // Model is the model that the key called last on the day.
}

// KeyDays are the days since a given time on which keys of the account made calls, by key and the oldest day first. They are sums of
// quarter hours, so that their cost does not grow with the number of calls.
func (r *Reports) KeyDays(ctx context.Context, accountID string, since time.Time) ([]KeyDay, error) {
	var days []KeyDay
	err := r.reads.SelectContext(ctx, &days, `
		select key_id, date_trunc('day', slot at time zone 'utc') at time zone 'utc' as day, sum(cost_nanos)::bigint as spend,
			(array_agg(model order by slot desc, model))[1] as model
		from usage_rollups where account_id = $1 and slot >= $2 and key_id <> '' group by 1, 2 order by 1, 2`, accountID, since.UTC())
	for i := range days {
		days[i].Day = days[i].Day.UTC()
	}
	return days, postgres.StoreError("usage: days of keys", err)
}
