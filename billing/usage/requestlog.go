package usage

import (
	"context"
	"fmt"
	"time"

	"umg/app/postgres"
)

// These limits bound how much of the log one query reads.
const (
	tailStartedMax = 5000 // A tail looks for new settlements among this many calls that began last.
	tailAgeMax     = time.Hour
	tailRowsMax    = 100
	tailSettling   = time.Second // A settlement may become visible this long after its own time.
	sampledMax     = 200_000     // One histogram reads at most this many records.
	stepsMax       = 400         // One histogram has at most this many steps.
	sampleAllMax   = 60_000      // Latencies read at most this many records.
	sampleLeast    = 5           // The share of an interval is never below this many records.
)

// TailStart is the position of a tail that shows what is settled from now on.
func (r *Reports) TailStart() string {
	return cursor{at: r.o.Now().Add(-tailSettling), id: "0"}.String()
}

// HistogramBucket is one interval of a histogram.
type HistogramBucket struct {
	Start    time.Time
	Requests int64
	Failed   int64
}

// Histogram is how many calls began in each interval, and how many of them failed. Since is where the counting begins. It is
// later than requested when there are more calls than the query may count.
type Histogram struct {
	Bars  []HistogramBucket
	Since time.Time
}

// Histogram counts the calls and refusals of a query that has both bounds, by steps from its beginning. A refusal counts as failed.
// It reads steps of whole quarter hours from the sums when the sums have every filter.
func (r *Reports) Histogram(ctx context.Context, q RecordQuery, step time.Duration) (Histogram, error) {
	n := 0
	if step > 0 && q.From.Before(q.To) {
		n = int((q.To.Sub(q.From) + step - 1) / step)
	}
	if n < 1 || n > stepsMax {
		return Histogram{}, fmt.Errorf("usage: histogram of %d steps", n)
	}
	h := Histogram{Bars: make([]HistogramBucket, n), Since: q.From}
	for i := range h.Bars {
		h.Bars[i].Start = q.From.Add(time.Duration(i) * step).UTC()
	}
	read, partly := selectBars, true
	if q.summed() && step%slotLength == 0 && q.From.Equal(q.From.Truncate(slotLength)) && q.To.Equal(q.To.Truncate(slotLength)) {
		read, partly = selectSlotBars, false
	}
	rows, err := read(ctx, r.reads, q, step)
	if err != nil {
		return h, postgres.StoreError("usage: histogram", err)
	}
	counted, first := h.add(rows)
	refused, err := q.selectRefusalBars(ctx, r.reads, step)
	if err != nil {
		return h, postgres.StoreError("usage: histogram of refusals", err)
	}
	h.add(refused)
	if partly && counted >= sampledMax && first < n {
		h.Since = h.Bars[first].Start
	}
	return h, nil
}

// add adds what was counted in each step. It returns the sum of the requests, and the first step that has some.
func (h *Histogram) add(rows []barRow) (requests int64, first int) {
	first = len(h.Bars)
	for _, row := range rows {
		if row.Step >= 0 && row.Step < len(h.Bars) {
			h.Bars[row.Step].Requests += row.Requests
			h.Bars[row.Step].Failed += row.Failed
			first = min(first, row.Step)
		}
		requests += row.Requests
	}
	return requests, first
}

// summed reports whether the sums of quarter hours can answer the query.
func (q RecordQuery) summed() bool {
	return q.Outcome+q.EndUser+q.Transaction+q.Provider+q.Used+q.ErrorCode+q.Finish+q.Search == "" && q.Keys == nil && q.Streamed == nil &&
		q.Played == nil && q.CostFrom == nil && q.CostTo == nil && q.Slower == 0
}

// LatencyLine is the median and 95th percentile of how long the calls of one interval and group took, from a sample of them.
type LatencyLine struct {
	Start              time.Time // Start is zero for the whole time range.
	Group              string
	All                bool  // All marks the line of all groups together.
	Calls              int64 // Calls is the size of the sample.
	P50, P95           time.Duration
	FirstP50, FirstP95 time.Duration // These are times until the first byte, of calls that had one.
}

// Latencies are the percentiles of answered calls, by the report's steps and groups, and of all together. With many calls,
// the sample has the same number from each interval; Each is that number.
type Latencies struct {
	Lines []LatencyLine
	Each  int           // At most this many calls are read from each interval.
	Every time.Duration // Every is the length of the interval.
}

// Latencies reads percentiles from the records.
func (r *Reports) Latencies(ctx context.Context, q Query) (Latencies, error) {
	if q.Zone == nil {
		q.Zone = time.UTC
	}
	if groupColumns[q.Group] == "" || !q.From.Before(q.To) {
		return Latencies{}, fmt.Errorf("usage: latencies grouped by %q from %s to %s", q.Group, q.From, q.To)
	}
	out := Latencies{Every: slotLength}
	for q.To.Sub(q.From)/out.Every > sampleAllMax/(4*sampleLeast) {
		out.Every *= 2
	}
	out.Each = max(sampleAllMax/max(int(q.To.Sub(q.From)/out.Every), 1), sampleLeast)
	rows, err := selectLatencies(ctx, r.reads, q, out)
	if err != nil {
		return out, postgres.StoreError("usage: latencies", err)
	}
	for _, row := range rows {
		line := LatencyLine{
			Group: row.Name, All: row.All, Calls: row.Calls, P50: micros(row.P50), P95: micros(row.P95),
			FirstP50: micros(row.FirstP50), FirstP95: micros(row.FirstP95),
		}
		if row.Start != nil {
			line.Start = row.Start.UTC()
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
