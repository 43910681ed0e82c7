package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAnAttackIsMadeInAllWaysWithinItsShare attacks a server that refuses all: what comes is what is looked at.
func TestAnAttackIsMadeInAllWaysWithinItsShare(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	came := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		what := r.Method + " " + r.URL.Path
		switch {
		case r.Header.Get("Authorization") != "Bearer k":
			what = "a request without the key"
		case r.Header.Get("X-Dry-Run") != "":
			what = "a dry run"
		case r.ContentLength == declaredBytes:
			what = "a declared body"
		case r.ContentLength > largeBytes/2:
			what = "a large call"
		}
		mu.Lock()
		came[what]++
		mu.Unlock()
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer srv.Close()
	const share = 0.5
	a := attack{url: srv.URL, address: strings.TrimPrefix(srv.URL, "http://"), key: "k", model: "m", lasting: 3 * time.Second, share: share}
	found := a.run()
	mu.Lock()
	defer mu.Unlock()
	for _, what := range []string{
		"a dry run", "a declared body", "a large call", "POST /v1/chat/completions", "GET /v1/models", "GET /v1/usage", "GET /v1/videos",
	} {
		if came[what] == 0 {
			t.Errorf("%s did not come; %v did, and it says %v", what, came, found.Answers)
		}
	}
	if came["a request without the key"] > 0 || found.Answers["models 429"] == 0 {
		t.Errorf("%v came, and it says %v", came, found.Answers)
	}
	// The server of the test runs in this process, so its processor time is included.
	if found.Processor > share*1.2 {
		t.Errorf("it used %.2f of a processor", found.Processor)
	}
	t.Logf("%v, %.2f of a processor: %v", came, found.Processor, found.Answers)
}
