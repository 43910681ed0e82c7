//go:build bench

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"umg/e2e/harness"
)

const (
	// yearRecords is the number of calls of the year that reports read, and reportReaders that of clients that read it again and again.
	yearRecords   = 150_000
	reportReaders = 8
	reportRate    = 100
)

// reportBar is for the p99 of calls while reports are read, as a ratio to that without.
var reportBar = bar{1.5, 1.1}

// benchReports prints how long calls take while clients of the same account read its usage of a year by end user, which no sums have.
func benchReports(t *testing.T, b *bench, r *report, p plan) {
	c := b.fillYear(t)
	traffic := cpuCases[0].traffic
	to := b.gateway
	steady := load{clients: clientsStandard, rate: reportRate, warm: p.warm, during: 4 * p.steady}
	var without, with, ratio, reports, foreign samples
	measure := func() outcome { return b.measure(t, to, traffic, steady) }
	for range p.rounds {
		quiet := measure()
		ctx, stop := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		read, problems := make([]int, reportReaders), make([]error, reportReaders)
		began := time.Now()
		for i := range read {
			// goroutine: the test owns it and waits for it; it ends when the calls have ended.
			readers.Go(func() { read[i], problems[i] = readYear(ctx, c) })
		}
		busy := measure()
		stop()
		readers.Wait()
		if err := errors.Join(problems...); err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, n := range read {
			sum += n
		}
		without, with = append(without, percentile(quiet.whole, 99)), append(with, percentile(busy.whole, 99))
		ratio = append(ratio, percentile(busy.whole, 99)/percentile(quiet.whole, 99))
		reports, foreign = append(reports, float64(sum)/time.Since(began).Seconds()), append(foreign, busy.foreign)
	}
	r.table(fmt.Sprintf("Calls of 1 kB, %d a second, while %d clients read a year of %d calls by end user", reportRate, reportReaders, yearRecords),
		"p99 without, ms", "p99 with, ms", "ratio", "must", "aim", "", "reports/s", "foreign, %")
	r.row(append(append([]string{without.String(), with.String(), ratio.String()}, r.judge("p99 of calls while reports are read", ratio, reportBar)...),
		number(reports.median()), number(foreign.median()))...)
}

// fillYear makes a customer with calls on every day of a year.
func (b *bench) fillYear(t *testing.T) harness.Customer {
	t.Helper()
	c := b.home.NewCustomer(t, "year")
	db := b.home.DB(t)
	db.MustExec(`select make_usage_months((now() - interval '1 year')::date, now()::date)`)
	db.MustExec(`insert into usage_records (request_id, day, account_id, key_id, model, provider, upstream_model, style, rate_card_id, end_user,
			finish_reason, error_code, outcome, reason, streamed, estimated, attempts, meters, reserved_nanos, cost_nanos, overrun_nanos,
			started_at, first_byte_micros, duration_micros, settled_at)
		select 'req_year_' || i, at::date, $1, '', 'm', 'p', 'm', 'chat', 'c', 'person-' || i % 1000, '', '', 'succeeded', '', false, false, 1,
			'{1,0,0,1,0,0,0,0,1}', 0, 0, 0, at, 0, 0, at
		from (select i, now() - i * interval '1 year' / $2 as at from generate_series(1, $2::int) i) made`, c.AccountID, yearRecords)
	db.MustExec(`analyze usage_records`)
	return c
}

// readYear reads the report until ctx ends, and returns how often it got one. A full pool answers 503.
func readYear(ctx context.Context, c harness.Customer) (reports int, problem error) {
	from := time.Now().UTC().AddDate(-1, 0, 2).Format(time.DateOnly)
	path := "/v1/usage?group_by=end_user&from=" + from + "&to=" + time.Now().UTC().Format(time.DateOnly)
	for ctx.Err() == nil {
		a, err := c.TryCall(ctx, http.MethodGet, path, "", "X-Error-Status", "standard")
		switch {
		case err == nil && a.Status == http.StatusOK:
			reports++
		case err == nil && a.Status != http.StatusServiceUnavailable:
			return reports, fmt.Errorf("%s: %d %.300s", path, a.Status, a.Body)
		}
	}
	return reports, nil
}
