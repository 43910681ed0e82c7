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
		o.Operator.TestCalls = check.NewStore(db)
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

var publishedVersion = regexp.MustCompile(`name="version" value="(\d+)"`)

// version is the version in the form of a page.
func version(t *testing.T, a reply) string {
	t.Helper()
	found := publishedVersion.FindStringSubmatch(a.body)
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

	today := time.Now()
	if sums, err := check.NewStore(k.db).Sum(t.Context(), today, today, "anthropic"); err != nil || len(sums) != 1 || sums[0].Calls != 3 || sums[0].Cost <= 0 {
		t.Errorf("booked %+v, %v", sums, err)
	}

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
	shows(t, question, http.StatusOK, "Publish 1 model of Anthropic", "anthropic/claude-haiku-4-5", "Input tokens: $1.2 per 1M", "Output tokens: $6 per 1M", "Your current password")
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

// TestAPastedCredentialIsNeverShownAgain sends forms with mistakes. A valid credential is stored at once and need not be pasted again; one
// that cannot be used is not stored, and the page says so.
func TestAPastedCredentialIsNeverShownAgain(t *testing.T) {
	t.Parallel()
	k := withProviders(t)
	p := k.operator("ann@example.com")
	const secret = "sk-recognisable-0123456789-Zq7x"
	path := providersPath + "/new/anthropic"
	stored := "stored as sealed:anthropic"
	for name, c := range map[string]struct {
		form url.Values
		says []string
	}{
		"no credential":      {url.Values{"id": {"north"}}, []string{"Enter the API key."}},
		"unusable":           {url.Values{"id": {"north"}, "secret_key": {"wrong " + secret}}, []string{"cannot be used: it is wrong.", "was not stored. Paste it again."}},
		"unset reference":    {url.Values{"id": {"north"}, "source": {"reference"}, "reference": {"${NOT_SET}"}}, []string{"The variable NOT_SET is not set."}},
		"pasted reference":   {url.Values{"id": {"north"}, "source": {"reference"}, "reference": {secret}}, []string{"must be a reference like"}},
		"unusable reference": {url.Values{"id": {"north"}, "source": {"reference"}, "reference": {"${OPENAI_API_KEY}"}}, []string{"cannot be used: it is wrong"}},
	} {
		a := p.send(path, c.form)
		shows(t, a, http.StatusUnprocessableEntity, c.says...)
		if strings.Contains(a.body, "sealed:anthropic") {
			t.Errorf("%s: a credential is stored", name)
		}
		if name != "pasted reference" && strings.Contains(a.body, "recognisable") {
			t.Errorf("%s: the page shows the credential", name)
		}
	}
	a := p.send(path, url.Values{"id": {"No Id"}, "name": {"Mine"}, "address": {"ftp://x"}, "secret_key": {secret}})
	shows(t, a, http.StatusUnprocessableEntity, "Enter small letters, digits and hyphens", stored, "ends with …Zq7x", `value="Mine"`, "The address ")
	if strings.Contains(a.body, "recognisable") {
		t.Error("the page shows the credential")
	}
	if len(k.export().Providers) != 0 {
		t.Error("an invalid provider was stored")
	}
	// The same form with another credential replaces the one that no provider uses.
	again := p.send(path, url.Values{"id": {""}, "stored": {"anthropic"}, "secret_key": {secret + "-next"}})
	shows(t, again, http.StatusUnprocessableEntity, "Enter an id.", stored, "ends with …next")
	leadsTo(t, p.send(path, url.Values{"id": {"north"}, "stored": {"anthropic"}}), providersPath+"/north/test")
	if got := k.export().Providers[0]; got.Credential != "sealed:anthropic" {
		t.Errorf("the provider is %+v", got)
	}
	// The credential of a provider is never replaced by a form for another.
	shows(t, p.send(path, url.Values{"id": {"north"}, "stored": {"anthropic"}, "secret_key": {secret}}), http.StatusUnprocessableEntity,
		"A provider with the id north exists.", "stored as sealed:north")
	shows(t, p.see("/console/operator/credentials"), http.StatusOK, "sealed:anthropic", "sealed:north", "…next")
	shows(t, p.see(providersPath+"/new/nothing"), http.StatusNotFound)
	shows(t, p.see(providersPath+"/nowhere/test"), http.StatusNotFound)
}

func TestCredentialsOfSeveralPartsAndOfNone(t *testing.T) {
	t.Parallel()
	k := withProviders(t)
	p := k.operator("ann@example.com")
	path := providersPath + "/new/bedrock"
	shows(t, p.see(path), http.StatusOK, "Access key id", "Secret access key", "Session token", "Region")
	page := p.see(path + "?credential_type=api_key")
	shows(t, page, http.StatusOK, `name="secret_key"`, `value="api_key"`)
	if strings.Contains(page.body, "Session token") {
		t.Error("the page asks for the parts of another credential")
	}
	form := url.Values{"id": {"bedrock"}, "with_region": {"Frankfurt"}, "with_credential_type": {"access_key"}, "secret_access_key": {"AKIAEXAMPLE"}}
	shows(t, p.send(path, form), http.StatusUnprocessableEntity, "Region &#34;Frankfurt&#34; must be small letters", "Enter the secret access key.",
		"was not stored. Paste it again.")
	form.Set("with_region", "eu-west-1")
	form.Set("secret_secret_key", "a secret")
	leadsTo(t, p.send(path, form), providersPath+"/bedrock/test")
	shows(t, p.see(providersPath+"/new/vertex?credential_type=machine"), http.StatusOK, "needs no credential")
	leadsTo(t, p.send(providersPath+"/new/vertex", url.Values{
		"id": {"vertex"}, "with_project": {"p"}, "with_location": {"us"}, "with_credential_type": {"machine"}, "source": {"reference"},
	}), providersPath+"/vertex/test")
	leadsTo(t, p.send(providersPath+"/new/custom", url.Values{"id": {"local"}, "with_address": {"http://127.0.0.1:9/v1"}}), providersPath+"/local/test")
	sealed, err := credentialsIn(k.db).Values(t.Context())
	if err != nil || sealed["bedrock"].Value.Reveal() != "AKIAEXAMPLE:a secret" || len(sealed) != 1 {
		t.Errorf("stored %d credentials, %v", len(sealed), err)
	}
	file := k.export()
	if file.Providers[1].With["credential_type"] != "machine" || file.Providers[1].Credential != "" || file.Providers[2].Credential != "" {
		t.Errorf("the providers are %+v", file.Providers)
	}
}

// add stores an emulated Anthropic as a draft.
func (k *providerFixture) add(p *person, id, key string) {
	k.t.Helper()
	leadsTo(k.t, p.send(providersPath+"/new/anthropic", url.Values{
		"id": {id}, "secret_key": {key}, "address": {k.address + "/anthropic/v1"},
	}), providersPath+"/"+id+"/test")
}

func TestATestSaysWhatFailsAndCanBeCancelled(t *testing.T) {
	t.Parallel()
	k := withProviders(t)
	p := k.operator("ann@example.com")
	k.add(p, "north", "sk-not-the-one-0123456789")
	test := providersPath + "/north/test"
	shows(t, p.send(test, url.Values{"model_messages": {"two words"}}), http.StatusUnprocessableEntity, "Enter a name without spaces")
	leadsTo(t, p.send(test, url.Values{"model_messages": {"claude-haiku-4-5"}}), test)
	shows(t, p.ended("north"), http.StatusOK, `data-state="failed"`, "invalid x-api-key", "The provider said", "Test again")
	shows(t, p.see(providersPath+"/north/models"), http.StatusOK, "model list could not be read", "invalid x-api-key", "anthropic/claude-haiku-4-5")

	k.emulator.Add(emulator.Rule{Provider: "anthropic", Path: "messages", Fault: emulator.Stall})
	k.add(p, "south", emulator.Key("anthropic"))
	test = providersPath + "/south/test"
	leadsTo(t, p.send(test, url.Values{"model_messages": {"claude-haiku-4-5"}}), test)
	running := p.see(test)
	shows(t, running, http.StatusOK, `hx-trigger="every 1s"`, "The test is running", "Cancel", "Reload the page")
	leadsTo(t, p.send(test, url.Values{"model_messages": {"claude-haiku-4-5"}}), test)
	shows(t, p.see(test), http.StatusOK, "A test of this provider is running")
	leadsTo(t, p.send(test+"/cancel", nil), test)
	ended := p.ended("south")
	shows(t, ended, http.StatusOK, "The test was cancelled", "Test again")
	if strings.Contains(ended.body, `hx-trigger="every 1s"`) {
		t.Error("a test that has ended is asked for again")
	}
}

// TestTenThousandModelsAreChosenPageByPage selects from a long list by search, page and family, and keeps what is selected elsewhere.
func TestTenThousandModelsAreChosenPageByPage(t *testing.T) {
	t.Parallel()
	k := withProviders(t)
	p := k.operator("ann@example.com")
	k.add(p, "north", emulator.Key("anthropic"))
	k.emulator.ListMore("anthropic", 10_000)
	test, models := providersPath+"/north/test", providersPath+"/north/models"
	leadsTo(t, p.send(test, nil), test)
	shows(t, p.ended("north"), http.StatusOK, "10,001 models")
	first := p.see(models)
	shows(t, first, http.StatusOK, "1–100 of 10,001 models", "Page 1 of 101", "Other models")
	shown := regexp.MustCompile(`name="shown" value="([^"]+)"`).FindAllStringSubmatch(first.body, -1)
	if len(shown) != 100 {
		t.Fatalf("the page has %d models", len(shown))
	}
	form := url.Values{"go": {"1"}, "pick": {shown[0][1], shown[99][1]}}
	for _, one := range shown {
		form.Add("shown", one[1])
	}
	leadsTo(t, p.send(models, form), models+"?page=1")
	second := p.see(models + "?page=1")
	shows(t, second, http.StatusOK, "101–200 of 10,001 models", "2 models selected, 1 without a price")
	search := p.send(models, url.Values{"q": {shown[99][1]}, "was": {""}, "page": {"1"}})
	leadsTo(t, search, models+"?"+url.Values{"q": {shown[99][1]}}.Encode())
	shows(t, p.send(models, url.Values{"do": {"publish"}}), http.StatusUnprocessableEntity, "1 model has none")
	priced := url.Values{"shown": {shown[99][1]}, "pick": {shown[99][1]}, "in:" + shown[99][1]: {"cheap"}, "out:" + shown[99][1]: {"2"}}
	leadsTo(t, p.send(models, priced), models)
	shows(t, p.see(models+"?show=selected"), http.StatusOK, "2 models of 10,001", "Enter dollars for a million tokens", `value="cheap"`)
	priced.Set("in:"+shown[99][1], "0.5")
	priced.Set("do", "publish")
	leadsTo(t, p.send(models, priced), providersPath+"/north/publish")
	shows(t, p.see(providersPath+"/north/publish"), http.StatusOK, "Publish 2 models", "Input tokens: $0.5 per 1M", "Output tokens: $2 per 1M",
		"Cache write tokens: $0.625 per 1M")

	script := &person{fixture: p.fixture, cookies: p.cookies, headers: map[string]string{"Accept": "text/html", "HX-Request": "true"}}
	all := script.send(models, url.Values{"do": {"select"}, "q": {"haiku"}})
	shows(t, all, http.StatusOK, "2 models selected")
	if all.header.Get("HX-Replace-Url") != models+"?q=haiku" {
		t.Errorf("the address is %q", all.header.Get("HX-Replace-Url"))
	}
	shows(t, script.send(models, url.Values{"do": {"select"}}), http.StatusOK, "10,001 models selected", "9,999 without a price")
	shows(t, script.send(models, url.Values{"do": {"clear"}}), http.StatusOK, "0 models selected")
	family := regexp.MustCompile(`name="family_select" value="([^"]+)"`).FindStringSubmatch(first.body)
	shows(t, script.send(models, url.Values{"family_select": {family[1]}}), http.StatusOK, "1 model selected")
	shows(t, script.send(models, url.Values{"markup": {"ten"}, "do": {"publish"}}), http.StatusUnprocessableEntity, "Enter a markup such as 10%")
	began := time.Now()
	shows(t, script.send(models, url.Values{"q": {"12"}, "markup": {"10%"}}), http.StatusOK, "of 10,001")
	t.Logf("a search in 10,001 models takes %s", time.Since(began))
}

// TestTwoOperatorsPublish tells the second of two operators who changed the catalog in between, and publishes nothing of what they have not
// seen. The second provider of a model gives it one more route.
func TestTwoOperatorsPublish(t *testing.T) {
	t.Parallel()
	k := withProviders(t)
	ann, bob := k.operator("ann@example.com"), k.operator("bob@example.com")
	const model = "anthropic/claude-haiku-4-5"
	pick := url.Values{"shown": {model}, "pick": {model}, "do": {"publish"}}
	for id, p := range map[string]*person{"north": ann, "south": bob} {
		k.add(p, id, emulator.Key("anthropic"))
		leadsTo(t, p.send(providersPath+"/"+id+"/models", pick), providersPath+"/"+id+"/publish")
	}
	north, south := providersPath+"/north/publish", providersPath+"/south/publish"
	seenByAnn, seenByBob := ann.see(north), bob.see(south)
	leadsTo(t, ann.send(north, url.Values{"version": {version(t, seenByAnn)}, "current_password": {password}}), providersPath)
	late := bob.send(south, url.Values{"version": {version(t, seenByBob)}, "current_password": {password}})
	shows(t, late, http.StatusConflict, "Another operator changed the catalog since you opened this page: ann@example.com", "Your selection is kept",
		"One more route, at the same prices")
	if len(k.export().Models[0].Routes) != 1 {
		t.Error("the second operator published what they had not seen")
	}
	leadsTo(t, bob.send(south, url.Values{"version": {version(t, late)}, "current_password": {password}}), providersPath)
	routes := k.export().Models[0].Routes
	if len(routes) != 2 || routes[0].Provider != "north" || routes[1].Provider != "south" || routes[1].Order <= routes[0].Order {
		t.Errorf("the routes are %+v", routes)
	}
	shows(t, bob.send(south, url.Values{"version": {"1"}, "current_password": {password}}), http.StatusUnprocessableEntity, "No model is selected")
}

func TestPricesBelowCostNeedConsent(t *testing.T) {
	t.Parallel()
	k := withProviders(t)
	p := k.operator("ann@example.com")
	k.add(p, "north", emulator.Key("anthropic"))
	const model = "anthropic/claude-haiku-4-5"
	leadsTo(t, p.send(providersPath+"/north/models", url.Values{
		"shown": {model}, "pick": {model}, "markup": {"-10%"}, "do": {"publish"},
	}), providersPath+"/north/publish")
	publish := providersPath + "/north/publish"
	question := p.see(publish)
	shows(t, question, http.StatusOK, "Some prices are below cost", "costs $5.00 per 1M tokens at north", "Publish prices below cost")
	form := url.Values{"version": {version(t, question)}, "current_password": {password}}
	shows(t, p.send(publish, form), http.StatusUnprocessableEntity, "Confirm that you want prices below cost")
	form.Set("below_cost", "1")
	leadsTo(t, p.send(publish, form), providersPath)
}

func TestPagesOfProvidersAreNoneToOthers(t *testing.T) {
	t.Parallel()
	k := withProviders(t)
	k.add(k.operator("ann@example.com"), "north", emulator.Key("anthropic"))
	nosy := k.signedIn("nosy@example.com")
	for _, path := range []string{"", "/new", "/new/anthropic", "/north/test", "/north/models", "/north/publish"} {
		shows(t, nosy.see(providersPath+path), http.StatusNotFound)
		if path != "" && path != "/new" {
			shows(t, nosy.send(providersPath+path, nil), http.StatusNotFound)
		}
	}
}
