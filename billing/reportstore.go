package billing

import (
	"context"
	"strings"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

// These limits apply to reports.
const (
	reportLinesMax  = 20_000
	reportStepsMax  = 20_000
	recordsMax      = 10_000 // One page has at most this many records.
	cursorMicrosMax = 1 << 53
)

// groupColumns are the columns that group a report. The sums and the records share their names.
var groupColumns = map[Grouping]string{
	ByNothing: "''::text", ByModel: "model", ByKey: "key_id", ByStyle: "style", ByReason: "reason", ByEndUser: "end_user",
	ByModality: "case style when 'videos' then 'video' else 'text' end",
}

type usageSumRow struct {
	Start            *time.Time `db:"start"`
	Name             string     `db:"name"`
	Requests         int64      `db:"requests"`
	Failed           int64      `db:"failed"`
	Streamed         int64      `db:"streamed"`
	Limited          int64      `db:"limited"`
	InputTokens      int64      `db:"input_tokens"`
	CacheReadTokens  int64      `db:"cache_read_tokens"`
	CacheWriteTokens int64      `db:"cache_write_tokens"`
	OutputTokens     int64      `db:"output_tokens"`
	ReasoningTokens  int64      `db:"reasoning_tokens"`
	Images           int64      `db:"images"`
	Milliseconds     int64      `db:"milliseconds"`
	Characters       int64      `db:"characters"`
	Billed           int64      `db:"billed_requests"`
	Cost             app.Amount `db:"cost"`
	Overrun          app.Amount `db:"overrun"`
}

func (r usageSumRow) line() UsageLine {
	line := UsageLine{
		Group: r.Name, Requests: r.Requests, Failed: r.Failed, Streamed: r.Streamed, Limited: r.Limited, Cost: r.Cost, Overrun: r.Overrun,
		Usage: Usage{
			InputTokens: r.InputTokens, CacheReadTokens: r.CacheReadTokens, CacheWriteTokens: r.CacheWriteTokens,
			OutputTokens: r.OutputTokens, ReasoningTokens: r.ReasoningTokens, Images: r.Images, Seconds: r.Milliseconds,
			Characters: r.Characters, Requests: r.Billed,
		},
	}
	if r.Start != nil {
		line.Start = r.Start.UTC()
	}
	return line
}

// sumColumns add up the columns that sums and records share.
const sumColumns = `
	sum(input_tokens)::bigint as input_tokens, sum(cache_read_tokens)::bigint as cache_read_tokens,
	sum(cache_write_tokens)::bigint as cache_write_tokens, sum(output_tokens)::bigint as output_tokens,
	sum(reasoning_tokens)::bigint as reasoning_tokens, sum(images)::bigint as images, sum(milliseconds)::bigint as milliseconds,
	sum(characters)::bigint as characters, sum(cost_nanos)::bigint as cost, sum(overrun_nanos)::bigint as overrun`

// intervals are the starts of a report's steps: the days and hours of its time zone.
func intervals(u UsageQuery) []string {
	var starts []string
	local := u.From.In(u.Zone)
	start := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, u.Zone)
	next := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, u.Zone) }
	switch u.Step {
	case NoStep:
		return nil
	case Minutely:
		start = local
		next = func(t time.Time) time.Time { return t.Add(time.Minute) }
	case Hourly:
		start = local.Add(-time.Duration(local.Minute()) * time.Minute)
		next = func(t time.Time) time.Time { return t.Add(time.Hour) } // An hour that occurs twice when the clock is set back is two steps.
	case Daily:
	}
	for t := start; t.Before(u.To) && len(starts) <= reportStepsMax; t = next(t) {
		starts = append(starts, t.UTC().Format(time.RFC3339))
	}
	return starts
}

// selectUsage adds up by intervals that the gateway computes, so the database needs no time zone rules.
func selectUsage(ctx context.Context, q postgres.Queryer, u UsageQuery) (rows []usageSumRow, err error) {
	at, from := "slot", `sum(requests)::bigint as requests, sum(failed)::bigint as failed, sum(streamed)::bigint as streamed,
			sum(billed_requests)::bigint as billed_requests, 0 as limited
		from usage_rollups where account_id = $1 and slot >= $2 and slot < $3 and $8 = ''`
	if u.Group == ByEndUser || u.EndUser != "" || u.Step == Minutely || u.Limited {
		at, from = "started_at", `count(*) as requests, count(*) filter (where outcome not in ('succeeded', 'client_left')) as failed,
			count(*) filter (where streamed) as streamed, sum(requests)::bigint as billed_requests,
			count(*) filter (where error_code = 'rate_limit_exceeded') as limited
		from usage_records where account_id = $1 and started_at >= $2 and started_at < $3 and ($8 = '' or end_user = $8)
			and day between ($2::timestamptz at time zone 'utc')::date and ($3::timestamptz at time zone 'utc')::date`
	}
	err = q.SelectContext(ctx, &rows, `
		select ($10::timestamptz[])[width_bucket(`+at+`, $10::timestamptz[])] as start, `+groupColumns[u.Group]+` as name,
			`+sumColumns+`, `+from+`
			and ($4 = '' or model = $4) and ($5 = '' or key_id = $5) and ($6 = '' or style = $6) and ($7 = '' or reason = $7)
			and case $9 when 'video' then style = 'videos' when 'text' then style <> 'videos' else true end
			and ($12::text[] is null or key_id = any($12))
		group by 1, 2 order by 1 nulls first, cost desc, requests desc, 2 limit $11`,
		u.AccountID, u.From.UTC(), u.To.UTC(), u.Model, u.KeyID, u.Style, u.Reason, u.EndUser, u.Modality,
		pq.StringArray(intervals(u)), reportLinesMax+1, keyList(u.Keys))
	return rows, err
}

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
		r.AccountID, bound(r.From), bound(r.To), r.Model, r.KeyID, r.Style, r.Reason, r.Outcome, r.EndUser, r.Transaction,
		clean(r.Search), r.Provider, r.Used, r.ErrorCode, r.Finish, keyList(r.Keys), r.Streamed, r.Played, nanos(r.CostFrom), nanos(r.CostTo),
		r.Slower.Microseconds(),
	}, more...)
}

// keyList returns a list of keys, or nil for no filter. An empty list matches no key.
func keyList(keys []string) any {
	if keys == nil {
		return nil
	}
	return pq.Array(keys)
}

func nanos(a *app.Amount) *int64 {
	if a == nil {
		return nil
	}
	n := int64(*a)
	return &n
}

func searchRecords(ctx context.Context, q postgres.Queryer, r RecordQuery, after cursor, limit int) (rows []usageRow, err error) {
	err = q.SelectContext(ctx, &rows, `
		select `+recordColumns+` from usage_records
		where `+r.where()+` and ($22::timestamptz is null or (started_at, request_id) < ($22, $23))
		order by started_at desc, request_id desc limit $24`,
		recordArgs(r, bound(after.at), after.id, limit)...)
	return rows, err
}

// bound returns a time, or nil for the zero time.
func bound(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func selectRecord(ctx context.Context, q postgres.Queryer, accountID, requestID string) (row usageRow, err error) {
	err = q.GetContext(ctx, &row, `
		select `+recordColumns+` from usage_records where request_id = $2 and account_id = $1 order by day limit 1`, accountID, clean(requestID))
	return row, err
}

func searchEntries(ctx context.Context, q postgres.Queryer, e EntryQuery, limit int) (entries []Entry, err error) {
	kinds := e.Kinds
	if kinds == nil {
		kinds = []string{}
	}
	err = q.SelectContext(ctx, &entries, `
		select e.id, e.transaction_id, t.kind, t.ref, e.amount_nanos, e.posted_after, coalesce(t.meta ->> 'reason', '') as reason, t.at,
			case t.kind when 'charge' then (
				select count(*) from usage_records u where u.transaction_id = e.transaction_id and u.account_id = e.account_id
			) else 0 end as requests
		from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
		where e.account_id = $1 and e.posted_after is not null and (cardinality($2::text[]) = 0 or t.kind = any($2))
			and ($3::timestamptz is null or t.at >= $3) and ($4::timestamptz is null or t.at < $4) and ($5 = 0 or e.id < $5)
		order by e.id desc limit $6`,
		e.AccountID, pq.Array(kinds), bound(e.From), bound(e.To), e.Before, limit)
	return entries, err
}

func selectSums(ctx context.Context, q postgres.Queryer, accountID string) (r Reconciliation, err error) {
	err = q.GetContext(ctx, &r, `
		select
			(select coalesce(sum(cost_nanos), 0)::bigint from usage_rollups where account_id = $1) as usage,
			(select coalesce(-sum(e.amount_nanos), 0)::bigint from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
				where e.account_id = $1 and t.kind in ('charge', 'reversal')) as charges,
			(select coalesce(sum(amount_nanos), 0)::bigint from ledger_entries where account_id = $1) as entries,
			(select coalesce(sum(remaining_nanos), 0)::bigint from grants where account_id = $1 and not spent) as grants,
			(select posted_nanos from credit_accounts where id = $1 and kind = 'customer') as posted`, accountID)
	return r, err
}
