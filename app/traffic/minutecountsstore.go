package traffic

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

// write writes the counts of a minute, and deletes rows that are too old.
func (l *MinuteCounts) write(ctx context.Context, m *minute) error {
	_, err := l.repeated.ExecContext(ctx, `
		with old as (delete from traffic_minutes where minute < least($13::timestamptz, $1::timestamptz))
		insert into traffic_minutes (minute, replica, calls, errors, limited, unfunded, overloaded, in_flight, in_flight_max,
			first_byte, overhead, seen_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		on conflict (minute, replica) do update set calls = excluded.calls, errors = excluded.errors, limited = excluded.limited,
			unfunded = excluded.unfunded, overloaded = excluded.overloaded, in_flight = excluded.in_flight,
			in_flight_max = excluded.in_flight_max, first_byte = excluded.first_byte, overhead = excluded.overhead,
			seen_at = excluded.seen_at`,
		time.Unix(m.number*minuteSeconds, 0).UTC(), l.o.Replica, m.calls, m.errors, m.refused[RateLimited], m.refused[InsufficientCredit],
		m.refused[Overloaded], m.inFlight, m.most, pq.Int64Array(m.firstByte.pairs()), pq.Int64Array(m.overhead.pairs()), l.o.Now().UTC(),
		l.o.Now().Add(-minutesKept*time.Minute).UTC())
	if err != nil {
		return fmt.Errorf("traffic: write minute counts: %w", err)
	}
	return nil
}

// Hour returns the counts of every replica for this minute and the 59 before it, oldest first.
func (l *MinuteCounts) Hour(ctx context.Context) ([]Minute, error) {
	var rows []struct {
		Minute      time.Time     `db:"minute"`
		Replica     string        `db:"replica"`
		Calls       int64         `db:"calls"`
		Errors      int64         `db:"errors"`
		Limited     int64         `db:"limited"`
		Unfunded    int64         `db:"unfunded"`
		Overloaded  int64         `db:"overloaded"`
		InFlight    int64         `db:"in_flight"`
		InFlightMax int64         `db:"in_flight_max"`
		FirstByte   pq.Int64Array `db:"first_byte"`
		Overhead    pq.Int64Array `db:"overhead"`
		Seen        time.Time     `db:"seen_at"`
	}
	first := l.o.Now().Truncate(time.Minute).Add(-(hourMinutes - 1) * time.Minute)
	err := l.db.SelectContext(ctx, &rows, `
		select minute, replica, calls, errors, limited, unfunded, overloaded, in_flight, in_flight_max, first_byte, overhead, seen_at
		from traffic_minutes where minute >= $1 order by minute, replica limit $2`, first.UTC(), hourMinutes*replicasMax)
	if postgres.Unavailable(err) {
		return nil, app.ErrStore(err)
	}
	if err != nil {
		return nil, fmt.Errorf("traffic: read minute counts: %w", err)
	}
	all := make([]Minute, len(rows))
	for i, r := range rows {
		m := &all[i]
		*m = Minute{
			Start: r.Minute, Replica: r.Replica, WrittenAt: r.Seen, Calls: r.Calls, Errors: r.Errors,
			RateLimited: r.Limited, InsufficientCredit: r.Unfunded, Overloaded: r.Overloaded, InFlight: r.InFlight, InFlightMax: r.InFlightMax,
		}
		m.FirstByte.addPairs(r.FirstByte)
		m.Overhead.addPairs(r.Overhead)
	}
	return all, nil
}
