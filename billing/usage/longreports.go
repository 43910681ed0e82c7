package usage

import (
	"context"
	"time"

	"umg/app/postgres"
)

// These limits apply to long reports, which read the records of more than longReportRange.
const (
	longReportRange = 7 * 24 * time.Hour
	// longReportsMax is how many a gateway reads at once: each keeps a core of the database busy, which calls need too.
	longReportsMax    = 1
	longReportWaitMax = 20 * time.Second
)

// readsRecords reports whether the report needs the records, because the sums of quarter hours do not have what it asks for.
func (q Query) readsRecords() bool {
	return q.Group == ByEndUser || q.EndUser != "" || q.Step == Minutely || q.Limited
}

// waitForTurn waits until a report may be read, and returns what lets the next one begin. Only long reports wait for each other. After
// longReportWaitMax the error says that the database is unavailable, which callers may answer by trying again.
func (r *Reports) waitForTurn(ctx context.Context, q Query) (done func(), err error) {
	if !q.readsRecords() || q.To.Sub(q.From) <= longReportRange {
		return func() {}, nil
	}
	wait, cancel := context.WithTimeout(ctx, longReportWaitMax)
	defer cancel()
	select {
	case r.longReports <- struct{}{}:
		return func() { <-r.longReports }, nil
	case <-wait.Done():
		return nil, postgres.StoreError("usage: wait for other long reports", wait.Err())
	}
}
