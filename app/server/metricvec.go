package server

import "github.com/prometheus/client_golang/prometheus"

// MetricVec is some numbers of a room that labels tell apart, such as those of each provider. The room bounds their number: labels
// are what the operator or this program has named.
type MetricVec struct {
	Labels  []string
	Columns []Column
	// Rows gives the rows as they are now: the values of the labels, and a number for each column.
	Rows func(row func(labels []string, values ...float64))
}

// Column is one metric of a table.
type Column struct {
	Name, Help string
	Gauge      bool // the value may fall; a counter only grows
}

func (t MetricVec) collector() prometheus.Collector {
	c := &tableCollector{table: t}
	for _, one := range t.Columns {
		c.descs = append(c.descs, prometheus.NewDesc(one.Name, one.Help, t.Labels, nil))
	}
	return c
}

// tableCollector reads a table for each scrape of the metrics.
type tableCollector struct {
	table MetricVec
	descs []*prometheus.Desc
}

// Describe lists the metrics.
func (c *tableCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect reads the rows.
func (c *tableCollector) Collect(to chan<- prometheus.Metric) {
	c.table.Rows(func(labels []string, values ...float64) {
		for i, v := range values {
			kind := prometheus.CounterValue
			if c.table.Columns[i].Gauge {
				kind = prometheus.GaugeValue
			}
			to <- prometheus.MustNewConstMetric(c.descs[i], kind, v, labels...)
		}
	})
}
