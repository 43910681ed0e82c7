package billing

import (
	"context"
	"fmt"
	"time"
)

// Limits of what a log is looked through for.
const (
	tailStartedMax = 5000 // calls, by when they began, among which newly settled ones are looked for
	tailAgeMax     = time.Hour
	tailRowsMax    = 100
	tailSettling   = time.Second // a settlement shows at most so much later than it says it happened
	sampledMax     = 200_000     // records that one picture is made of
	stepsMax       = 400         // of one picture
	sampleAllMax   = 60_000      // records that latencies are made of
	sampleLeast    = 5           // of each interval
)

// TailStart is where a tail begins that shows what is settled from now on.
func (l *Ledger) TailStart() string {
	return cursor{at: l.o.Now().Add(-tailSettling), id: "0"}.String()
}

// Tail lists what was settled after a place of the tail, oldest first, and says how far it got. It looks among the calls
// that began last, so that it costs as much on a busy account as on a quiet one.
func (l *Ledger) Tail(ctx context.Context, q RecordQuery, after string) ([]UsageRecord, string, error) {
	from, err := readCursor(after)
	if err != nil {
		return nil, "", err
	}
	now := l.o.Now().UTC()
	q.From, q.To = now.Add(-tailAgeMax), time.Time{}
	rows, err := selectSettled(ctx, l.db, q, from, now.Add(-tailSettling))
	if err != nil {
		return nil, "", wrap("tail", err)
	}
	records := make([]UsageRecord, len(rows))
	for i, row := range rows {
		records[i] = row.record()
		after = cursor{at: row.SettledAt, id: row.RequestID}.String()
	}
	return records, after, nil
}

// Neighbours are the ids of the calls of a query next to one: the one that began after it and the one that began before it.
func (l *Ledger) Neighbours(ctx context.Context, q RecordQuery, r UsageRecord) (newer, older string, err error) {
	at := cursor{at: r.StartedAt, id: r.RequestID}
	rows, err := searchRecords(ctx, l.db, q, at, 1)
	if err == nil && len(rows) > 0 {
		older = rows[0].RequestID
	}
	if err == nil {
		newer, err = selectNewer(ctx, l.db, q, at)
	}
	return newer, older, wrap("neighbours", err)
}

// Bar is one interval of a histogram.
type Bar struct {
	Start    time.Time
	Requests int64
	Failed   int64
}

// Histogram is how many calls began in each interval, and how many of them failed. Since is where the counting begins, which
// is later than asked for where there are more calls than are counted.
type Histogram struct {
	Bars  []Bar
	Since time.Time
}

// Histogram counts the calls of a query that has both bounds, by steps from its beginning. Steps of whole quarter hours are
// read from the sums where these know all that is asked for.
func (l *Ledger) Histogram(ctx context.Context, q RecordQuery, step time.Duration) (Histogram, error) {
	n := 0
	if step > 0 && q.From.Before(q.To) {
		n = int((q.To.Sub(q.From) + step - 1) / step)
	}
	if n < 1 || n > stepsMax {
		return Histogram{}, fmt.Errorf("billing: histogram of %d steps", n)
	}
	h := Histogram{Bars: make([]Bar, n), Since: q.From}
	for i := range h.Bars {
		h.Bars[i].Start = q.From.Add(time.Duration(i) * step).UTC()
	}
	read, partly := selectBars, true
	if q.summed() && step%slotLength == 0 && q.From.Equal(q.From.Truncate(slotLength)) && q.To.Equal(q.To.Truncate(slotLength)) {
		read, partly = selectSlotBars, false
	}
	rows, err := read(ctx, l.db, q, step)
	if err != nil {
		return h, wrap("histogram", err)
	}
	var counted int64
	first := n
	for _, row := range rows {
		if row.Step >= 0 && row.Step < n {
			h.Bars[row.Step].Requests, h.Bars[row.Step].Failed = row.Requests, row.Failed
			first = min(first, row.Step)
		}
		counted += row.Requests
	}
	if partly && counted >= sampledMax && first < n {
		h.Since = h.Bars[first].Start
	}
	return h, nil
}

// summed reports whether the sums of quarter hours know all that is asked for.
func (q RecordQuery) summed() bool {
	return q.Outcome+q.EndUser+q.Transaction+q.Provider+q.Used+q.ErrorCode+q.Finish+q.Search == "" && q.Keys == nil && q.Streamed == nil &&
		q.Played == nil && q.CostFrom == nil && q.CostTo == nil && q.Slower == 0
}

// LatencyLine is how long the calls of one interval and group took, in the middle and at the slow end, of a sample of them.
type LatencyLine struct {
	Start              time.Time // zero for the whole span
	Group              string
	All                bool  // of all groups together
	Calls              int64 // of the sample
	P50, P95           time.Duration
	FirstP50, FirstP95 time.Duration // until the first byte, of those that had one
}

// Latencies are the percentiles of calls that were answered, by the report's steps and groups, and of all together. Where
// there are many calls, they are made of as many from each quarter of an hour or longer interval, which Each says.
type Latencies struct {
	Lines []LatencyLine
	Each  int           // calls taken from each interval at most
	Every time.Duration // its length
}

// Latencies reads percentiles from the records.
func (l *Ledger) Latencies(ctx context.Context, q UsageQuery) (Latencies, error) {
	if q.Zone == nil {
		q.Zone = time.UTC
	}
	if groupColumns[q.Group] == "" || !q.From.Before(q.To) {
		return Latencies{}, fmt.Errorf("billing: latencies grouped by %q from %s to %s", q.Group, q.From, q.To)
	}
	out := Latencies{Every: slotLength}
	for q.To.Sub(q.From)/out.Every > sampleAllMax/(4*sampleLeast) {
		out.Every *= 2
	}
	out.Each = max(sampleAllMax/max(int(q.To.Sub(q.From)/out.Every), 1), sampleLeast)
	rows, err := selectLatencies(ctx, l.db, q, out)
	if err != nil {
		return out, wrap("latencies", err)
	}
	for _, r := range rows {
		line := LatencyLine{
			Group: r.Name, All: r.All, Calls: r.Calls, P50: micros(r.P50), P95: micros(r.P95),
			FirstP50: micros(r.FirstP50), FirstP95: micros(r.FirstP95),
		}
		if r.Start != nil {
			line.Start = r.Start.UTC()
		}
		out.Lines = append(out.Lines, line)
	}
	return out, nil
}

func micros(n *int64) time.Duration {
	if n == nil {
		return 0
	}
	return time.Duration(*n) * time.Microsecond
}
