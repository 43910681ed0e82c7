package usage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/singleflight"

	"umg/app"
	"umg/app/meter"
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

// Query selects what an account used and paid from From (inclusive) to To (exclusive), both on a quarter of an hour.
type Query struct {
	AccountID         string
	From, To          time.Time
	Zone              *time.Location // Zone decides when days begin; nil means UTC.
	Group             Grouping
	Step              Step
	Model, KeyID      string // An empty filter matches all.
	Style, Reason     string
	EndUser, Modality string   // Modality is text or video.
	Keys              []string // Keys matches any of these keys; nil matches all.
	Refusals          bool     // Refusals also counts refused requests.
	Limited           bool     // Limited also counts responses with status 429, which only the records contain.
}

// Line is one interval of one group.
type Line struct {
	Start    time.Time // Start is zero without a step.
	Group    string
	Requests int64
	Failed   int64 // Failed counts calls that neither succeeded nor were ended by their client.
	Streamed int64
	Limited  int64 // Limited counts responses of providers with status 429, if the query asks for them.
	// Refused counts requests that were refused before any provider was called, if the query asks for them, and RateLimited those of them
	// with status 429. They are not among Requests.
	Refused, RateLimited int64
	Usage                meter.Counts
	Cost, Overrun        app.Amount
	// UpstreamCost is what those calls cost the operator of which that is known, and UpstreamPriced is how many these are.
	UpstreamCost   app.Amount
	UpstreamPriced int64
}

// Report is what an account used: the lines in order of time and cost, and their sum.
type Report struct {
	Lines []Line
	Total Line
}

const (
	// shortScanMax is the longest time whose records reports read without taking turns.
	shortScanMax = 31 * 24 * time.Hour
	// restFactor is how many times as long as a report took the next one waits for its turn. So reports one after the other keep a core
	// of the database busy for an eighth of the time.
	restFactor = 7
	restMax    = 2 * time.Second
)

// slotLength is the interval of the stored sums: the days and hours of every time zone begin on one.
const slotLength = 15 * time.Minute

// ModelUsage reports the usage of an account by model, from a moment to now. Reports begin and end at quarters of an hour.
func (r *Reports) ModelUsage(ctx context.Context, accountID string, from time.Time) (Report, error) {
	return r.Report(ctx, Query{
		AccountID: accountID, From: from.UTC().Truncate(slotLength), To: r.o.Now().UTC().Truncate(slotLength).Add(slotLength), Group: ByModel,
	})
}

// Report reads the sums of quarter hours, which outlive the records. Reports by the minute, by end user, and of
// responses with status 429 read the records.
func (r *Reports) Report(ctx context.Context, q Query) (Report, error) {
	if q.Zone == nil {
		q.Zone = time.UTC
	}
	switch {
	case !q.From.Equal(q.From.Truncate(slotLength)) || !q.To.Equal(q.To.Truncate(slotLength)):
		return Report{}, fmt.Errorf("usage: report from %s to %s: not on a quarter of an hour", q.From, q.To)
	case q.Step != NoStep && q.Step != Minutely && q.Step != Hourly && q.Step != Daily:
		return Report{}, fmt.Errorf("usage: report by the %q", q.Step)
	case groupColumns[q.Group] == "":
		return Report{}, fmt.Errorf("usage: report grouped by %q", q.Group)
	}
	rows, err := r.readSums(ctx, q)
	if err != nil {
		return Report{}, postgres.StoreError("usage: usage report", err)
	}
	if len(rows) > reportLinesMax {
		return Report{}, app.Errorf(app.Invalid, "range_too_large",
			"The report has more than %d lines. Choose a shorter range, a longer step or another grouping.", reportLinesMax).At("range")
	}
	report := Report{Lines: make([]Line, len(rows))}
	for i, row := range rows {
		report.Lines[i] = row.line()
		report.Total.add(report.Lines[i])
	}
	if q.Refusals {
		return report, r.addRefusals(ctx, q, &report)
	}
	return report, nil
}

// Encoded is a report in a form that encode makes. Equal queries that read the records of much time share one report in each form.
func (r *Reports) Encoded(ctx context.Context, q Query, form string, encode func(Report) ([]byte, error)) ([]byte, error) {
	report := func(ctx context.Context) ([]byte, error) {
		report, err := r.Report(ctx, q)
		if err != nil {
			return nil, err
		}
		return encode(report)
	}
	if !q.readsMuch() {
		return report(ctx)
	}
	return share(ctx, &r.encoded, q.name()+form, report)
}

// readSums reads the sums of a query. Equal queries that read the records of much time share one reading.
func (r *Reports) readSums(ctx context.Context, q Query) ([]usageSumRow, error) {
	if !q.readsMuch() {
		return selectUsage(ctx, r.reads, q)
	}
	return share(ctx, &r.long, q.name(), func(ctx context.Context) ([]usageSumRow, error) { return r.readInTurn(ctx, q) })
}

// readsMuch reports whether the query reads the records of much time.
func (q Query) readsMuch() bool { return q.readsRecords() && q.To.Sub(q.From) > shortScanMax }

// name differs between queries that differ.
func (q Query) name() string {
	fields := q
	fields.Zone = nil
	// The syntax of Go tells nil keys, which are all, from none, and one text from two.
	return fmt.Sprintf("%#v %s", fields, q.Zone)
}

// share returns what do returns to the first of the callers that ask for a name at a time. A caller that leaves does not end it.
func share[T any](ctx context.Context, among *singleflight.Group, name string, do func(context.Context) (T, error)) (value T, err error) {
	result := among.DoChan(name, func() (any, error) { return do(context.WithoutCancel(ctx)) })
	select {
	case <-ctx.Done():
		return value, ctx.Err()
	case shared := <-result:
		value, _ = shared.Val.(T)
		return value, shared.Err
	}
}

// readInTurn reads the sums of a query alone, since each reading keeps a core of the database busy that calls need.
func (r *Reports) readInTurn(ctx context.Context, q Query) ([]usageSumRow, error) {
	waiting, cancel := context.WithTimeout(ctx, ReadStatementMax)
	defer cancel()
	select {
	case r.turn <- struct{}{}:
	case <-waiting.Done():
		return nil, waiting.Err()
	}
	began := r.o.Now()
	defer func() { time.AfterFunc(min(restFactor*r.o.Now().Sub(began), restMax), func() { <-r.turn }) }()
	return selectUsage(ctx, r.reads, q) // The pool limits the time of the statement.
}

// readsRecords reports whether the sums lack what the query asks for.
func (q Query) readsRecords() bool {
	return q.Group == ByEndUser || q.EndUser != "" || q.Step == Minutely || q.Limited
}

// add adds another line's numbers.
func (u *Line) add(line Line) {
	u.Requests += line.Requests
	u.Failed += line.Failed
	u.Streamed += line.Streamed
	u.Limited += line.Limited
	u.Refused += line.Refused
	u.RateLimited += line.RateLimited
	u.Cost += line.Cost
	u.Overrun += line.Overrun
	u.UpstreamCost += line.UpstreamCost
	u.UpstreamPriced += line.UpstreamPriced
	for m := range u.Usage {
		u.Usage[m] += line.Usage[m]
	}
}

// addRefusals adds the counts of refusals to the lines of a report. Groups and steps that have nothing else get a line of their own.
func (r *Reports) addRefusals(ctx context.Context, q Query, report *Report) error {
	rows, err := selectRefusalSums(ctx, r.db, q)
	if err != nil {
		return postgres.StoreError("usage: report of refusals", err)
	}
	type place struct {
		start int64
		group string
	}
	placeOf := func(l *Line) place { return place{l.Start.Unix(), l.Group} }
	known := make(map[place]int, len(report.Lines))
	for i := range report.Lines {
		known[placeOf(&report.Lines[i])] = i
	}
	for _, row := range rows {
		line := Line{Group: row.Name, Refused: row.Refused, RateLimited: row.RateLimited}
		if row.Start != nil {
			line.Start = row.Start.UTC()
		}
		report.Total.add(line)
		if i, found := known[placeOf(&line)]; found {
			report.Lines[i].add(line)
		} else {
			report.Lines = append(report.Lines, line)
		}
	}
	slices.SortStableFunc(report.Lines, func(a, b Line) int { return a.Start.Compare(b.Start) })
	return nil
}
