// Package metric makes the counters of a package into metrics of Prometheus. A package counts in atomics, and its Collector
// writes their values when Prometheus reads them, so counting takes no lock and no memory.
package metric

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const nanosPerDollar = 1e9

// NewCollector returns a collector of the metrics that write names. It calls write at registration, where only the names
// count, and at each scrape. Write must name the same metrics each time.
func NewCollector(write func(*Writer)) prometheus.Collector { return collector(write) }

type collector func(*Writer)

// Describe sends the descriptions of the metrics.
func (c collector) Describe(to chan<- *prometheus.Desc) { c(&Writer{descs: to}) }

// Collect sends the present values of the metrics.
func (c collector) Collect(to chan<- prometheus.Metric) { c(&Writer{values: to}) }

// Writer takes the metrics of a collector. A counter only grows while the process lives; a gauge can fall. Names end in the
// unit, and those of counters in _total.
type Writer struct {
	descs  chan<- *prometheus.Desc
	values chan<- prometheus.Metric
}

// Counter writes a counter.
func (w *Writer) Counter(name, help string, value int64) { w.CounterVec(name, help).Set(value) }

// Gauge writes a gauge.
func (w *Writer) Gauge(name, help string, value int64) { w.GaugeVec(name, help).Set(value) }

// GaugeBool writes a gauge that is 1 for true and 0 for false.
func (w *Writer) GaugeBool(name, help string, value bool) { w.GaugeVec(name, help).SetBool(value) }

// GaugeSeconds writes a duration in seconds.
func (w *Writer) GaugeSeconds(name, help string, value time.Duration) {
	w.GaugeVec(name, help).set(value.Seconds())
}

// GaugeDollars writes an amount of nano-dollars in dollars.
func (w *Writer) GaugeDollars(name, help string, nanos int64) {
	w.GaugeVec(name, help).set(float64(nanos) / nanosPerDollar)
}

// CounterVec names a counter with labels. Only what the operator or this program names may be a label value.
func (w *Writer) CounterVec(name, help string, labels ...string) Vec {
	return w.vec(prometheus.CounterValue, name, help, labels)
}

// GaugeVec names a gauge with labels. Only what the operator or this program names may be a label value.
func (w *Writer) GaugeVec(name, help string, labels ...string) Vec {
	return w.vec(prometheus.GaugeValue, name, help, labels)
}

func (w *Writer) vec(kind prometheus.ValueType, name, help string, labels []string) Vec {
	desc := prometheus.NewDesc(name, help, labels, nil)
	if w.descs != nil {
		w.descs <- desc
	}
	return Vec{desc: desc, kind: kind, values: w.values}
}

// Vec is a metric with labels.
type Vec struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	values chan<- prometheus.Metric
}

// Set writes the value for the values of the labels, in the order of their names.
func (v Vec) Set(value int64, labels ...string) { v.set(float64(value), labels...) }

// SetDollars adds an amount of nano-dollars in dollars.
func (v Vec) SetDollars(nanos int64, labels ...string) {
	v.set(float64(nanos)/nanosPerDollar, labels...)
}

// SetBool writes 1 for true and 0 for false.
func (v Vec) SetBool(value bool, labels ...string) {
	if value {
		v.set(1, labels...)
	} else {
		v.set(0, labels...)
	}
}

func (v Vec) set(value float64, labels ...string) {
	if v.values != nil {
		v.values <- prometheus.MustNewConstMetric(v.desc, v.kind, value, labels...)
	}
}
