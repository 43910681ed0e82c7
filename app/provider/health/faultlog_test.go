package health_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"umg/app/provider"
	"umg/app/provider/errorclass"
	"umg/app/provider/health"
)

// TestAModelThatAProviderDoesNotServeIsLoggedOnceInAWhile makes attempts that fail because of the route and of the quota.
func TestAModelThatAProviderDoesNotServeIsLoggedOnceInAWhile(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := &clock{}
	m := health.New(health.Options{Now: c.now, Random: never, Log: slog.New(slog.NewTextHandler(&log, nil))})
	r := upstream("sesame-1")
	other := *r
	other.Model = "other"
	route, quota := fault(provider.ClassRefused, 404), fault(provider.ClassRateLimited, 429)
	route.Meaning, route.Retry, quota.Meaning = errorclass.Route, provider.Elsewhere, errorclass.Quota
	wantLines := func(n int) {
		t.Helper()
		if got := strings.Count(log.String(), "level=ERROR msg=\"provider model unavailable\""); got != n {
			t.Errorf("%d lines, want %d:\n%s", got, n, log.String())
		}
	}
	for range 3 {
		call(t, m, r, route)
	}
	wantLines(1)
	call(t, m, &other, quota)
	wantLines(2)
	c.advance(10*time.Minute - time.Nanosecond)
	call(t, m, r, route)
	wantLines(2)
	c.advance(2 * time.Nanosecond)
	call(t, m, r, route)
	wantLines(3)
	for _, part := range []string{"meaning=route", "meaning=quota", "status=404", "status=429", "model=other", "error=broken"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log does not have %s:\n%s", part, log.String())
		}
	}
	limited := fault(provider.ClassRateLimited, 429)
	limited.Meaning = errorclass.Rate
	third := *r
	third.Model = "third"
	call(t, m, &third, limited)
	call(t, m, &third, nil)
	wantLines(3)
}
