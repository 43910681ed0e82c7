package console_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/console"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	"umg/app/provider/check"
	"umg/app/simulator/emulator"
)

const providersPath = "/console/operator/providers"

// providerFixture is a console for operators over an empty catalog, and emulated providers.
type providerFixture struct {
	*operatorFixture
	emulator *emulator.Emulator
	address  string
	models   *catalog.Catalog
}

func withProviders(t *testing.T) *providerFixture {
	t.Helper()
	db := pgtest.New(t)
	k := &providerFixture{emulator: emulator.New(emulator.Options{Now: time.Now, Random: rand.Reader})}
	server := httptest.NewServer(k.emulator)
	t.Cleanup(server.Close)
	k.address = server.URL
	secrets := map[string]string{"ANTHROPIC_API_KEY": emulator.Key("anthropic"), "OPENAI_API_KEY": "wrong key"}
	client, tests := provider.New(provider.Options{}), check.NewRuns(time.Now)
	t.Cleanup(client.Close)
	t.Cleanup(tests.Close)
	store := credentialsIn(db)
	k.operatorFixture = &operatorFixture{}
	k.fixture = newFixture(t, db, db, secrets, func(o *console.Options) {
		o.OperatorsNeedNoCode = true
		k.models = o.Catalog
		o.Operator.DB, o.Operator.Credentials, o.Operator.ProviderClient, o.Operator.Tests = db, store, client, tests
		o.Operator.References = func(ctx context.Context) (catalog.Sources, error) {
			sealed, err := store.Values(ctx)
			env := func(name string) (string, bool) { value, ok := secrets[name]; return value, ok }
			return catalog.Sources{Env: env, Sealed: sealed, CheckValue: checkCredentialValue}, err
		}
	})
	return k
}

// ended waits for the end of the test of a provider, as a browser without scripts does that reloads the page.
func (p *person) ended(provider string) reply {
	p.t.Helper()
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); {
		a := p.see(providersPath + "/" + provider + "/test")
		if !strings.Contains(a.body, `data-state="running"`) {
			return a
		}
	}
	p.t.Fatal("the test does not end")
	return reply{}
}

// export is the catalog in force.
func (k *providerFixture) export() catalog.File {
	k.t.Helper()
	f, err := catalog.Export(k.t.Context(), k.db)
	if err != nil {
		k.t.Fatal(err)
	}
	return f
}

var versionField = regexp.MustCompile(`name="version" value="(\d+)"`)

// version is the version in the form of a page.
func version(t *testing.T, a reply) string {
	t.Helper()
	found := versionField.FindStringSubmatch(a.body)
	if found == nil {
		t.Fatal("the page has no version")
	}
	return found[1]
}

// leadsTo fails unless an answer redirects to a path.
func leadsTo(t *testing.T, a reply, path string) {
	t.Helper()
	if a.status != http.StatusSeeOther || a.header.Get("Location") != path {
		t.Fatalf("status %d to %q, want a redirect to %s:\n%s", a.status, a.header.Get("Location"), path, errorsOf(a.body))
	}
}

var fieldErrors = regexp.MustCompile(`(?s)class="(?:field-error|alert)".*?</(?:p|div)>`)

func errorsOf(page string) string { return strings.Join(fieldErrors.FindAllString(page, 20), "\n") }

// TestFromAnEmptyCatalogToAClaudeModelThatAnswers goes through all steps without scripts: a pasted key, a test, a model with a markup,
// the difference, the password, and a call.
func TestFromAnEmptyCatalogToAClaudeModelThatAnswers(t *testing.T) {
	t.Parallel()
	k := withProviders(t)
	p := k.operator("ann@example.com")
	key := emulator.Key("anthropic")
	shows(t, p.see(providersPath), http.StatusOK, "No provider yet", "Add a provider")
	shows(t, p.see(providersPath+"/new?q=anthr"), http.StatusOK, `data-preset="anthropic"`, "priced models")
	shows(t, p.see(providersPath+"/new/anthropic"), http.StatusOK, `value="anthropic"`, "API key", "https://api.anthropic.com/v1")
	leadsTo(t, p.send(providersPath+"/new/anthropic", url.Values{
		"id": {"anthropic"}, "source": {"paste"}, "secret_key": {key}, "address": {k.address + "/anthropic/v1"},
	}), providersPath+"/anthropic/test")
	draft := k.export().Providers[0]
	if !draft.Disabled || draft.Credential != "sealed:anthropic" || draft.Preset != "anthropic" {
		t.Errorf("the draft is %+v", draft)
	}
	shows(t, p.see(providersPath), http.StatusOK, "Draft", "Continue", "…"+key[len(key)-4:])

	shows(t, p.see(providersPath+"/anthropic/test"), http.StatusOK, "Start the test", `value="claude-haiku-4-5"`)
	leadsTo(t, p.send(providersPath+"/anthropic/test", url.Values{"model_messages": {"claude-haiku-4-5"}}), providersPath+"/anthropic/test")
	shows(t, p.ended("anthropic"), http.StatusOK, "Anthropic works", "3 test calls", "The provider lists 1 model.", "Choose models")

	models := providersPath + "/anthropic/models"
	shows(t, p.see(models), http.StatusOK, "anthropic/claude-haiku-4-5", "0 models selected", "$1.00", "$1.10")
	leadsTo(t, p.send(models, url.Values{
		"shown": {"anthropic/claude-haiku-4-5"}, "pick": {"anthropic/claude-haiku-4-5"}, "markup": {"10%"}, "do": {"filter"},
	}), models)
	shows(t, p.see(models), http.StatusOK, "1 model selected", `name="markup:anthropic/claude-haiku-4-5"`)
	leadsTo(t, p.send(models, url.Values{
		"shown": {"anthropic/claude-haiku-4-5"}, "pick": {"anthropic/claude-haiku-4-5"}, "markup:anthropic/claude-haiku-4-5": {"20%"}, "do": {"publish"},
	}), providersPath+"/anthropic/publish")

	publish := providersPath + "/anthropic/publish"
	question := p.see(publish)
	shows(t, question, http.StatusOK, "Publish 1 model of Anthropic", "anthropic/claude-haiku-4-5", "$1.20", "$6.00", "Your current password")
	wrong := p.send(publish, url.Values{"version": {version(t, question)}, "current_password": {"not mine at all"}})
	shows(t, wrong, http.StatusUnprocessableEntity, "password")
	if len(k.export().Models) != 0 {
		t.Error("a wrong password published")
	}
	leadsTo(t, p.send(publish, url.Values{"version": {version(t, question)}, "current_password": {password}}), providersPath)
	shows(t, p.see(providersPath), http.StatusOK, "Published 1 model of Anthropic", "In use")
	shows(t, p.see(models), http.StatusOK, "Published at this provider", "0 models selected")

	if err := k.models.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer := k.call(t, p, "anthropic/claude-haiku-4-5")
	if len(answer.Content) == 0 || answer.Model != "anthropic/claude-haiku-4-5" {
		t.Errorf("the answer is %+v", answer)
	}
	for _, page := range []string{"/console/operator/catalog", providersPath, providersPath + "/anthropic/test", models} {
		if strings.Contains(p.see(page).body, key) {
			t.Errorf("%s shows the key", page)
		}
	}
}

type answered struct {
	Model   string
	Content []struct{ Type, Text string }
}

// call makes a key of the person's account, and calls a model in the messages style with it.
func (k *providerFixture) call(t *testing.T, p *person, model string) (answer answered) {
	t.Helper()
	made := p.send("/console/keys", url.Values{"name": {"first"}})
	secret := secretPattern.FindString(made.body)
	if secret == "" {
		t.Fatalf("no key was made: %d", made.status)
	}
	body := `{"model": "` + model + `", "max_tokens": 50, "messages": [{"role": "user", "content": "Hello"}]}`
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway.test/v1/messages", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+secret)
	w := httptest.NewRecorder()
	k.web.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("the call answered %d: %s", w.Code, w.Body)
	}
	return answer
}
