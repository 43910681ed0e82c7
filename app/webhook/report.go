package webhook

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// reportSpan is how far a report looks back.
const reportSpan = 24 * time.Hour

// Report is how an endpoint did in the last 24 hours, with its latest failure, for people to look at.
type Report struct {
	Succeeded   int           `db:"succeeded"` // Succeeded counts attempts.
	Failed      int           `db:"failed"`    // Failed counts attempts.
	Median      time.Duration `db:"-"`         // Median is the median of all attempts.
	P95         time.Duration `db:"-"`
	LastFailure *Failure      `db:"-"` // LastFailure is nil if no attempt failed.
}

// Failure is a failed attempt in short.
type Failure struct {
	At         time.Time
	Status     int // Status is zero if the receiver did not answer.
	Error      string
	DeliveryID string
}

// Reports returns the reports of the account's endpoints by id. One without attempts is not there.
func (s *Service) Reports(ctx context.Context, p app.Principal) (map[string]Report, error) {
	var rows []struct {
		Report
		EndpointID string     `db:"endpoint_id"`
		P50        float64    `db:"p50"`
		P95        float64    `db:"p95"`
		FailedAt   *time.Time `db:"failed_at"`
		Status     int        `db:"status"`
		Error      string     `db:"error"`
		DeliveryID string     `db:"delivery_id"`
	}
	err := s.db.SelectContext(ctx, &rows, `
		with recent as (select * from webhook_attempts where account_id = $1 and started_at >= $2),
		figures as (
			select endpoint_id, count(*) filter (where succeeded) as succeeded, count(*) filter (where not succeeded) as failed,
				percentile_cont(0.5) within group (order by duration_ms) as p50, percentile_cont(0.95) within group (order by duration_ms) as p95
			from recent group by endpoint_id),
		failures as (
			select distinct on (endpoint_id) endpoint_id, started_at, status, error, delivery_id
			from recent where not succeeded order by endpoint_id, started_at desc, number desc)
		select f.*, l.started_at as failed_at, coalesce(l.status, 0) as status, coalesce(l.error, '') as error,
			coalesce(l.delivery_id, '') as delivery_id
		from figures f left join failures l using (endpoint_id)`, p.AccountID, s.now().Add(-reportSpan))
	found := make(map[string]Report, len(rows))
	for _, r := range rows {
		report := r.Report
		report.Median, report.P95 = milliseconds(r.P50), milliseconds(r.P95)
		if r.FailedAt != nil {
			report.LastFailure = &Failure{At: *r.FailedAt, Status: r.Status, Error: r.Error, DeliveryID: r.DeliveryID}
		}
		found[r.EndpointID] = report
	}
	return found, postgres.StoreError("webhook: report on endpoints", err)
}

func milliseconds(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
