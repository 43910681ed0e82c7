package console_test

import (
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"umg/app/catalog"
	"umg/app/postgres/pgtest"
	"umg/app/simulator"
)

// privateModel matches the ids of models that only another account sees.
var privateModel = regexp.MustCompile(`(meridian|tessera|boreal)/[a-z-]+`)

// withPrivateModels is a console over the default catalog, in which only another account sees the models of all owners but quillon.
func withPrivateModels(t *testing.T) *fixture {
	t.Helper()
	upstream := httptest.NewServer(simulator.New(simulator.Options{}))
	t.Cleanup(upstream.Close)
	db := pgtest.New(t)
	file, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	for i := range file.Models {
		if m := &file.Models[i]; privateModel.MatchString(m.ID) {
			m.Accounts = []string{"acct_other"}
		}
	}
	if err := catalog.Apply(t.Context(), db, file); err != nil {
		t.Fatal(err)
	}
	return newFixture(t, db, db, map[string]string{"UMG_SIMULATOR_URL": upstream.URL, "UMG_SIMULATOR_KEY": "any"})
}

// TestPagesShowNoModelOfAnotherAccount reads every page that shows models, as a customer and as a visitor.
func TestPagesShowNoModelOfAnotherAccount(t *testing.T) {
	t.Parallel()
	h := withPrivateModels(t)
	p, other := h.signedIn("reads@example.com"), withModels(t).signedIn("sees@example.com")
	for _, path := range []string{
		"", "/models", "/models?view=cards", "/compare", "/compare?m=quillon/folio-large", "/playground", "/keys/new", "/limits",
		"/docs/quickstart", "/recipes/opencode", "/search?q=atlas", "/search?q=fjord",
	} {
		r := p.see("/console" + path)
		if found := privateModel.FindString(r.body); found != "" {
			t.Errorf("%s shows %s (%d)", path, found, r.status)
		}
		if found := privateModel.FindString(h.visitor().see("/console" + path).body); found != "" {
			t.Errorf("%s shows %s to a visitor", path, found)
		}
		if all := other.see("/console" + path); !privateModel.MatchString(all.body) {
			t.Errorf("%s shows none of the models when all accounts see them, so it proves nothing (%d)", path, all.status)
		}
	}
	if r := p.see("/console/models"); !strings.Contains(r.body, "quillon/folio-large") {
		t.Errorf("the list lacks a public model: %d", r.status)
	}
	for _, path := range []string{
		"/models/meridian/atlas-large", "/model/api.md?model=meridian/atlas-large", "/model/openapi.json?model=meridian/atlas-large",
		"/model/price?model=meridian/atlas-large", "/model/limits?model=meridian/atlas-large", "/model/last?model=meridian/atlas-large",
	} {
		if r := p.see("/console" + path); r.status != 404 {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	chosen := p.see("/console/playground?model=meridian/atlas-large")
	if chosen.status != 200 || strings.Contains(chosen.body, `value="meridian/atlas-large"`) {
		t.Errorf("the playground offers it: %d", chosen.status)
	}
	wish := p.send("/console/limits", url.Values{"model": {"meridian/atlas-large"}, "times": {"2"}, "reason": {"More."}})
	if wish.status != 422 || !strings.Contains(wish.body, "Choose one of the models") {
		t.Errorf("more of its limits can be asked for: %d", wish.status)
	}
}
