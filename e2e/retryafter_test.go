package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestFaultEvery503SaysWhenToTryAgain calls every route of the API and the console of a replica whose database is away.
// Whatever is answered with 503, in the status or in the body of a documented error, names a time from 1 to 59 s.
func TestFaultEvery503SaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	g := start(t)
	door := gateBefore(t, g)
	p, err := tryServe(door.dsn, g, "--data", dataDir(t))
	if err != nil {
		t.Fatal(err)
	}
	// The last settlements need the database.
	t.Cleanup(func() {
		door.set(false)
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	out, status := run(t, nil, "routes", "--json")
	var routes []routeRow
	if err := json.Unmarshal([]byte(out), &routes); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s", status, err, out)
	}
	person := newPerson(t, p.gateway)
	person.signIn(t, g.Email, g.Password)
	door.set(true)
	found := map[string]int{}
	for _, route := range routes {
		path := strings.NewReplacer("*", "x").Replace(parameter.ReplaceAllString(route.Path, "$1/x"))
		for _, errorStatus := range []string{"standard", "documented"} {
			req, err := p.request(t.Context(), route.Method, path, `{"model":"`+cheapModel+`","messages":[{"role":"user","content":"x"}]}`,
				"X-Error-Status", errorStatus, "Accept", "text/html", "Origin", strings.TrimSuffix(p.BaseURL, "/v1"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := person.http.Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", route.Method, route.Path, err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				t.Fatalf("%s %s: %v", route.Method, route.Path, err)
			}
			a := answer{resp.StatusCode, resp.Header, string(body)}
			away := a.status == http.StatusServiceUnavailable || strings.HasPrefix(a.body, `{"code":503`)
			if !away {
				continue
			}
			found[route.Area]++
			if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 59 {
				t.Errorf("%s %s: Retry-After %q", route.Method, route.Path, a.header.Get("Retry-After"))
			}
		}
	}
	if found["api"] < 40 || found["console"] < 40 {
		t.Errorf("the database was away, but only %v routes said so", found)
	}
}
