package console_test

import (
	"crypto/rand"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console"
	operatorpages "umg/app/console/operator"
	"umg/app/mail"
	"umg/app/operator"
	"umg/app/postgres/pgtest"
	"umg/app/provider/check"
	"umg/app/provider/health"
	"umg/app/traffic"
)

const pausable = "meridian/atlas-small"

// operatorFixture is a console for operators over two catalogs that came after one another, and a watch over the providers.
type operatorFixture struct {
	*fixture
	monitor *health.Monitor
	own     operatorpages.SettlementStatus // The replica reports this state of its settlements.

	// refreshed counts the calls of refreshStats, each of which is later by the clock than the one before.
	refreshed int
}

func withOperators(t *testing.T, change ...func(*console.Options)) *operatorFixture {
	t.Helper()
	db := pgtest.New(t)
	file, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	file.Providers[0].Spend.Daily = catalog.CapAmount(50 * app.Dollar)
	for _, by := range []string{"ada@ops", "bob@<b>ops</b>"} {
		if err := catalog.ApplyAs(t.Context(), db, file, catalog.HistoryAction{By: by, Note: "a note of " + by}); err != nil {
			t.Fatal(err)
		}
		file.Models[0].Name = "Renamed <i>model</i>"
	}
	k := &operatorFixture{monitor: health.New(health.Options{
		Now: time.Now, Random: mathrand.IntN, DB: db, Log: slog.New(slog.DiscardHandler), Replica: "box-1",
	})}
	counts := traffic.NewMinuteCounts(db, traffic.MinuteOptions{Now: time.Now, Replica: "box-1", InFlight: func() int64 { return 0 }})
	secrets := map[string]string{"UMG_SIMULATOR_URL": "http://127.0.0.1:9", "UMG_SIMULATOR_KEY": "any"}
	k.fixture = newFixture(t, db, db, secrets, func(o *console.Options) {
		o.OperatorsNeedNoCode = true
		o.Health, o.Operator.MinuteCounts, o.Operator.MetricsURL = k.monitor, counts, "http://box-1:9090/metrics"
		o.Operator.TestCalls = check.NewStore(db)
		ids := app.IDs{Now: time.Now, Random: rand.Reader}
		o.Operator.Actions = operator.New(db, operator.Options{Ledger: o.Ledger, Now: time.Now, IDs: ids})
		letters, err := mail.New(db, mail.Options{Key: [32]byte{7}, Now: time.Now, IDs: ids, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		o.Operator.DB = db
		o.Operator.Credentials, o.Operator.Spend = credentialSources(t, db, o.Catalog)
		o.Operator.Mail, o.Operator.Settlements = letters, func() operatorpages.SettlementStatus { return k.own }
		for _, f := range change {
			f(o)
		}
	})
	return k
}

// operator is a person who was made one by the command.
func (k *operatorFixture) operator(email string) *person {
	k.t.Helper()
	p := k.signedIn(email)
	if _, err := k.db.ExecContext(k.t.Context(), `update users set operator = true where email = $1`, email); err != nil {
		k.t.Fatal(err)
	}
	return p
}

func shows(t *testing.T, a reply, status int, texts ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d", a.status, status)
	}
	for _, text := range texts {
		if !strings.Contains(unbroken(a.body), text) {
			t.Errorf("the page does not say %q", text)
		}
	}
}

// unbroken is a page without the places where a long word may be broken.
func unbroken(page string) string { return strings.ReplaceAll(page, "<wbr>", "") }

func decision(kind, id, reason string) url.Values {
	return url.Values{"kind": {kind}, "id": {id}, "reason": {reason}}
}

func TestOperatorsPauseAndResumeWithoutScripts(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	shows(t, p.see("/console/operator"), http.StatusOK, "Every model takes calls.", pausable)
	ask := "?" + url.Values{"kind": {"model"}, "id": {pausable}}.Encode()
	shows(t, p.see("/console/operator/pause"+ask), http.StatusOK, "model_temporarily_unavailable", "Pause model")
	shows(t, p.see("/console/operator/resume"+ask), http.StatusNotFound)

	long := strings.Repeat("é", 201)
	shows(t, p.send("/console/operator/pause", decision("model", pausable, long)), http.StatusUnprocessableEntity, long, "at most 200 characters")
	for _, wrong := range []url.Values{decision("model", "no/such", ""), decision("provider", pausable, ""), decision("replica", "box-1", ""), decision("", "", "")} {
		if a := p.send("/console/operator/pause", wrong); a.status < 400 || a.status > 422 {
			t.Errorf("%v: %d", wrong, a.status)
		}
	}
	if all := k.monitor.Pauses(); len(all) != 0 {
		t.Fatalf("refused decisions have paused %v", all)
	}

	a := p.send("/console/operator/pause", decision("model", pausable, " It <b>moves</b> "))
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/operator" {
		t.Fatalf("%d %s", a.status, a.header.Get("Location"))
	}
	if all := k.monitor.Pauses(); len(all) != 1 || all[0].By != "ann@example.com" || all[0].Reason != "It <b>moves</b>" {
		t.Errorf("in force is %+v", all)
	}
	shows(t, p.see("/console/operator"), http.StatusOK, "Paused "+pausable, "1 model is paused", "It &lt;b&gt;moves&lt;/b&gt;", "ann@example.com")
	shows(t, p.see("/console/operator/resume"+ask), http.StatusOK, "It &lt;b&gt;moves&lt;/b&gt;", "Resume model")

	for _, said := range []string{"Resumed " + pausable, "is not paused"} { // The second attempt finds that the pause has ended.
		if a := p.send("/console/operator/resume", decision("model", pausable, "")); a.status != http.StatusSeeOther {
			t.Fatalf("%d", a.status)
		}
		shows(t, p.see("/console/operator"), http.StatusOK, said, "Every model takes calls.", "resumed the model")
	}
}

func TestAPauseOfAProviderSaysWhichModelsItLeavesWithoutARoute(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	ask := "/console/operator/pause?" + url.Values{"kind": {"provider"}, "id": {"meridian"}}.Encode()
	if a := p.see(ask); strings.Contains(a.body, "no other route") {
		t.Error("models that have another route are said to have none")
	}
	shows(t, p.see(ask), http.StatusOK, "go on with other routes", pausable)
	for i, id := range []string{"crossroads", "meridian"} { // Every model has a route through the first provider.
		if a := p.send("/console/operator/pause", decision("provider", id, "secret plans")); a.status != http.StatusSeeOther {
			t.Fatalf("%s: %d", id, a.status)
		}
		if i == 0 {
			shows(t, p.see(ask), http.StatusOK, "no other route", "model_temporarily_unavailable")
		}
	}
	page := p.see("/console/operator")
	shows(t, page, http.StatusOK, "2 providers are paused", "secret plans", "No route", "Provider paused", "Clients get 503 model_temporarily_unavailable")
	if strings.Contains(page.body, "no_available_provider") {
		t.Error("the page names a code that clients do not get")
	}
}

func TestOperatorsReadTheCatalogsOfThePast(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	shows(t, p.see("/console/operator/catalog"), http.StatusOK, "ada@ops", "bob@&lt;b&gt;ops&lt;/b&gt;", "In force")
	shows(t, p.see("/console/operator/catalog/2"), http.StatusOK, "In force", "Renamed &lt;i&gt;model&lt;/i&gt;")
	shows(t, p.see("/console/operator/catalog/1"), http.StatusOK, "version 2 is in force", "What is different now")
	file := p.see("/console/operator/catalog/1/catalog.yaml")
	if disposition := file.header.Get("Content-Disposition"); disposition != `attachment; filename="catalog-1.yaml"` {
		t.Errorf("the file comes with %q", disposition)
	}
	if then, err := catalog.ParseFile([]byte(file.body)); err != nil || strings.HasPrefix(then.Models[0].Name, "Renamed") {
		t.Errorf("the file is not that of version 1: %v", err)
	}
	for _, path := range []string{"3", "0", "x", "-1", "99999999999999999999", "3/catalog.yaml", "x/catalog.yaml"} {
		shows(t, p.see("/console/operator/catalog/"+path), http.StatusNotFound)
	}
	shows(t, p.see("/console/operator/catalog?before=2"), http.StatusOK, "ada@ops", "Newest")
	shows(t, p.see("/console/operator/catalog?before=x"), http.StatusNotFound)
}

func TestPagesForOperatorsAreNoneToOthers(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	owner := k.signedIn("owner@example.com")
	nothing := owner.see("/console/nothing-here")
	own := "/accounts/" + k.accountOf("owner@example.com")
	for _, path := range []string{
		"", "/metrics", "/catalog", "/catalog/1", "/catalog/1/catalog.yaml", "/pause?kind=model&id=" + pausable, "/accounts", own, own + "/add",
		"/credentials", "/credentials/new", "/credentials/main/delete", "/queues", "/queues/live", "/trials", "/trials/codes/new", "/trials/codes/ANYCODE/end",
	} {
		a := owner.see("/console/operator" + path)
		if a.status != http.StatusNotFound || len(a.header) != len(nothing.header) {
			t.Errorf("%q: %d %v", path, a.status, a.header)
		}
	}
	if a := owner.send("/console/operator/pause", decision("model", pausable, "")); a.status != http.StatusNotFound || len(k.monitor.Pauses()) != 0 {
		t.Errorf("an owner has paused a model: %d", a.status)
	}
	if a := owner.send("/console/operator"+own+"/add", actionBody("25", "for me", "do", "adj_01kb4a7k2f8s4j6h1d9a3g5b7t")); a.status != http.StatusNotFound {
		t.Errorf("an owner gives credit: %d", a.status)
	}
	until := time.Now().AddDate(0, 1, 0).UTC().Format(time.DateOnly)
	a := owner.send("/console/operator/trials/codes", codeForm("FORMYSELF", "25", "1", until, "0", ""))
	if n := k.number(`select count(*) from promo_codes`); a.status != http.StatusNotFound || n != 0 {
		t.Errorf("an owner makes codes: %d, %d of them", a.status, n)
	}
	shows(t, k.operator("ann@example.com").see("/console/operator/metrics"), http.StatusOK, "Gateway overhead", "http://box-1:9090/metrics", "Waiting for the first report")
}
