package server

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// seriesCache has the series of metrics by their labels, because a request looks up a dozen. It has no more entries than there are
// series, whose number is bounded.
type seriesCache[K comparable, S any] struct {
	resolve func(K) S

	mu     sync.RWMutex
	series map[K]S
}

func (c *seriesCache[K, S]) get(labels K) S {
	c.mu.RLock()
	s, ok := c.series[labels]
	c.mu.RUnlock()
	if ok {
		return s
	}
	s = c.resolve(labels)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.series == nil {
		c.series = map[K]S{}
	}
	c.series[labels] = s
	return s
}

// lateSeries is a series that exists from its first use on, as a series without a value would show a zero.
type lateSeries[S any] struct{ series atomic.Pointer[S] }

func (l *lateSeries[S]) of(resolve func() S) S {
	if s := l.series.Load(); s != nil {
		return *s
	}
	s := resolve()
	l.series.Store(&s)
	return s
}

type routeLabels struct {
	method, route string
	class         int // Class is the first digit of the status.
}

// routeSeries are the series of a route and a class of status.
type routeSeries struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

type textLabels struct{ model, provider, style, outcome string }

// textSeries are the series of text calls that end alike.
type textSeries struct {
	text                                prometheus.Counter
	cost, answered                      lateSeries[prometheus.Counter]
	firstToken, overhead, upstreamFirst lateSeries[prometheus.Observer]
	tokens                              [len(tokenMeters)]lateSeries[prometheus.Counter]
}
