package operator

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"umg/app/console/page"
	"umg/app/traffic"
	operatorpages "umg/views/operator"
)

const (
	metricMinutes = 60
	writtenAgoMax = 20 * time.Second // The number of running calls of a replica is unknown after this time.
	middle, high  = 50, 95           // These percentiles are shown.
)

// metrics shows the calls of the last hour on all replicas.
func (c *Console) metrics(p *page.Page) error {
	if c.o.MinuteCounts == nil {
		return page.ErrNotFound()
	}
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	m := operatorpages.Metrics{Shell: c.Shell(p), RawURL: c.o.MetricsURL}
	minutes, err := c.o.MinuteCounts.Hour(ctx)
	if m.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	fillMetrics(&m, minutes)
	return c.Render(p, http.StatusOK, operatorpages.MetricsPage(m))
}

// minuteSum adds up minutes. It computes percentiles from the durations, never from other percentiles.
type minuteSum struct {
	operatorpages.MetricMinute

	first, own traffic.Durations
}

func (t *minuteSum) add(m *traffic.Minute) {
	t.Seen = true
	t.Calls += m.Calls
	t.Errors += m.Errors
	t.Limited += m.RateLimited
	t.Unfunded += m.InsufficientCredit
	t.Overloaded += m.Overloaded
	t.InFlightMax += m.InFlightMax
	t.first.Add(&m.FirstByte)
	t.own.Add(&m.Overhead)
}

func (t *minuteSum) view() operatorpages.MetricMinute {
	v := t.MetricMinute
	v.First50, _ = t.first.Percentile(middle)
	v.First95, _ = t.first.Percentile(high)
	v.Own50, _ = t.own.Percentile(middle)
	v.Own95, _ = t.own.Percentile(high)
	return v
}

// fillMetrics adds the minutes up: by minute, by replica and altogether.
func fillMetrics(m *operatorpages.Metrics, minutes []traffic.Minute) {
	var hour minuteSum
	byMinute, byReplica := map[int64]*minuteSum{}, map[string]*minuteSum{}
	last := map[string]*traffic.Minute{}
	for i := range minutes {
		one := &minutes[i]
		start := one.Start.Unix()
		if byMinute[start] == nil {
			byMinute[start] = &minuteSum{}
		}
		if byReplica[one.Replica] == nil {
			byReplica[one.Replica] = &minuteSum{}
		}
		for _, t := range []*minuteSum{&hour, byMinute[start], byReplica[one.Replica]} {
			t.add(one)
		}
		last[one.Replica] = one // The minutes are ordered by time.
	}
	m.Hour = hour.view()
	begin := m.Now.UTC().Truncate(time.Minute).Add(-(metricMinutes - 1) * time.Minute)
	for i := range metricMinutes {
		start := begin.Add(time.Duration(i) * time.Minute)
		v := operatorpages.MetricMinute{Start: start}
		if t := byMinute[start.Unix()]; t != nil {
			v = t.view()
			v.Start = start
		}
		m.Minutes = append(m.Minutes, v)
	}
	for name, t := range byReplica {
		r := operatorpages.MetricReplica{Name: name, Seen: last[name].WrittenAt, MetricMinute: t.view()}
		if m.Now.Sub(r.Seen) < writtenAgoMax {
			r.InFlight = last[name].InFlight
		}
		m.Replicas = append(m.Replicas, r)
	}
	slices.SortFunc(m.Replicas, func(a, b operatorpages.MetricReplica) int { return strings.Compare(a.Name, b.Name) })
}
