package usage

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// RecordQuery selects usage records, newest first. After is the Next of the previous page.
type RecordQuery struct {
	AccountID            string
	From, To             time.Time // A zero time is no bound.
	Model, KeyID, Style  string
	Reason, Outcome      string // NotSucceeded matches every outcome but success and a client that left.
	EndUser, Transaction string
	Provider, Used       string // Used is the provider's name of the model.
	ErrorCode, Finish    string
	Keys                 []string    // Keys matches any of these keys; nil matches all.
	Streamed, Played     *bool       // Nil matches both. Played matches calls that no key made.
	CostFrom, CostTo     *app.Amount // Both bounds are inclusive; nil is no bound.
	Slower               time.Duration
	Search               string // Search is the beginning of a request id.
	After                string
	Limit                int

	wholeID string // WholeID is the id of the only refusal that matches.
}

// NotSucceeded is the Outcome of a query for all failed calls.
const NotSucceeded = "not_succeeded"

// RecordPage is one page of usage records. Next is empty on the last.
type RecordPage struct {
	Records []billing.UsageRecord
	Next    string
}

// Records lists usage records.
func (r *Reports) Records(ctx context.Context, q RecordQuery) (RecordPage, error) {
	after, err := readCursor(q.After)
	if err != nil {
		return RecordPage{}, err
	}
	limit := min(max(q.Limit, 1), recordsMax)
	rows, err := searchRecords(ctx, r.reads, q, after, limit+1)
	if err != nil {
		return RecordPage{}, postgres.StoreError("usage: records", err)
	}
	var page RecordPage
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = cursor{at: rows[limit-1].StartedAt, id: rows[limit-1].RequestID}.String()
	}
	page.Records = recordsOf(rows)
	return page, nil
}

func recordsOf(rows []billing.UsageRow) []billing.UsageRecord {
	records := make([]billing.UsageRecord, len(rows))
	for i, row := range rows {
		records[i] = row.Record()
	}
	return records
}

// cursor is the position after the last record of a page.
type cursor struct {
	at time.Time
	id string
}

// String is the cursor that a caller gets and sends back.
func (c cursor) String() string { return strconv.FormatInt(c.at.UnixMicro(), 10) + "." + c.id }

// readCursor parses what String wrote; an empty string is the first page.
func readCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}
	micros, id, found := strings.Cut(s, ".")
	at, err := strconv.ParseInt(micros, 10, 64)
	if !found || err != nil || id == "" || at < 0 || at > cursorMicrosMax || len(s) > cursorBytesMax {
		return cursor{}, app.Errorf(app.Invalid, "invalid_cursor",
			"This is not where a page of requests ends. Begin with the first page.").At("after")
	}
	return cursor{at: time.UnixMicro(at).UTC(), id: id}, nil
}

// Record returns the usage record of one request of an account, or app.NotFound.
func (r *Reports) Record(ctx context.Context, accountID, requestID string) (billing.UsageRecord, error) {
	var row billing.UsageRow
	err := r.db.GetContext(ctx, &row, `
		select `+billing.UsageColumns+` from usage_records where request_id = $2 and account_id = $1 order by day limit 1`,
		accountID, app.MakeStorable(requestID, searchBytesMax))
	if errors.Is(err, sql.ErrNoRows) {
		return billing.UsageRecord{}, app.Errorf(app.NotFound, "not_found", "There is no request %s.",
			app.MakeStorable(requestID, searchBytesMax)).At("id")
	}
	if err != nil {
		return billing.UsageRecord{}, postgres.StoreError("usage: record", err)
	}
	return row.Record(), nil
}

// Spend returns the cost and the number of the calls that an account started since the given time.
func (r *Reports) Spend(ctx context.Context, accountID string, since time.Time) (app.Amount, int64, error) {
	var cost app.Amount
	var requests int64
	err := r.db.QueryRowxContext(ctx, `
		select coalesce(sum(cost_nanos), 0)::bigint, count(*) from usage_records where account_id = $1 and started_at >= $2`,
		accountID, since.UTC()).Scan(&cost, &requests)
	return cost, requests, postgres.StoreError("usage: spend", err)
}

// Requests returns the account's latest usage records, newest first, at most 200.
func (r *Reports) Requests(ctx context.Context, accountID string, limit int) ([]billing.UsageRecord, error) {
	return r.latest(ctx, "requests", accountID, "true", limit)
}

// LastText returns an account's newest usage records of charged text calls, at most limit.
func (r *Reports) LastText(ctx context.Context, accountID string, limit int) ([]billing.UsageRecord, error) {
	return r.latest(ctx, "last text", accountID, "style <> 'videos' and cost_nanos + overrun_nanos > 0", limit)
}

func (r *Reports) latest(ctx context.Context, what, accountID, condition string, limit int) ([]billing.UsageRecord, error) {
	var rows []billing.UsageRow
	err := r.db.SelectContext(ctx, &rows, `
		select `+billing.UsageColumns+` from usage_records where account_id = $1 and `+condition+`
		order by started_at desc, request_id desc limit $2`, accountID, min(max(limit, 1), pageSizeMax))
	return recordsOf(rows), postgres.StoreError("usage: "+what, err)
}
