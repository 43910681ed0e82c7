package billing

import (
	"context"
	"errors"
	"time"

	"umg/app"
)

// Grouping is what a usage report is divided by.
type Grouping string

// The groupings of a report. Nothing gives totals.
const (
	ByNothing Grouping = ""
	ByModel   Grouping = "model"
	ByKey     Grouping = "key"
	ByStyle   Grouping = "style"
	ByReason  Grouping = "reason"
	ByEndUser Grouping = "end_user" // from the records themselves, so only as far back as these are kept
)

// Step is the length of a report's intervals.
type Step string

// The steps of a report. A day begins where the report's time zone says.
const (
	NoStep Step = ""
	Hourly Step = "hour"
	Daily  Step = "day"
)

// UsageQuery asks what an account used and paid from From (inclusive) to To (exclusive), both on a quarter of an hour.
type UsageQuery struct {
	AccountID         string
	From, To          time.Time
	Zone              *time.Location // of days; UTC when nil
	Group             Grouping
	Step              Step
	Model, KeyID      string // filters; empty for all
	Style, Reason     string
	EndUser, Modality string // modality is text or video
}

// UsageLine is one interval of one group.
type UsageLine struct {
	Start         time.Time // zero without a step
	Group         string
	Requests      int64
	Failed        int64 // that neither succeeded nor were left by their client
	Streamed      int64
	Usage         Usage
	Cost, Overrun app.Amount
}

// UsageReport is what an account used: the lines in order of time and cost, and their sum.
type UsageReport struct {
	Lines []UsageLine
	Total UsageLine
}

// UsageReport adds up usage from the sums of quarter hours, which outlive the records.
func (l *Ledger) UsageReport(ctx context.Context, q UsageQuery) (UsageReport, error) {
	return UsageReport{}, errors.New("billing: usage report: not built")
}

// RecordQuery asks for usage records, newest first. After is the Next of the page before.
type RecordQuery struct {
	AccountID            string
	From, To             time.Time // zero for no bound
	Model, KeyID, Style  string
	Reason, Outcome      string
	EndUser, Transaction string
	Search               string // the beginning of a request's id
	After                string
	Limit                int
}

// RecordPage is one page of usage records. Next is empty on the last.
type RecordPage struct {
	Records []UsageRecord
	Next    string
}

// Records lists usage records.
func (l *Ledger) Records(ctx context.Context, q RecordQuery) (RecordPage, error) {
	return RecordPage{}, errors.New("billing: records: not built")
}

// Record is the usage record of one request of an account; app.NotFound when it has none.
func (l *Ledger) Record(ctx context.Context, accountID, requestID string) (UsageRecord, error) {
	return UsageRecord{}, errors.New("billing: record: not built")
}

// EntryQuery asks for an account's ledger entries, newest first. Before is the id of the last entry of the page before.
type EntryQuery struct {
	AccountID string
	Kinds     []string // of transactions; empty for all
	From, To  time.Time
	Before    int64
	Limit     int
}

// EntryPage is one page of ledger entries.
type EntryPage struct {
	Entries []Entry // Entry.Requests says how many requests a charge has
	More    bool
}

// EntryList lists ledger entries.
func (l *Ledger) EntryList(ctx context.Context, q EntryQuery) (EntryPage, error) {
	return EntryPage{}, errors.New("billing: entries: not built")
}

// Reconciliation compares an account's sums, which are kept apart and must be equal: usage against charges, entries
// against the balance, grants against the balance.
type Reconciliation struct {
	Usage, Charges  app.Amount // of all time; charges net of reversals
	Entries, Posted app.Amount
	Grants          app.Amount
	At              time.Time
}

// Exact reports whether everything agrees to the nano-dollar.
func (r Reconciliation) Exact() bool {
	return r.Usage == r.Charges && r.Entries == r.Posted && r.Grants == r.Posted
}

// Reconcile reads an account's sums in one snapshot.
func (l *Ledger) Reconcile(ctx context.Context, accountID string) (Reconciliation, error) {
	return Reconciliation{}, errors.New("billing: reconcile: not built")
}
