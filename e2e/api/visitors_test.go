package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// TestVisitorsAreLimitedByTheAddressThatAProxySays sends sign-ins for visitors behind a trusted proxy, and for one that claims an
// address without being trusted.
func TestVisitorsAreLimitedByTheAddressThatAProxySays(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	const forms = 5
	limited := []string{"--ip-forms-per-minute", strconv.Itoa(forms), "--ip-pages-per-minute", "20"}
	send := func(p harness.Replica, method, path, from string) *http.Response {
		req, err := http.NewRequestWithContext(context.Background(), method, p.ConsoleURL+path, strings.NewReader("email=unknown%40example.com&password=x"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", p.ConsoleURL)
		req.Header.Set("X-Forwarded-For", from)
		resp, err := harness.HTTPClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp
	}
	refused := func(p harness.Replica, n int, from func(int) string) (count int) {
		for i := range n {
			if resp := send(p, "POST", "/console/forgot", from(i)); resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != "" {
				count++
			}
		}
		return count
	}
	p := harness.StartReplica(t, g, append(limited, "--trusted-proxies", "127.0.0.1/32")...)
	if n := refused(p, 2*forms, func(i int) string { return "203.0.113." + strconv.Itoa(i) }); n != 0 {
		t.Errorf("%d visitors at addresses of their own are refused", n)
	}
	if n := refused(p, 2*forms, func(i int) string { return "2001:db8:7:7::" + strconv.Itoa(i) }); n < forms-1 {
		t.Errorf("%d of %d are refused in one IPv6 network", n, 2*forms)
	}
	last := 0
	for range 30 {
		last = send(p, "GET", "/llms.txt", "203.0.113.77").StatusCode
	}
	if page := send(p, "GET", "/console/docs", "203.0.113.77").StatusCode; last != http.StatusTooManyRequests || page != last {
		t.Errorf("after many documents: %d, and a page %d", last, page)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	p = harness.StartReplica(t, g, limited...)
	if n := refused(p, 2*forms, func(i int) string { return "203.0.113." + strconv.Itoa(i) }); n < forms-1 {
		t.Errorf("%d of %d are refused that claim an address each", n, 2*forms)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}
