package traffic

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

// write stores calls with one statement, in the order of their subjects, so that two replicas cannot deadlock.
func (l *RecentCalls) write(ctx context.Context, taken map[pendingKey]RecentCall) error {
	columns := make([][]string, 9)
	var refused []bool
	var at []string
	var status []int64
	for p, c := range taken {
		for i, text := range []string{p.subject, c.RequestID, c.KeyID, c.Method, c.Route, c.Style, c.Model, c.Code, c.Reason} {
			columns[i] = append(columns[i], text)
		}
		refused, at, status = append(refused, p.refused), append(at, c.At.UTC().Format(time.RFC3339Nano)), append(status, int64(c.Status))
	}
	_, err := l.db.ExecContext(ctx, `
		insert into arrivals (subject, refused, at, request_id, key_id, method, route, style, model, status, code, reason)
		select * from unnest($1::text[], $2::boolean[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
			$9::text[], $10::integer[], $11::text[], $12::text[])
			as c (subject, refused, at, request_id, key_id, method, route, style, model, status, code, reason)
		order by subject, refused
		on conflict (subject, refused) do update set at = excluded.at, request_id = excluded.request_id, key_id = excluded.key_id,
			method = excluded.method, route = excluded.route, style = excluded.style, model = excluded.model, status = excluded.status,
			code = excluded.code, reason = excluded.reason
		where arrivals.at <= excluded.at`,
		pq.Array(columns[0]), pq.Array(refused), pq.Array(at), pq.Array(columns[1]), pq.Array(columns[2]), pq.Array(columns[3]),
		pq.Array(columns[4]), pq.Array(columns[5]), pq.Array(columns[6]), pq.Array(status), pq.Array(columns[7]), pq.Array(columns[8]))
	if err != nil {
		return fmt.Errorf("traffic: write recent calls: %w", err)
	}
	return nil
}

func (l *RecentCalls) deleteOld(ctx context.Context) error {
	defer postgres.TakeTurn(ctx)()
	if _, err := l.db.ExecContext(ctx, `delete from arrivals where at < $1`, l.now().Add(-callsKeptFor).UTC()); err != nil {
		return fmt.Errorf("traffic: delete old recent calls: %w", err)
	}
	return nil
}

// List returns the calls of an account, and those with an unknown key from an IP address, since a time, newest first.
func (l *RecentCalls) List(ctx context.Context, accountID, ip string, from time.Time) (calls []RecentCall, err error) {
	var rows []struct {
		RecentCall
		Subject string `db:"subject"`
	}
	err = l.db.SelectContext(ctx, &rows, `
		select subject, refused, at, request_id, key_id, method, route, style, model, status, code, reason
		from arrivals where subject in ($1, $2) and at >= $3 order by at desc`, accountID, addressSubject(ip), from.UTC())
	if postgres.Unavailable(err) {
		return nil, app.ErrStore(err)
	}
	if err != nil {
		return nil, fmt.Errorf("traffic: read recent calls: %w", err)
	}
	for _, r := range rows {
		if r.Subject == accountID {
			r.AccountID = accountID
		}
		calls = append(calls, r.RecentCall)
	}
	return calls, nil
}
