package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// goingModel has been deprecated for long and will be shut down.
const goingModel = harness.EveryStyle + `    deprecated: 2026-02-01
    shutdown: 2099-06-01
    successor: boreal/fjord-flash
`

const goneModel = harness.EveryStyle + `    deprecated: 2025-01-01
    shutdown: 2026-01-01
    successor: boreal/fjord-flash
`

// lifecycleHolds insists on the headers of a model that will go: RFC 9745, RFC 8594 and the links of both.
func lifecycleHolds(t *testing.T, what string, a harness.Response, id, deprecated, shutdown string) {
	t.Helper()
	moment := func(day string) time.Time {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	link := `</v1/model/api.md?model=` + id + `>; rel="deprecation"; type="text/markdown", </v1/models/boreal/fjord-flash>; rel="successor-version"`
	if got := a.Header; got.Get("Deprecation") != fmt.Sprint("@", moment(deprecated).Unix()) || got.Get("Sunset") != moment(shutdown).Format(http.TimeFormat) ||
		got.Get("Link") != link || len(got.Values("Deprecation")) != 1 {
		t.Errorf("%s: %v", what, a.Header)
	}
}

// TestAPILifecycleHeaders shows on every answer of a model that will go when it will, and on no other.
func TestAPILifecycleHeaders(t *testing.T) {
	t.Parallel()
	k := &checklist{Customer: harness.StartDemo(t, "--token-interval", "0s").NewCustomer(t, "lifecycle")}
	k.SetLimits(t, 1000)
	going := map[string]string{}
	var models []harness.Model
	for _, p := range harness.AllStyles() {
		going[p.Name] = harness.UniqueName("test/going-" + p.Name)
		models = append(models, harness.Model{ID: going[p.Name], UpstreamModel: "sim", Style: p.Name, Extra: goingModel})
	}
	k.AddModels(t, models...)
	for upstream, id := range going {
		for _, p := range harness.AllStyles() {
			what := p.Name + " from " + upstream
			for _, members := range [][]string{nil, {`"stream":true`}} {
				a := p.Send(t, k.Customer, p.Request(id, "echo: x", members...))
				if a.Status != http.StatusOK {
					t.Fatalf("%s: %d %s", what, a.Status, a.Body)
				}
				lifecycleHolds(t, what, a, id, "2026-02-01", "2099-06-01")
			}
		}
		for _, path := range []string{"/v1/models/" + id, "/v1/model/api.md?model=" + id, "/v1/model/openapi.json?model=" + id} {
			lifecycleHolds(t, path, k.Call(t, http.MethodGet, path, ""), id, "2026-02-01", "2099-06-01")
			lifecycleHolds(t, "HEAD "+path, k.Call(t, http.MethodHead, path, ""), id, "2026-02-01", "2099-06-01")
		}
		entry := harness.DecodeObject(t, k.Call(t, http.MethodGet, "/v1/models/"+id, "").Body)
		is(t, entry, "shutdown_date", "2099-06-01")
		is(t, entry, "deprecated_at", "2026-02-01T00:00:00Z")
		if guide := k.Call(t, http.MethodGet, "/v1/model/api.md?model="+id, ""); !strings.Contains(guide.Body, "1 June 2099") || !strings.Contains(guide.Body, "boreal/fjord-flash") {
			t.Errorf("the guide does not tell the end: %.900s", guide.Body)
		}
		if document := k.Call(t, http.MethodGet, "/v1/model/openapi.json?model="+id, ""); !strings.Contains(document.Body, `"deprecated":true`) {
			t.Errorf("the document does not mark the model")
		}
	}
	k.ofTheDefaultCatalog(t)
}

// ofTheDefaultCatalog checks the one deprecated model of the catalog, and one without an end.
func (k *checklist) ofTheDefaultCatalog(t *testing.T) {
	t.Helper()
	for _, p := range []harness.Style{harness.Styles["chat"], harness.Styles["native"]} {
		_, a := p.Complete(t, k.Customer, p.Request("boreal/fjord-lite", "echo: x"))
		lifecycleHolds(t, p.Name, a, "boreal/fjord-lite", "2026-12-01", "2027-06-01")
	}
	for _, p := range harness.AllStyles() {
		_, a := p.Complete(t, k.Customer, p.Request(p.Model, "echo: x"))
		for _, name := range []string{"Deprecation", "Sunset", "Link"} {
			if got := a.Header.Get(name); got != "" {
				t.Errorf("%s stays, and says %s: %s", p.Model, name, got)
			}
		}
	}
}

// TestAPILifecycleEnds answers for a model past its day as for one that never was, in the layout of every route, and
// says when it ended and what to use instead.
func TestAPILifecycleEnds(t *testing.T) {
	t.Parallel()
	k := &checklist{Customer: harness.StartDemo(t, "--token-interval", "0s").NewCustomer(t, "ended")}
	gone, stays := harness.UniqueName("test/gone"), harness.UniqueName("test/stays")
	k.AddModels(t, harness.Model{ID: gone, UpstreamModel: "sim", Extra: goneModel}, harness.Model{ID: stays, UpstreamModel: "sim", Extra: harness.EveryStyle})
	before := k.SettledBalance(t, k.AccountID)
	says := func(r harness.APIError) {
		t.Helper()
		if !strings.Contains(r.Message, "1 January 2026") || !strings.Contains(r.Message, "boreal/fjord-flash") || !strings.Contains(r.Message, gone) {
			t.Errorf("the message is %s", r.Message)
		}
	}
	for _, p := range harness.AllStyles() {
		for _, members := range [][]string{nil, {`"stream":true`}} {
			says(p.CheckError(t, p.Send(t, k.Customer, p.Request(gone, "echo: too late", members...)), "not found", "model_not_found", "model"))
		}
		if p.CountPath != "" {
			says(p.CheckError(t, k.Call(t, http.MethodPost, p.CountPath, p.Request(gone, "x")), "not found", "model_not_found", "model"))
		}
	}
	native := harness.Styles["native"]
	says(native.CheckError(t, k.Call(t, http.MethodPost, nativeAt("v1beta", gone, "generateContent"), withoutModel(native, "x")), "not found", "model_not_found", "model"))
	for _, path := range []string{"/v1/models/" + gone, "/v1/model/api.md?model=" + gone, "/v1/model/openapi.json?model=" + gone} {
		says(harness.Styles["responses"].CheckError(t, k.Call(t, http.MethodGet, path, ""), "not found", "model_not_found", "model"))
		if a := k.Call(t, http.MethodHead, path, ""); a.Status != http.StatusNotFound {
			t.Errorf("HEAD %s: %d", path, a.Status)
		}
	}
	if list := strings.Join(listedModelIDs(t, k.Customer), " "); strings.Contains(list, gone) || !strings.Contains(list, stays) {
		t.Errorf("the list is %s", list)
	}
	if got := k.UpstreamBodies(t, "too late"); got != "" || k.SettledBalance(t, k.AccountID) != before {
		t.Errorf("a provider got %s", got)
	}
}
