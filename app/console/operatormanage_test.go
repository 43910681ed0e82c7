package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"umg/app/catalog"
)

const (
	managed      = "meridian/atlas-small"
	managedPath  = "/console/operator/models/meridian%2Fatlas-small"
	managedQuery = "?id=meridian%2Fatlas-small"
	formsPath    = "/console/operator/model/"
)

var openedVersion = regexp.MustCompile(`name="version" value="([0-9]+)"`)

// versionOf is the version that a page was opened at.
func versionOf(t *testing.T, a reply) string {
	t.Helper()
	found := openedVersion.FindStringSubmatch(a.body)
	if found == nil {
		t.Fatalf("the page has no version: %d", a.status)
	}
	return found[1]
}

// inForce is the catalog in force.
func (k *operatorFixture) inForce() catalog.File {
	k.t.Helper()
	f, err := catalog.Export(k.t.Context(), k.db)
	if err != nil {
		k.t.Fatal(err)
	}
	return f
}

// model is a model of the catalog in force.
func (k *operatorFixture) model(id string) catalog.FileModel {
	k.t.Helper()
	f := k.inForce()
	i := slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == id })
	if i < 0 {
		k.t.Fatalf("the catalog has no %s", id)
	}
	return f.Models[i]
}

// confirmed sends a form to its question and confirms it.
func (p *person) confirmed(t *testing.T, path string, form url.Values, says ...string) {
	t.Helper()
	form.Set("step", "ask")
	asked := p.send(path, form)
	shows(t, asked, http.StatusOK, append([]string{"Your current password", "What changes in the catalog"}, says...)...)
	form.Set("step", "do")
	form.Set("current_password", "a wrong one, sadly")
	shows(t, p.send(path, form), http.StatusUnprocessableEntity, "That is not your password.")
	form.Set("current_password", password)
	if a := p.send(path, form); a.status != http.StatusSeeOther {
		t.Errorf("%s: %d\n%s", path, a.status, a.body)
	}
}

func TestOperatorsChangeTheNameTheAccountsAndTheLimitsOfAModel(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	k.signedIn("noor@example.com")
	account := k.accountOf("noor@example.com")
	shows(t, p.see("/console/operator/models?q=ATLAS-small"), http.StatusOK, managed, "1 model", "$0.15 / $0.60")
	shows(t, p.see("/console/operator/models?q=nothing-such"), http.StatusOK, "No model matches")
	shows(t, p.see("/console/operator/models?provider=quillon&state=uncosted"), http.StatusOK, "quillon/folio-large", "Cost unknown")
	shows(t, p.see("/console/operator/models/no%2Fsuch"), http.StatusNotFound)
	shows(t, p.see("/console/operator/models/"+managed), http.StatusOK, "Atlas Small") // A proxy may unescape the path.
	shows(t, p.see(managedPath), http.StatusOK, "Atlas Small", "All accounts", "$0.15", "Meridian Labs", "Crossroads",
		"No call in the last 30 days.")
	opened := p.see(formsPath + "edit" + managedQuery)
	shows(t, opened, http.StatusOK, `value="Atlas Small"`, `value="128000"`)
	form := url.Values{
		"version": {versionOf(t, opened)}, "name": {"Atlas <i>S</i>"}, "visibility": {"some"}, "accounts": {"acct_unknown"},
		"aliases":        {"atlas-s"},
		"context_tokens": {"128000"}, "max_output_tokens": {"many"}, "requests_per_minute": {""}, "tokens_per_minute": {"100000"},
		"step": {"ask"},
	}
	shows(t, p.send(formsPath+"edit"+managedQuery, form), http.StatusUnprocessableEntity, "There is no account acct_unknown.",
		"Enter a whole number.", `value="many"`)
	form.Set("accounts", account)
	form.Set("max_output_tokens", "999999999")
	shows(t, p.send(formsPath+"edit"+managedQuery, form), http.StatusUnprocessableEntity,
		"max_output_tokens: 999999999 is not between 1 and the 128000")
	form.Set("max_output_tokens", "8000")
	p.confirmed(t, formsPath+"edit"+managedQuery, form, "Atlas &lt;i&gt;S&lt;/i&gt;", "max_output_tokens")
	m := k.model(managed)
	if m.Name != "Atlas <i>S</i>" || m.MaxOutputTokens != 8000 || !slices.Equal(m.Accounts, []string{account}) || !slices.Equal(m.Aliases,
		[]string{"atlas-s"}) ||
		m.Limits.RequestsPerMinute != 60 || m.Limits.TokensPerMinute != 100_000 {
		t.Errorf("in force is %+v", m)
	}
	shows(t, p.see(managedPath), http.StatusOK, "Only 1 account", "atlas-s", "Changed ")
	form.Set("version", versionOf(t, p.see(formsPath+"edit"+managedQuery)))
	form.Set("step", "ask")
	if a := p.send(formsPath+"edit"+managedQuery, form); a.status != http.StatusSeeOther {
		t.Errorf("the same again: %d", a.status)
	}
	shows(t, p.see(managedPath), http.StatusOK, "Nothing changed.")
}

func TestPricesOfAFormAreExactAndNotBelowCostByMistake(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	at := formsPath + "prices" + managedQuery
	opened := p.see(at)
	shows(t, opened, http.StatusOK, `name="rate.input_tokens" value="0.15"`, "per 1M tokens", "The cost of the first route is not known.")
	form := url.Values{
		"version": {versionOf(t, opened)}, "how": {"own"}, "when": {"now"}, "rate.input_tokens": {"0,15"}, "rate.output_tokens": {"0.6"},
		"conditions": {"- prompt_over: many\n  times: 2"}, "step": {"ask"},
	}
	shows(t, p.send(at, form), http.StatusUnprocessableEntity, "“0,15” is not a price.",
		"Line 1: prompt_over: “many” is not a whole number.", `value="0,15"`)
	form.Set("rate.input_tokens", "$0.123456789")
	form.Set("rate.cache_read_tokens", "0.0000625 per 1K")
	form.Set("conditions", "- prompt_over: 100000\n  tier: 2")
	shows(t, p.send(at, form), http.StatusUnprocessableEntity, "tier is not a field here")
	form.Set("conditions", "- prompt_over: 100000\n  service_tier: NO\n  times: 2")
	shows(t, p.send(at, form), http.StatusUnprocessableEntity, "conditions[0].service_tier: ")
	form.Set("conditions", "- prompt_over: 100000\n  times: 2")
	p.confirmed(t, at, form, "rates.input_tokens", "0.123456789 per 1M")
	m := k.model(managed)
	if m.Rates["input_tokens"].String() != "0.123456789 per 1M" || m.Rates["cache_read_tokens"].String() != "0.0000625 per 1K" || len(m.Conditions) != 1 {
		t.Errorf("in force are %v %v", m.Rates, m.Conditions)
	}
	shows(t, p.see(managedPath), http.StatusOK, "$0.123456789", "Prompts over 100,000 tokens", "twice the price")

	route := formsPath + "route" + managedQuery + "&" + url.Values{"route": {"meridian atlas-small-2026-05 chat"}}.Encode()
	cost := url.Values{"version": {versionOf(t, p.see(route))}, "weight": {"1"}, "cost": {"rates:\n  input: 1 per 1M"}, "step": {"ask"}}
	shows(t, p.send(route, cost), http.StatusUnprocessableEntity, "cost.rates: ", "input")
	cost.Set("cost", "rates:\n  input_tokens: 1 per 1M\n  output_tokens: 2 per 1M")
	cost.Set("step", "do")
	cost.Set("current_password", password)
	shows(t, p.send(route, cost), http.StatusUnprocessableEntity, "Prices below cost", "Allow prices below cost")
	cost.Set("below_cost", "true")
	if a := p.send(route, cost); a.status != http.StatusSeeOther {
		t.Fatalf("allowed: %d", a.status)
	}
	shows(t, p.see(managedPath), http.StatusOK, "Prices below cost", "$1.00")

	form = url.Values{"version": {versionOf(t, p.see(at))}, "how": {"markup"}, "markup": {"12.345"}, "when": {"now"}, "step": {"ask"}}
	shows(t, p.send(at, form), http.StatusUnprocessableEntity, "at most two decimals")
	form.Set("markup", "12.5%")
	p.confirmed(t, at, form, "markup", "1.125")
	shows(t, p.see(managedPath), http.StatusOK, "+12.5%", "$1.125", "$2.25")
	shows(t, p.see(at), http.StatusOK, `value="12.5"`, `name="rate.input_tokens" value="1.125"`)
}

func TestOperatorsAnnounceAndWithdrawPrices(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	at := formsPath + "prices" + managedQuery
	form := url.Values{
		"version": {versionOf(t, p.see(at))}, "how": {"own"}, "when": {"from"}, "from": {"2020-01-01"}, "rate.input_tokens": {"0.2"},
		"rate.output_tokens": {"0.6"}, "step": {"ask"},
	}
	shows(t, p.send(at, form), http.StatusUnprocessableEntity, "Choose a day after today.", `value="2020-01-01"`)
	form.Set("from", "2099-05-01")
	p.confirmed(t, at, form, "announced.from")
	if m := k.model(managed); m.Announced == nil || m.Announced.Rates["input_tokens"].String() != "0.2 per 1M" || m.Rates["input_tokens"].String() != "0.15 per 1M" {
		t.Errorf("in force is %+v", m.Announced)
	}
	shows(t, p.see(managedPath), http.StatusOK, "New prices from 1 May 2099", "Input tokens: $0.15 per 1M → $0.2 per 1M")
	shows(t, p.see("/console/operator/models?state=announced"), http.StatusOK, managed, "1 model")
	shows(t, p.see(at+"&announced=true"), http.StatusOK, `value="2099-05-01"`, `name="rate.input_tokens" value="0.2"`)
	withdraw := formsPath + "withdraw" + managedQuery
	p.confirmed(t, withdraw, url.Values{"version": {versionOf(t, p.see(withdraw))}}, "stay in force after 1 May 2099")
	if m := k.model(managed); m.Announced != nil {
		t.Error("the prices are still announced")
	}
	shows(t, p.see(withdraw), http.StatusConflict, "No prices of "+managed+" are announced.")
}

func TestOperatorsOrderAddAndRemoveRoutes(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	const first, second = "meridian atlas-small-2026-05 chat", "crossroads meridian/atlas-small chat"
	opened := p.see(managedPath)
	form := url.Values{
		"version": {versionOf(t, opened)}, "route": {first, second}, "weight": {"1", "1"}, "step": {"up:" + second},
	}
	moved := p.send(formsPath+"routes"+managedQuery, form)
	shows(t, moved, http.StatusOK, "This order is not in force yet.")
	if strings.Index(moved.body, `value="`+second) > strings.Index(moved.body, `value="`+first) {
		t.Error("the route was not moved up")
	}
	form["route"], form["weight"] = []string{second, first}, []string{"heavy", "1"}
	form.Set("tied", first)
	form.Set("step", "ask")
	shows(t, p.send(formsPath+"routes"+managedQuery, form), http.StatusUnprocessableEntity, "Enter a whole number from 1 to 1000.",
		`value="heavy"`)
	form["weight"] = []string{"3", "1"}
	p.confirmed(t, formsPath+"routes"+managedQuery, form, "weight")
	m := k.model(managed)
	if r := m.Routes; r[0].Provider != "crossroads" || r[0].Order != 1 || r[0].Weight != 3 || r[1].Provider != "meridian" || r[1].Order != 1 {
		t.Errorf("in force is %+v", m.Routes)
	}
	shows(t, p.see(managedPath), http.StatusOK, "75% of calls of this place", "25% of calls of this place")

	add := formsPath + "route" + managedQuery
	form = url.Values{
		"version": {versionOf(t, p.see(add))}, "provider": {"tessera"}, "model": {""}, "style": {"chat"}, "place": {"first"},
		"weight": {"0"}, "step": {"ask"},
	}
	shows(t, p.send(add, form), http.StatusUnprocessableEntity, "Enter the provider&#39;s name of the model.",
		"Enter a whole number from 1 to 1000.")
	form.Set("model", "mosaic")
	form.Set("weight", "1")
	shows(t, p.send(add, form), http.StatusUnprocessableEntity, "style: provider tessera speaks [responses], not chat.")
	form.Set("style", "responses")
	p.confirmed(t, add, form, "routes[tessera mosaic responses].order")
	if m = k.model(managed); len(m.Routes) != 3 || m.Routes[0].Provider != "tessera" || m.Routes[1].Order != 2 || m.Routes[2].Order != 2 {
		t.Errorf("in force is %+v", m.Routes)
	}
	for i, key := range []string{"tessera mosaic responses", second, first} {
		remove := formsPath + "remove" + managedQuery + "&" + url.Values{"route": {key}}.Encode()
		asked := p.see(remove)
		says := "routes["
		if i == 2 {
			says = "It is the last route"
		}
		p.confirmed(t, remove, url.Values{"version": {versionOf(t, asked)}}, says)
		shows(t, p.see(remove), http.StatusNotFound)
	}
	if m = k.model(managed); len(m.Routes) != 0 || m.Availability != catalog.Coming || len(m.Rates) == 0 {
		t.Errorf("in force is %+v", m)
	}
	shows(t, p.see(managedPath), http.StatusOK, "No provider serves this model", "Hidden", "No route")
	form.Set("version", versionOf(t, p.see(add)))
	p.confirmed(t, add, form)
	if m = k.model(managed); m.Availability != catalog.Available {
		t.Error("a model with prices and a route again cannot be called")
	}
}

func TestTheSecondOfTwoOperatorsKeepsWhatTheyTyped(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	ann, bob := k.operator("ann@example.com"), k.operator("bob@example.com")
	at := formsPath + "prices" + managedQuery
	form := func(version, input string) url.Values {
		return url.Values{
			"version": {version}, "how": {"own"}, "when": {"now"}, "rate.input_tokens": {input}, "rate.output_tokens": {"0.6"},
			"step":             {"do"},
			"current_password": {password},
		}
	}
	first := versionOf(t, ann.see(at))
	if a := bob.send(at, form(first, "0.17")); a.status != http.StatusSeeOther {
		t.Fatalf("bob: %d", a.status)
	}
	told := ann.send(at, form(first, "0.19"))
	shows(t, told, http.StatusConflict, "Another operator changed the catalog", "bob@example.com", "rates.input_tokens", "0.17 per 1M",
		`name="rate.input_tokens" value="0.19"`)
	if strings.Contains(told.body, password) {
		t.Error("the page has the password")
	}
	if got := k.model(managed).Rates["input_tokens"].String(); got != "0.17 per 1M" {
		t.Fatalf("in force is %s", got)
	}
	if a := ann.send(at, form(versionOf(t, told), "0.19")); a.status != http.StatusSeeOther {
		t.Errorf("ann, who was told: %d", a.status)
	}
	if got := k.model(managed).Rates["input_tokens"].String(); got != "0.19 per 1M" {
		t.Errorf("in force is %s", got)
	}
	retire := formsPath + "retire" + managedQuery
	shows(t, ann.send(retire, url.Values{"version": {first}, "when": {"now"}, "step": {"do"}, "current_password": {password}}),
		http.StatusConflict, "Another operator changed")
	remove := "/console/operator/providers/quillon/delete"
	shows(t, ann.send(remove, url.Values{"version": {first}, "step": {"do"}, "current_password": {password}}), http.StatusConflict,
		"Another operator changed", "Delete Quillon?")
	if f := k.inForce(); !slices.ContainsFunc(f.Providers, func(v catalog.FileProvider) bool { return v.ID == "quillon" }) {
		t.Error("the provider was deleted although the operator had to be told")
	}
}

func TestOperatorsRetireAModelAtOnceOrOnADay(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	at := formsPath + "retire" + managedQuery
	form := url.Values{"version": {versionOf(t, p.see(at))}, "when": {"on"}, "day": {"soon"}, "successor": {managed}, "step": {"ask"}}
	shows(t, p.send(at, form), http.StatusUnprocessableEntity, "Enter a day")
	form.Set("day", "2099-01-02")
	shows(t, p.send(at, form), http.StatusUnprocessableEntity, "is the model itself")
	form.Set("successor", "meridian/atlas-large")
	p.confirmed(t, at, form, "shutdown", "2099-01-02")
	shows(t, p.see(managedPath), http.StatusOK, "2 Jan 2099", "Offered")
	now := url.Values{"version": {versionOf(t, p.see(at))}, "when": {"now"}}
	p.confirmed(t, at, now, "as a whole")
	shows(t, p.see(managedPath), http.StatusOK, "This model is retired", "Atlas Small")
	shows(t, p.see(formsPath+"edit"+managedQuery), http.StatusNotFound)
}

func TestOperatorsChangeReplaceAndDeleteAProvider(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	const at = "/console/operator/providers/quillon"
	shows(t, p.see("/console/operator/providers/none"), http.StatusNotFound)
	shows(t, p.see(at), http.StatusOK, "Quillon", "${UMG_SIMULATOR_KEY}", "quillon/folio-large", "In use")
	form := url.Values{
		"version": {versionOf(t, p.see(at+"/edit"))}, "name": {"Quillon EU"}, "base_url": {"ftp://quillon"}, "concurrency": {"x"},
		"spend_daily":   {"$12.5"},
		"spend_monthly": {"much"}, "step": {"ask"},
	}
	shows(t, p.send(at+"/edit", form), http.StatusUnprocessableEntity, "Enter a whole number.", "Enter an amount in dollars")
	form.Set("concurrency", "40")
	form.Set("spend_monthly", "")
	shows(t, p.send(at+"/edit", form), http.StatusUnprocessableEntity, "base_url: must be an http or https address.")
	form.Set("base_url", "https://quillon.example")
	p.confirmed(t, at+"/edit", form, "base_url", "limits.concurrency")
	find := func() catalog.FileProvider {
		f := k.inForce()
		return f.Providers[slices.IndexFunc(f.Providers, func(v catalog.FileProvider) bool { return v.ID == "quillon" })]
	}
	if v := find(); v.Name != "Quillon EU" || v.BaseURL != "https://quillon.example" || v.Limits.Concurrency != 40 || v.Spend.Daily != 12_500_000_000 ||
		v.CredentialHeader != "x-api-key" {
		t.Errorf("in force is %+v", v)
	}

	const secret = "sk-recognisable-0123456789-Qz8w"
	key := url.Values{"version": {versionOf(t, p.see(at+"/credential"))}, "how": {"pasted"}, "part.key": {secret},
		"current_password": {"a wrong one, sadly"}}
	shows(t, p.send(at+"/credential", key), http.StatusUnprocessableEntity, "That is not your password.")
	key.Set("current_password", password)
	key.Set("part.key", " ")
	shows(t, p.send(at+"/credential", key), http.StatusUnprocessableEntity, "Enter the credential.")
	key.Set("part.key", secret)
	if a := p.send(at+"/credential", key); a.status != http.StatusSeeOther || find().Credential != "sealed:quillon" {
		t.Fatalf("replacing: %d %s", a.status, find().Credential)
	}
	page := p.see(at)
	shows(t, page, http.StatusOK, "sealed:quillon", "…Qz8w", "ann@example.com")
	if strings.Contains(page.body, "recognisable") {
		t.Error("the page shows the credential")
	}
	reference := url.Values{
		"version": {versionOf(t, p.see(at+"/credential"))}, "how": {"reference"}, "reference": {secret}, "current_password": {password},
	}
	shows(t, p.send(at+"/credential", reference), http.StatusUnprocessableEntity, "must be a reference like ${NAME}")

	asked := p.see(at + "/delete")
	shows(t, asked, http.StatusOK, "Delete Quillon EU?", "The credential sealed:quillon stays stored.",
		"quillon/folio-large is served by its other providers alone.")
	p.confirmed(t, at+"/delete", url.Values{"version": {versionOf(t, asked)}})
	shows(t, p.see(at), http.StatusNotFound)
	if m := k.model("quillon/folio-large"); len(m.Routes) != 1 {
		t.Errorf("the model has %d routes", len(m.Routes))
	}
}

func TestASharedCredentialIsReplacedForAllOrForOneProvider(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	f := k.inForce()
	f.Providers[0].Credential, f.Providers[1].Credential = "sealed:shared", "sealed:shared"
	if err := catalog.Apply(t.Context(), k.db, f); err != nil {
		t.Fatal(err)
	}
	const at = "/console/operator/providers/meridian"
	shows(t, p.see(at), http.StatusOK, "Also used by", "quillon", "No credential of this name is stored.")
	opened := p.see(at + "/credential")
	shows(t, opened, http.StatusOK, "Other providers use this credential", "quillon")
	key := url.Values{"version": {versionOf(t, opened)}, "how": {"pasted"}, "part.key": {"one-for-all"}, "current_password": {password}}
	if a := p.send(at+"/credential", key); a.status != http.StatusSeeOther {
		t.Fatal(a.status)
	}
	if got := k.inForce().Providers[0].Credential; got != "sealed:shared" {
		t.Errorf("the reference is %s", got)
	}
	key.Set("own", "true")
	key.Set("version", versionOf(t, p.see(at+"/credential")))
	if a := p.send(at+"/credential", key); a.status != http.StatusSeeOther {
		t.Fatal(a.status)
	}
	if f := k.inForce(); f.Providers[0].Credential != "sealed:meridian" || f.Providers[1].Credential != "sealed:shared" {
		t.Errorf("the references are %s and %s", f.Providers[0].Credential, f.Providers[1].Credential)
	}
}

func TestAPresetThatAnUpgradeChangedIsShownUntilItIsConfirmed(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	f := k.inForce()
	f.Providers = append(f.Providers, catalog.FileProvider{ID: "claude", Preset: "anthropic", Credential: "${ANTHROPIC_API_KEY}",
		Disabled: true})
	if err := catalog.Apply(t.Context(), k.db, f); err != nil {
		t.Fatal(err)
	}
	const at = "/console/operator/providers/claude"
	const changed = "The preset changed with an upgrade"
	before := p.see(at)
	shows(t, before, http.StatusOK, "This provider is off", "https://api.anthropic.com")
	if strings.Contains(before.body, changed) {
		t.Error("a preset that is the same is said to have changed")
	}
	if _, err := k.db.ExecContext(t.Context(), `
		update provider_presets set settings = jsonb_set(settings, '{base}',
			'"https://old.example"') where provider_id = 'claude'`); err != nil {
		t.Fatal(err)
	}
	shows(t, p.see(at), http.StatusOK, changed, "preset.base", "https://old.example", "Confirm the new settings")
	f.Models[0].Name = "Renamed again" // Another change of the catalog does not confirm the new settings.
	if err := catalog.Apply(t.Context(), k.db, f); err != nil {
		t.Fatal(err)
	}
	shows(t, p.see(at), http.StatusOK, changed)
	if a := p.send(at+"/preset", nil); a.status != http.StatusSeeOther {
		t.Fatal(a.status)
	}
	if a := p.see(at); strings.Contains(a.body, changed) {
		t.Error("the preset was confirmed, and the page still asks")
	}
	p.confirmed(t, at+"/on", url.Values{"version": {versionOf(t, p.see(at+"/on"))}}, "disabled")
	if i := slices.IndexFunc(k.inForce().Providers,
		func(v catalog.FileProvider) bool { return v.ID == "claude" }); k.inForce().Providers[i].Disabled {
		t.Error("the provider is still off")
	}
}
