package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// goingModel has been deprecated for long and will be shut down.
const goingModel = everything + `    deprecated: 2026-02-01
    shutdown: 2099-06-01
    successor: boreal/fjord-flash
`

const goneModel = everything + `    deprecated: 2025-01-01
    shutdown: 2026-01-01
    successor: boreal/fjord-flash
`

// lifecycleHolds insists on the headers of a model that will go: RFC 9745, RFC 8594 and the links of both.
func lifecycleHolds(t *testing.T, what string, a answer, id, deprecated, shutdown string) {
	t.Helper()
	moment := func(day string) time.Time {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	link := `</v1/model/api.md?model=` + id + `>; rel="deprecation"; type="text/markdown", </v1/models/boreal/fjord-flash>; rel="successor-version"`
	if got := a.header; got.Get("Deprecation") != fmt.Sprint("@", moment(deprecated).Unix()) || got.Get("Sunset") != moment(shutdown).Format(http.TimeFormat) ||
		got.Get("Link") != link || len(got.Values("Deprecation")) != 1 {
		t.Errorf("%s: %v", what, a.header)
	}
}

// TestAPILifecycleHeaders shows on every answer of a model that will go when it will, and on no other.
func TestAPILifecycleHeaders(t *testing.T) {
	t.Parallel()
	k := &checklist{customer: start(t, "--token-interval", "0s").newCustomer(t, "lifecycle")}
	k.setLimits(t, 1000)
	going := map[string]string{}
	var models []model
	for _, p := range allProtocols() {
		going[p.style] = once("test/going-" + p.style)
		models = append(models, model{id: going[p.style], upstream: "sim", speaks: p.style, more: goingModel})
	}
	k.addModels(t, models...)
	for upstream, id := range going {
		for _, p := range allProtocols() {
			what := p.style + " from " + upstream
			for _, members := range [][]string{nil, {`"stream":true`}} {
				a := p.send(t, k.customer, p.ask(id, "echo: x", members...))
				if a.status != http.StatusOK {
					t.Fatalf("%s: %d %s", what, a.status, a.body)
				}
				lifecycleHolds(t, what, a, id, "2026-02-01", "2099-06-01")
			}
		}
		for _, path := range []string{"/v1/models/" + id, "/v1/model/api.md?model=" + id, "/v1/model/openapi.json?model=" + id} {
			lifecycleHolds(t, path, k.call(t, http.MethodGet, path, ""), id, "2026-02-01", "2099-06-01")
			lifecycleHolds(t, "HEAD "+path, k.call(t, http.MethodHead, path, ""), id, "2026-02-01", "2099-06-01")
		}
		entry := object(t, k.call(t, http.MethodGet, "/v1/models/"+id, "").body)
		is(t, entry, "shutdown_date", "2099-06-01")
		is(t, entry, "deprecated_at", "2026-02-01T00:00:00Z")
		if guide := k.call(t, http.MethodGet, "/v1/model/api.md?model="+id, ""); !strings.Contains(guide.body, "1 June 2099") || !strings.Contains(guide.body, "boreal/fjord-flash") {
			t.Errorf("the guide does not tell the end: %.900s", guide.body)
		}
		if document := k.call(t, http.MethodGet, "/v1/model/openapi.json?model="+id, ""); !strings.Contains(document.body, `"deprecated":true`) {
			t.Errorf("the document does not mark the model")
		}
	}
	k.ofTheDefaultCatalog(t)
}

// ofTheDefaultCatalog checks the one deprecated model of the catalog, and one without an end.
func (k *checklist) ofTheDefaultCatalog(t *testing.T) {
	t.Helper()
	for _, p := range []protocol{protocols["chat"], protocols["native"]} {
		_, a := p.answers(t, k.customer, p.ask("boreal/fjord-lite", "echo: x"))
		lifecycleHolds(t, p.style, a, "boreal/fjord-lite", "2026-12-01", "2027-06-01")
	}
	for _, p := range allProtocols() {
		_, a := p.answers(t, k.customer, p.ask(p.model, "echo: x"))
		for _, name := range []string{"Deprecation", "Sunset", "Link"} {
			if got := a.header.Get(name); got != "" {
				t.Errorf("%s stays, and says %s: %s", p.model, name, got)
			}
		}
	}
}

// TestAPILifecycleEnds answers for a model past its day as for one that never was, in the layout of every route, and
// says when it ended and what to use instead.
func TestAPILifecycleEnds(t *testing.T) {
	t.Parallel()
	k := &checklist{customer: start(t, "--token-interval", "0s").newCustomer(t, "ended")}
	gone, stays := once("test/gone"), once("test/stays")
	k.addModels(t, model{id: gone, upstream: "sim", more: goneModel}, model{id: stays, upstream: "sim", more: everything})
	before := k.balanceOf(t, k.accountID)
	says := func(r refusal) {
		t.Helper()
		if !strings.Contains(r.message, "1 January 2026") || !strings.Contains(r.message, "boreal/fjord-flash") || !strings.Contains(r.message, gone) {
			t.Errorf("the message is %s", r.message)
		}
	}
	for _, p := range allProtocols() {
		for _, members := range [][]string{nil, {`"stream":true`}} {
			says(p.fails(t, p.send(t, k.customer, p.ask(gone, "echo: too late", members...)), "not found", "model_not_found", "model"))
		}
		if p.count != "" {
			says(p.fails(t, k.call(t, http.MethodPost, p.count, p.ask(gone, "x")), "not found", "model_not_found", "model"))
		}
	}
	native := protocols["native"]
	says(native.fails(t, k.call(t, http.MethodPost, nativeAt("v1beta", gone, "generateContent"), native.unnamed("x")), "not found", "model_not_found", "model"))
	for _, path := range []string{"/v1/models/" + gone, "/v1/model/api.md?model=" + gone, "/v1/model/openapi.json?model=" + gone} {
		says(protocols["responses"].fails(t, k.call(t, http.MethodGet, path, ""), "not found", "model_not_found", "model"))
		if a := k.call(t, http.MethodHead, path, ""); a.status != http.StatusNotFound {
			t.Errorf("HEAD %s: %d", path, a.status)
		}
	}
	if list := strings.Join(k.listed(t), " "); strings.Contains(list, gone) || !strings.Contains(list, stays) {
		t.Errorf("the list is %s", list)
	}
	if got := k.received(t, "too late"); got != "" || k.balanceOf(t, k.accountID) != before {
		t.Errorf("a provider got %s", got)
	}
}
