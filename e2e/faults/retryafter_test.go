package faults

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// TestFaultEvery503SaysWhenToTryAgain calls every route of the API and the console of a replica whose database is away.
// Whatever is answered with 503, in the status or in the body of a documented error, names a time from 1 to 59 s.
func TestFaultEvery503SaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	door := gateBefore(t, g)
	p, err := harness.TryReplica(door.dsn, g, "--data", harness.DataDir(t))
	if err != nil {
		t.Fatal(err)
	}
	// The last settlements need the database.
	t.Cleanup(func() {
		door.set(false)
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	out, status := harness.RunCommand(t, nil, "routes", "--json")
	var routes []harness.Route
	if err := json.Unmarshal([]byte(out), &routes); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s", status, err, out)
	}
	person := harness.NewConsoleClient(t, p.Gateway)
	person.SignIn(t, g.Email, g.Password)
	door.set(true)
	found := map[string]int{}
	for _, route := range routes {
		path := strings.NewReplacer("*", "x").Replace(harness.RouteParameter.ReplaceAllString(route.Path, "$1/x"))
		for _, errorStatus := range []string{"standard", "documented"} {
			req, err := p.NewRequest(t.Context(), route.Method, path, `{"model":"`+harness.CheapModel+`","messages":[{"role":"user","content":"x"}]}`,
				"X-Error-Status", errorStatus, "Accept", "text/html", "Origin", strings.TrimSuffix(p.BaseURL, "/v1"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := person.HTTP.Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", route.Method, route.Path, err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				t.Fatalf("%s %s: %v", route.Method, route.Path, err)
			}
			a := harness.Response{Status: resp.StatusCode, Header: resp.Header, Body: string(body)}
			away := a.Status == http.StatusServiceUnavailable || strings.HasPrefix(a.Body, `{"code":503`)
			if !away {
				continue
			}
			found[route.Area]++
			if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 59 {
				t.Errorf("%s %s: Retry-After %q", route.Method, route.Path, a.Header.Get("Retry-After"))
			}
		}
	}
	if found["api"] < 40 || found["console"] < 40 {
		t.Errorf("the database was away, but only %v routes said so", found)
	}
}
