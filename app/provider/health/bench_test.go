package health_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/provider/health"
)

// BenchmarkBeginAndEnd measures what each attempt does, which must take less than 300 ns and allocate nothing.
func BenchmarkBeginAndEnd(b *testing.B) {
	m := health.New(health.Options{Now: time.Now, Random: rand.IntN})
	r := &catalog.Route{Model: "upstream-model", Provider: &catalog.Provider{
		ID: "provider", Credentials: make([]catalog.Secret, 2),
		Breaker: catalog.Breaker{Failures: 5, FailurePercent: 50, CallsMin: 20, Ejection: 30 * time.Second},
		Limits:  catalog.ProviderLimits{Concurrency: 1000, RequestsPerMinute: 1 << 40},
	}}
	b.ReportAllocs()
	for b.Loop() {
		t, _ := m.Begin(r, false)
		t.End(nil, time.Millisecond)
	}
}

// BenchmarkReportOfHundred measures what metrics do at every scrape, which must take less than a millisecond.
func BenchmarkReportOfHundred(b *testing.B) {
	m := health.New(health.Options{Now: time.Now, Random: rand.IntN})
	for i := range 100 {
		r := upstream()
		r.Provider.ID, r.Model = fmt.Sprint("provider", i%10), fmt.Sprint("up", i)
		for range 30 {
			call(b, m, r, nil)
		}
	}
	for b.Loop() {
		_ = m.Report()
	}
}

func BenchmarkBeginAndEndOnTwoCores(b *testing.B) {
	m := health.New(health.Options{Now: time.Now, Random: rand.IntN})
	r := upstream()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			t, _ := m.Begin(r, false)
			t.End(nil, time.Millisecond)
		}
	})
}
