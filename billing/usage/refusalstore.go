package usage

import (
	"context"
	"strings"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// refusalRow is a row of the table refusals.
type refusalRow struct {
	RequestID  string    `db:"request_id"`
	AccountID  string    `db:"account_id"`
	KeyID      string    `db:"key_id"`
	At         time.Time `db:"at"`
	Method     string    `db:"method"`
	Route      string    `db:"route"`
	Style      string    `db:"style"`
	Model      string    `db:"model"`
	Status     int       `db:"status"`
	Code       string    `db:"code"`
	Param      string    `db:"param"`
	Message    string    `db:"message"`
	Duration   int64     `db:"duration_micros"`
	Represents int64     `db:"represents"`
	WrittenAt  time.Time `db:"written_at"`
}

const refusalColumns = `request_id, account_id, key_id, at, method, route, style, model, status, code, param, message, duration_micros,
	represents, written_at`

// faultStatuses are answers that say that the gateway failed. Such a request was not refused, but has no usage record either.
const faultStatuses = `(500, 502, 504)`

func (r *refusalRow) request() Request {
	outcome := OutcomeRefused
	switch r.Status {
	case 500, 502, 504:
		outcome = "failed"
	}
	return Request{
		UsageRecord: billing.UsageRecord{
			RequestID: r.RequestID, AccountID: r.AccountID, KeyID: r.KeyID, Model: r.Model, Style: r.Style, ErrorCode: r.Code, Outcome: outcome,
			StartedAt: r.At.UTC(), Duration: time.Duration(r.Duration) * time.Microsecond,
		},
		Refusal: &Refusal{
			Status: r.Status, Param: r.Param, Message: r.Message, Method: r.Method, Route: r.Route, Represents: r.Represents,
		},
	}
}

// mayMatchRefusals reports whether refusals can have what the query asks for. They have no provider, cost, settlement or end user.
func (q RecordQuery) mayMatchRefusals() bool {
	switch q.Outcome {
	case "", OutcomeRefused, NotSucceeded, "failed":
	default:
		return false
	}
	return q.Reason+q.EndUser+q.Transaction+q.Provider+q.Used+q.Finish == "" && q.Streamed == nil && (q.CostFrom == nil || *q.CostFrom <= 0)
}

// refusalWhere is the condition of a query for refusals, with the arguments of refusalArgs.
const refusalWhere = `
	account_id = $1 and ($2::timestamptz is null or at >= $2) and ($3::timestamptz is null or at < $3)
	and ($4 = '' or model = $4) and ($5 = '' or key_id = $5) and ($6 = '' or style = $6)
	and ($7 <> 'refused' or status not in ` + faultStatuses + `) and ($7 <> 'failed' or status in ` + faultStatuses + `)
	and ($8 = '' or starts_with(request_id, $8)) and ($9 = '' or code = $9) and ($10::text[] is null or key_id = any($10))
	and ($11::boolean is null or (key_id = '') = $11) and ($12 = 0 or duration_micros > $12)`

func (q RecordQuery) refusalWhere() string {
	if _, id, found := strings.Cut(q.Search, "_"); q.wholeID != "" || found && len(id) == wholeIDLength {
		return strings.Replace(refusalWhere, "starts_with(request_id, $8)", "request_id = $8", 1)
	}
	return refusalWhere
}

func refusalArgs(q RecordQuery, more ...any) []any {
	search := q.Search
	if q.wholeID != "" {
		search = q.wholeID
	}
	return append([]any{
		q.AccountID, postgres.NullTime(q.From), postgres.NullTime(q.To), q.Model, q.KeyID, q.Style, q.Outcome,
		app.MakeStorable(search, searchBytesMax), q.ErrorCode, keyList(q.Keys), q.Played, q.Slower.Microseconds(),
	}, more...)
}

func searchRefusals(ctx context.Context, db postgres.Queryer, q RecordQuery, after cursor, limit int) (rows []refusalRow, err error) {
	if !q.mayMatchRefusals() {
		return nil, nil
	}
	err = db.SelectContext(ctx, &rows, `
		select `+refusalColumns+` from refusals
		where `+q.refusalWhere()+` and ($13::timestamptz is null or (at, request_id) < ($13, $14))
		order by at desc, request_id desc limit $15`, refusalArgs(q, postgres.NullTime(after.at), after.id, limit)...)
	return rows, err
}

// nearRow is the place of a row in the request log.
type nearRow struct {
	At time.Time `db:"at"`
	ID string    `db:"request_id"`
}

func (q RecordQuery) selectNextRecord(ctx context.Context, db postgres.Queryer, at cursor) (rows []nearRow, err error) {
	err = db.SelectContext(ctx, &rows, `
		select started_at as at, request_id from usage_records where `+q.where()+` and (started_at, request_id) > ($22, $23)
		order by started_at, request_id limit 1`, recordArgs(q, at.at, at.id)...)
	return rows, err
}

func (q RecordQuery) selectNextRefusal(ctx context.Context, db postgres.Queryer, at cursor) (rows []nearRow, err error) {
	if !q.mayMatchRefusals() {
		return nil, nil
	}
	err = db.SelectContext(ctx, &rows, `
		select at, request_id from refusals where `+q.refusalWhere()+` and (at, request_id) > ($13, $14)
		order by at, request_id limit 1`, refusalArgs(q, at.at, at.id)...)
	return rows, err
}

// selectTail reads only the calls that began last, and limits their number before it applies any other filter.
func (q RecordQuery) selectTail(ctx context.Context, db postgres.Queryer, from cursor, to time.Time) (rows []tailRow, err error) {
	err = db.SelectContext(ctx, &rows, `
		select `+billing.UsageColumns+`, settled_at from (
			select * from usage_records where account_id = $1 and started_at >= $2 and day >= ($2::timestamptz at time zone 'utc')::date
			order by started_at desc limit $22
		) usage_records
		where `+q.where()+` and (settled_at, request_id) > ($23, $24) and settled_at <= $25
		order by settled_at, request_id limit $26`,
		recordArgs(q, tailStartedMax, from.at.UTC(), from.id, to, tailRowsMax)...)
	return rows, err
}

func (q RecordQuery) selectRefusalTail(ctx context.Context, db postgres.Queryer, from cursor, to time.Time) (rows []refusalRow, err error) {
	if !q.mayMatchRefusals() {
		return nil, nil
	}
	err = db.SelectContext(ctx, &rows, `
		select `+refusalColumns+` from (
			select * from refusals where account_id = $1 and at >= $2 order by at desc limit $13
		) refusals
		where `+q.refusalWhere()+` and (written_at, request_id) > ($14, $15) and written_at <= $16
		order by written_at, request_id limit $17`,
		refusalArgs(q, tailStartedMax, from.at.UTC(), from.id, to, tailRowsMax)...)
	return rows, err
}

func (q RecordQuery) selectRefusalBars(ctx context.Context, db postgres.Queryer, step time.Duration) (rows []barRow, err error) {
	if !q.mayMatchRefusals() {
		return nil, nil
	}
	err = db.SelectContext(ctx, &rows, `
		select floor(extract(epoch from at - $2::timestamptz) / $14)::integer as step, sum(represents)::bigint as requests,
			sum(represents)::bigint as failed
		from (
			select at, represents from refusals where `+q.refusalWhere()+` order by at desc limit $13
		) r group by 1`, refusalArgs(q, sampledMax, int64(step/time.Second))...)
	return rows, err
}

// refusalSumRow is how many requests of one group were refused in one step of a report.
type refusalSumRow struct {
	Start       *time.Time `db:"start"`
	Name        string     `db:"name"`
	Refused     int64      `db:"refused"`
	RateLimited int64      `db:"rate_limited"`
}

// refusalGroups are the columns that group refusals in a report. Refusals have no end user, and their reason is that they were refused.
var refusalGroups = map[Grouping]string{
	ByNothing: "''::text", ByModel: "model", ByKey: "key_id", ByStyle: "style", ByReason: "'refused'::text", ByEndUser: "''::text",
	ByModality: "case when style = 'videos' then 'video' else 'text' end",
}

// selectRefusalSums adds up the refusals of a report by its steps and groups.
func selectRefusalSums(ctx context.Context, db postgres.Queryer, q Query) (rows []refusalSumRow, err error) {
	if q.EndUser != "" || q.Reason != "" && q.Reason != OutcomeRefused {
		return nil, nil
	}
	err = db.SelectContext(ctx, &rows, `
		select ($8::timestamptz[])[width_bucket(at, $8::timestamptz[])] as start, `+refusalGroups[q.Group]+` as name,
			sum(represents)::bigint as refused, coalesce(sum(represents) filter (where status = 429), 0)::bigint as rate_limited
		from refusals
		where account_id = $1 and at >= $2 and at < $3 and ($4 = '' or model = $4) and ($5 = '' or key_id = $5) and ($6 = '' or style = $6)
			and case $7 when 'video' then style = 'videos' when 'text' then style <> 'videos' else true end
			and ($9::text[] is null or key_id = any($9)) and status not in `+faultStatuses+`
		group by 1, 2 order by 1 nulls first, refused desc, 2 limit $10`,
		q.AccountID, q.From.UTC(), q.To.UTC(), q.Model, q.KeyID, q.Style, q.Modality, pq.StringArray(intervals(q)), keyList(q.Keys),
		reportLinesMax)
	return rows, err
}
