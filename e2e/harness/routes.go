package harness

import (
	"encoding/json"
	"regexp"
	"testing"
)

// Route is a route as `gateway routes --json` prints it.
type Route struct {
	Area   string `json:"area"`
	Method string `json:"method"`
	Path   string `json:"path"`
	Open   bool   `json:"open"`
	Rights string `json:"rights"`

	Operator bool `json:"operator"`
}

// RouteParameter finds a parameter of a route's path with the name of its collection.
var RouteParameter = regexp.MustCompile(`([a-z_]+)/(:[a-z_]+|\*)`)

// RequestIDPattern are ids that every answer has of its own: of the request, and of a form that is to be sent once.
var RequestIDPattern = regexp.MustCompile(`(req|form)_[0-9a-z]+`)

// Routes are all routes of the gateway.
func Routes(t *testing.T) (rows []Route) {
	t.Helper()
	out, status := RunCommand(t, nil, "routes", "--json")
	if err := json.Unmarshal([]byte(out), &rows); err != nil || status != 0 || len(rows) < 100 {
		t.Fatalf("gateway routes: %v %d %.200s", err, status, out)
	}
	return rows
}
