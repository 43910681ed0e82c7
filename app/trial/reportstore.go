package trial

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// sumRow is what was given since a time.
type sumRow struct {
	Count  int        `db:"count"`
	Amount app.Amount `db:"amount"`
	Oldest *time.Time `db:"oldest"`
}

func selectSum(ctx context.Context, q postgres.Queryer, since time.Time) (sumRow, error) {
	return postgres.Get[sumRow](ctx, q, `
		select count(*) as count, coalesce(sum(amount_nanos), 0)::bigint as amount, min(granted_at) as oldest
		from trials where granted_at > $1`, since)
}

// selectDays adds up the trials of each day since the first. An account has paid when it bought credit after its trial.
func selectDays(ctx context.Context, q postgres.Queryer, first time.Time) ([]Day, error) {
	var rows []struct {
		Day    time.Time  `db:"day"`
		Count  int        `db:"count"`
		Amount app.Amount `db:"amount"`
		Paid   int        `db:"paid"`
	}
	err := q.SelectContext(ctx, &rows, `
		select (t.granted_at at time zone 'utc')::date as day, count(*) as count, sum(t.amount_nanos)::bigint as amount,
			count(*) filter (where a.paid_at is not null and exists (
				select from topups p where p.account_id = t.account_id and p.paid_at >= t.granted_at)) as paid
		from trials t join accounts a on a.id = t.account_id
		where t.granted_at >= $1 group by 1 order by 1`, first)
	days := make([]Day, len(rows))
	for i, r := range rows {
		days[i] = Day{
			Day: time.Date(r.Day.Year(), r.Day.Month(), r.Day.Day(), 0, 0, 0, 0, time.UTC), Count: r.Count, Amount: r.Amount, Paid: r.Paid,
		}
	}
	return days, err
}

// placeRow is a network or a domain with its trials since a time. When the trial that leaves first is a day old there is room again.
type placeRow struct {
	Name   string    `db:"name"`
	Count  int       `db:"count"`
	Leaves time.Time `db:"leaves"`
}

// selectFullPlaces are the places with as many trials since a time as they get. With more than that, there is room again only
// when as many have left as are too many, and one more.
func selectFullPlaces(
	ctx context.Context, q postgres.Queryer, network bool, since time.Time, most, limit int,
) ([]placeRow, error) {
	return postgres.Select[placeRow](ctx, q, `
		select name, count(*) as count, (array_agg(granted_at order by granted_at))[count(*) - $2 + 1] as leaves
		from (select case when $3 then network else domain end as name, granted_at from trials where granted_at > $1) t
		where name <> '' group by name having count(*) >= $2 order by count(*) desc, name limit $4`, since, most, network, limit)
}
