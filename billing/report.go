package billing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// Grouping is how a usage report is divided.
type Grouping string

// These are the groupings of a report. The empty one gives totals.
const (
	ByNothing  Grouping = ""
	ByModel    Grouping = "model"
	ByKey      Grouping = "key"
	ByStyle    Grouping = "style"
	ByReason   Grouping = "reason"
	ByModality Grouping = "modality"
	ByEndUser  Grouping = "end_user" // This grouping reads the records, so it reaches only as far back as they are kept.
)

// Step is the length of a report's intervals.
type Step string

// These are the steps of a report. A day begins according to the report's time zone.
const (
	NoStep   Step = ""
	Hourly   Step = "hour"
	Daily    Step = "day"
	Minutely Step = "minute" // This step reads the records, so it reaches only as far back as they are kept.
)

// UsageQuery selects what an account used and paid from From (inclusive) to To (exclusive), both on a quarter of an hour.
type UsageQuery struct {
	AccountID         string
	From, To          time.Time
	Zone              *time.Location // Zone decides when days begin; nil means UTC.
	Group             Grouping
	Step              Step
	Model, KeyID      string // An empty filter matches all.
	Style, Reason     string
	EndUser, Modality string   // Modality is text or video.
	Keys              []string // Keys matches any of these keys; nil matches all.
	Limited           bool     // Limited also counts responses with status 429, which only the records contain.
}

// UsageLine is one interval of one group.
type UsageLine struct {
	Start         time.Time // Start is zero without a step.
	Group         string
	Requests      int64
	Failed        int64 // Failed counts calls that neither succeeded nor were ended by their client.
	Streamed      int64
	Limited       int64 // Limited counts responses with status 429, if the query asks for them.
	Usage         Usage
	Cost, Overrun app.Amount
}

// UsageReport is what an account used: the lines in order of time and cost, and their sum.
type UsageReport struct {
	Lines []UsageLine
	Total UsageLine
}

// slotLength is the interval of the stored sums: the days and hours of every time zone begin on one.
const slotLength = 15 * time.Minute

// UsageReport reads the sums of quarter hours, which outlive the records. Reports by the minute, by end user, and of
// responses with status 429 read the records.
func (l *Ledger) UsageReport(ctx context.Context, q UsageQuery) (UsageReport, error) {
	if q.Zone == nil {
		q.Zone = time.UTC
	}
	switch {
	case !q.From.Equal(q.From.Truncate(slotLength)) || !q.To.Equal(q.To.Truncate(slotLength)):
		return UsageReport{}, fmt.Errorf("billing: usage report from %s to %s: not on a quarter of an hour", q.From, q.To)
	case q.Step != NoStep && q.Step != Minutely && q.Step != Hourly && q.Step != Daily:
		return UsageReport{}, fmt.Errorf("billing: usage report by the %q", q.Step)
	case groupColumns[q.Group] == "":
		return UsageReport{}, fmt.Errorf("billing: usage report grouped by %q", q.Group)
	}
	rows, err := selectUsage(ctx, l.db, q)
	if err != nil {
		return UsageReport{}, postgres.StoreError("billing: usage report", err)
	}
	if len(rows) > reportLinesMax {
		return UsageReport{}, app.Errorf(app.Invalid, "range_too_large",
			"The report has more than %d lines. Choose a shorter range, a longer step or another grouping.", reportLinesMax).At("range")
	}
	report := UsageReport{Lines: make([]UsageLine, len(rows))}
	for i, row := range rows {
		report.Lines[i] = row.line()
		report.Total.add(report.Lines[i])
	}
	return report, nil
}

// add adds another line's numbers.
func (u *UsageLine) add(line UsageLine) {
	u.Requests += line.Requests
	u.Failed += line.Failed
	u.Streamed += line.Streamed
	u.Limited += line.Limited
	u.Cost += line.Cost
	u.Overrun += line.Overrun
	for m := range u.Usage {
		u.Usage[m] += line.Usage[m]
	}
}

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
}

// NotSucceeded is the Outcome of a query for all failed calls.
const NotSucceeded = "not_succeeded"

// RecordPage is one page of usage records. Next is empty on the last.
type RecordPage struct {
	Records []UsageRecord
	Next    string
}

// Records lists usage records.
func (l *Ledger) Records(ctx context.Context, q RecordQuery) (RecordPage, error) {
	after, err := readCursor(q.After)
	if err != nil {
		return RecordPage{}, err
	}
	limit := min(max(q.Limit, 1), recordsMax)
	rows, err := searchRecords(ctx, l.db, q, after, limit+1)
	if err != nil {
		return RecordPage{}, postgres.StoreError("billing: records", err)
	}
	var page RecordPage
	if len(rows) > limit {
		rows = rows[:limit]
		last := rows[limit-1]
		page.Next = cursor{at: last.StartedAt, id: last.RequestID}.String()
	}
	for _, row := range rows {
		page.Records = append(page.Records, row.record())
	}
	return page, nil
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
	if !found || err != nil || id == "" || at < 0 || at > cursorMicrosMax || len(s) > sourceBytesMax {
		return cursor{}, app.Errorf(app.Invalid, "invalid_cursor",
			"This is not where a page of requests ends. Begin with the first page.").At("after")
	}
	return cursor{at: time.UnixMicro(at).UTC(), id: id}, nil
}

// Record returns the usage record of one request of an account, or app.NotFound.
func (l *Ledger) Record(ctx context.Context, accountID, requestID string) (UsageRecord, error) {
	row, err := selectRecord(ctx, l.db, accountID, requestID)
	if errors.Is(err, sql.ErrNoRows) {
		return UsageRecord{}, app.Errorf(app.NotFound, "not_found", "There is no request %s.", clean(requestID)).At("id")
	}
	if err != nil {
		return UsageRecord{}, postgres.StoreError("billing: record", err)
	}
	return row.record(), nil
}

// EntryQuery selects an account's ledger entries, newest first. Before is the id of the last entry of the previous page.
type EntryQuery struct {
	AccountID string
	Kinds     []string // Kinds are kinds of transactions; empty matches all.
	From, To  time.Time
	Before    int64
	Limit     int
}

// EntryPage is one page of ledger entries.
type EntryPage struct {
	Entries []Entry // Entry.Requests is how many requests a charge has.
	More    bool
}

// EntryList lists ledger entries.
func (l *Ledger) EntryList(ctx context.Context, q EntryQuery) (EntryPage, error) {
	limit := pageSize(q.Limit)
	entries, err := searchEntries(ctx, l.db, q, limit+1)
	if err != nil {
		return EntryPage{}, postgres.StoreError("billing: entries", err)
	}
	return EntryPage{Entries: entries[:min(limit, len(entries))], More: len(entries) > limit}, nil
}

// Reconciliation compares an account's sums, which are stored separately and must be equal: usage against charges, entries
// against the balance, grants against the balance.
type Reconciliation struct {
	Usage   app.Amount `db:"usage"`   // Usage is the usage of all time.
	Charges app.Amount `db:"charges"` // Charges are those of all time, net of reversals.
	Entries app.Amount `db:"entries"`
	Posted  app.Amount `db:"posted"`
	Grants  app.Amount `db:"grants"`
	At      time.Time
}

// Exact reports whether all sums agree to the nano-dollar.
func (r Reconciliation) Exact() bool {
	return r.Usage == r.Charges && r.Entries == r.Posted && r.Grants == r.Posted
}

// Reconcile reads an account's sums in one snapshot.
func (l *Ledger) Reconcile(ctx context.Context, accountID string) (Reconciliation, error) {
	r, err := selectSums(ctx, l.db, accountID)
	r.At = l.o.Now().UTC()
	return r, postgres.StoreError("billing: reconcile", err)
}
