package usage

import (
	"context"
	"strings"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// recordWhere is the condition of a query for records, with the arguments of recordArgs.
const recordWhere = `
	account_id = $1 and ($2::timestamptz is null or (started_at >= $2 and day >= ($2::timestamptz at time zone 'utc')::date))
	and ($3::timestamptz is null or (started_at < $3 and day <= ($3::timestamptz at time zone 'utc')::date))
	and ($4 = '' or model = $4) and ($5 = '' or key_id = $5) and ($6 = '' or style = $6) and ($7 = '' or reason = $7)
	and ($8 = '' or outcome = $8 or ($8 = 'not_succeeded' and outcome not in ('succeeded', 'client_left')))
	and ($9 = '' or end_user = $9) and ($10 = '' or transaction_id = $10) and ($11 = '' or starts_with(request_id, $11))
	and ($12 = '' or provider = $12) and ($13 = '' or upstream_model = $13) and ($14 = '' or error_code = $14)
	and ($15 = '' or finish_reason = $15) and ($16::text[] is null or key_id = any($16)) and ($17::boolean is null or streamed = $17)
	and ($18::boolean is null or (key_id = '') = $18) and ($19::bigint is null or cost_nanos >= $19)
	and ($20::bigint is null or cost_nanos <= $20) and ($21 = 0 or duration_micros > $21)`

// wholeIDLength is the length of an id without its prefix.
const wholeIDLength = 26

// where is recordWhere, with an equality on the id when the search is a whole id, which lets the database use its index.
func (r RecordQuery) where() string {
	if _, id, found := strings.Cut(r.Search, "_"); found && len(id) == wholeIDLength {
		return strings.Replace(recordWhere, "starts_with(request_id, $11)", "request_id = $11", 1)
	}
	return recordWhere
}

func recordArgs(r RecordQuery, more ...any) []any {
	return append([]any{
		r.AccountID, postgres.NullTime(r.From), postgres.NullTime(r.To), r.Model, r.KeyID, r.Style, r.Reason, r.Outcome,
		r.EndUser, r.Transaction,
		app.MakeStorable(r.Search, searchBytesMax), r.Provider, r.Used, r.ErrorCode, r.Finish, keyList(r.Keys), r.Streamed, r.Played,
		(*int64)(r.CostFrom), (*int64)(r.CostTo), r.Slower.Microseconds(),
	}, more...)
}

func searchRecords(ctx context.Context, q postgres.Queryer, r RecordQuery, after cursor, limit int) (rows []billing.UsageRow, err error) {
	err = q.SelectContext(ctx, &rows, `
		select `+billing.UsageColumns+` from usage_records
		where `+r.where()+` and ($22::timestamptz is null or (started_at, request_id) < ($22, $23))
		order by started_at desc, request_id desc limit $24`,
		recordArgs(r, postgres.NullTime(after.at), after.id, limit)...)
	return rows, err
}
