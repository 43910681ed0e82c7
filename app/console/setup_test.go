package console_test

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/console"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	firststart "umg/app/setup"
	"umg/app/simulator/emulator"
)

// newGateway is a console over an empty database whose server has keys of emulated providers, and the code of the server.
func newGateway(t *testing.T, env map[string]string) (h *fixture, code string) {
	t.Helper()
	s := httptest.NewServer(emulator.New(emulator.Options{Now: time.Now, Random: rand.Reader}))
	t.Cleanup(s.Close)
	providers := provider.New(provider.Options{})
	t.Cleanup(providers.Close)
	db := pgtest.New(t)
	var service *firststart.Service
	h = newFixture(t, db, db, env, func(o *console.Options) {
		service = firststart.New(firststart.Options{
			DB: db, Accounts: o.Accounts, Ledger: o.Ledger, Catalog: o.Catalog, Providers: providers, Credit: 10 * app.Dollar,
			Env:       func(name string) (string, bool) { value, has := env[name]; return value, has },
			Addresses: map[string]string{"openai": s.URL + "/openai/v1", "anthropic": s.URL + "/anthropic/v1"},
			Now:       time.Now, IDs: apptest.IDs(time.Now), Random: rand.Reader, Log: slog.New(slog.DiscardHandler),
		})
		o.Setup = service
	})
	code, err := service.Begin(t.Context())
	if err != nil || code == "" {
		t.Fatal(code, err)
	}
	return h, code
}

func claimForm(code string) url.Values {
	return url.Values{"code": {code}, "email": {"ada@example.com"}, "password": {password}}
}

// TestAGatewayIsSetUpInFourSteps goes from the code of the log to the answer of a real model.
func TestAGatewayIsSetUpInFourSteps(t *testing.T) {
	t.Parallel()
	h, code := newGateway(t, map[string]string{"OPENAI_API_KEY": emulator.Key("openai"), "ANTHROPIC_API_KEY": "sk-ant-wrong"})
	v := h.visitor()
	v.wants(v.see("/console/sign-in"), http.StatusOK, "Set up the gateway")
	v.wants(v.see("/console/setup"), http.StatusOK, "$10.00 of credit")
	v.wants(v.see("/console/setup/keys"), http.StatusSeeOther, "/console/sign-in")
	v.wants(v.send("/console/setup", claimForm("AAAA-AAAA-AAAA-AAAA")), http.StatusUnprocessableEntity, `id="code-error"`)
	v.wants(v.send("/console/setup", claimForm(code)), http.StatusSeeOther, "/console/setup/keys")

	keys := v.wants(v.see("/console/setup/keys"), http.StatusOK, "OPENAI_API_KEY")
	if strings.Contains(keys.body, emulator.Key("openai")) || strings.Contains(keys.body, " checked") {
		t.Errorf("the page has a key, or a choice that no one made:\n%s", keys.body)
	}
	v.wants(v.see("/console/setup/models"), http.StatusUnprocessableEntity, "Choose a provider")
	models := v.wants(v.see("/console/setup/models?provider=openai&provider=anthropic"), http.StatusOK, "2 models that your key can call.")
	v.wants(models, http.StatusOK, "Anthropic says: ")
	v.wants(models, http.StatusOK, "openai/gpt-5-mini")
	v.wants(v.send("/console/setup/models", url.Values{"provider": {"openai"}, "markup": {"ten"}}), http.StatusUnprocessableEntity, `id="markup-error"`)
	v.wants(v.send("/console/setup/models", url.Values{"provider": {"openai"}, "markup": {"10%"}}), http.StatusSeeOther, "/console/setup/try")

	try := v.wants(v.see("/console/setup/try"), http.StatusOK, "2 models can be called now")
	v.wants(try, http.StatusOK, "you set up sign-in codes")
	v.wants(v.send("/console/setup/try", nil), http.StatusOK, "openai/gpt-4o-mini says")
	v.wants(v.see("/console/setup/keys"), http.StatusOK, "In the catalog already.")
	v.wants(v.send("/console/setup/finish", nil), http.StatusSeeOther, "/console")
	for _, path := range []string{"/console/setup", "/console/setup/keys", "/console/setup/models?provider=openai", "/console/setup/try"} {
		v.wants(v.see(path), http.StatusNotFound, "no such page")
	}
	v.wants(v.see("/console"), http.StatusOK, "ada@example.com")

	other := h.visitor()
	other.wants(other.see("/console/setup"), http.StatusNotFound, "no such page")
	other.wants(other.send("/console/setup", claimForm(code)), http.StatusNotFound, "no such page")
	if shown := other.see("/console/sign-in"); strings.Contains(shown.body, "Set up the gateway") {
		t.Error("the sign-in page still leads to the set-up")
	}
	h.costs(t, 1.1)
}

// costs checks that the only call cost a multiple of what the provider took.
func (h *fixture) costs(t *testing.T, times float64) {
	t.Helper()
	var call struct {
		Cost     int64 `db:"cost_nanos"`
		Upstream int64 `db:"upstream_cost_nanos"`
	}
	apptest.Eventually(t, 5*time.Second, "the call is recorded", func() bool {
		return h.db.GetContext(t.Context(), &call, `select cost_nanos, upstream_cost_nanos from usage_records`) == nil
	})
	if got := float64(call.Cost) / float64(call.Upstream); got < times-0.001 || got > times+0.001 {
		t.Errorf("the call cost %d, and the operator %d", call.Cost, call.Upstream)
	}
}

// TestOnlyTheOperatorWhoClaimedTheGatewaySeesTheSteps visits the steps as another person.
func TestOnlyTheOperatorWhoClaimedTheGatewaySeesTheSteps(t *testing.T) {
	t.Parallel()
	h, _ := newGateway(t, map[string]string{"OPENAI_API_KEY": emulator.Key("openai")})
	other := h.signedIn("bob@example.com")
	for _, path := range []string{"/console/setup/keys", "/console/setup/models?provider=openai", "/console/setup/try"} {
		other.wants(other.see(path), http.StatusNotFound, "no such page")
	}
	other.wants(other.send("/console/setup/models", url.Values{"provider": {"openai"}, "markup": {"0"}}), http.StatusNotFound, "no such page")
	if _, err := catalog.Export(t.Context(), h.db); err != nil {
		t.Fatal(err)
	}
	if n := apptest.Count(t, h.db, `select count(*) from models`); n != 0 {
		t.Errorf("%d models were published", n)
	}
}

// TestTheSetupGoesOnWithoutKeys skips the steps about providers.
func TestTheSetupGoesOnWithoutKeys(t *testing.T) {
	t.Parallel()
	h, code := newGateway(t, nil)
	v := h.visitor()
	v.wants(v.send("/console/setup", claimForm(code)), http.StatusSeeOther, "/console/setup/keys")
	v.wants(v.see("/console/setup"), http.StatusSeeOther, "/console/setup/keys")
	v.wants(v.see("/console/setup/keys"), http.StatusOK, "No key was found")
	v.wants(v.see("/console/setup/try"), http.StatusOK, "There is no model yet")
	v.wants(v.send("/console/setup/try", nil), http.StatusUnprocessableEntity, "There is no model yet")
	v.wants(v.send("/console/setup/finish", nil), http.StatusSeeOther, "/console")
}

// TestAServerWithoutSetupHasNoSuchPages visits the pages of a console that was made without the service.
func TestAServerWithoutSetupHasNoSuchPages(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	h := newFixture(t, db, db, nil)
	v := h.visitor()
	v.wants(v.see("/console/setup"), http.StatusNotFound, "no such page")
}
