package refusal

import (
	"context"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

// write stores rows with one statement. A row that is there already is left as it is.
func (l *Log) write(ctx context.Context, rows []Record) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeMax)
	defer cancel()
	texts := make([][]string, 10)
	numbers := make([][]int64, 3)
	at := make([]string, 0, len(rows))
	var represented int64
	for i := range rows {
		r := &rows[i]
		for column, text := range []string{r.RequestID, r.AccountID, r.KeyID, r.Method, r.Route, r.Style, r.Model, r.Code, r.Param, r.Message} {
			texts[column] = append(texts[column], text)
		}
		for column, n := range []int64{int64(r.Status), r.Duration.Microseconds(), r.Represents} {
			numbers[column] = append(numbers[column], n)
		}
		at = append(at, r.At.UTC().Format(time.RFC3339Nano))
		represented += r.Represents
	}
	_, err := l.db.ExecContext(ctx, `
		insert into refusals (request_id, account_id, key_id, method, route, style, model, code, param, message, status, duration_micros,
			represents, at)
		select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
			$10::text[], $11::integer[], $12::bigint[], $13::bigint[], $14::timestamptz[])
		on conflict (request_id) do nothing`,
		pq.Array(texts[0]), pq.Array(texts[1]), pq.Array(texts[2]), pq.Array(texts[3]), pq.Array(texts[4]), pq.Array(texts[5]),
		pq.Array(texts[6]), pq.Array(texts[7]), pq.Array(texts[8]), pq.Array(texts[9]), pq.Array(numbers[0]), pq.Array(numbers[1]),
		pq.Array(numbers[2]), pq.Array(at))
	if err == nil {
		l.written.Add(represented)
	}
	return postgres.StoreError("refusal: write", err)
}

// deleteOld deletes at most so many rows that are older than a moment.
func (l *Log) deleteOld(ctx context.Context, before time.Time, rowsMax int) (int64, error) {
	done, err := l.db.ExecContext(ctx, `
		delete from refusals where request_id in (select request_id from refusals where at < $1 limit $2)`, before.UTC(), rowsMax)
	if err != nil {
		return 0, postgres.StoreError("refusal: delete old", err)
	}
	return done.RowsAffected()
}
