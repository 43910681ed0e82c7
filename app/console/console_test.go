package console_test

import (
	"crypto/rand"
	"io"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/api"
	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/apptest"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/console"
	"umg/app/console/page"
	"umg/app/gateway"
	"umg/app/postgres/pgtest"
	"umg/app/prompt"
	"umg/app/provider"
	"umg/app/ratelimit"
	"umg/app/server"
	"umg/app/traffic"
	"umg/app/trial"
	"umg/billing"
	"umg/billing/usage"
)

// client makes a connection for each request. A test server that closes also closes the idle connections of the default
// transport, which would break the request of another test that runs beside it.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

const password = "a quiet sentence to keep"

var secretPattern = regexp.MustCompile(`sk-umg-[0-9A-Za-z]{38}`)

// fixture is the console behind the real web server and over a real store.
type fixture struct {
	t   *testing.T
	db  *sqlx.DB
	web http.Handler
	log *apptest.LogBuffer
	// recent collects calls without usage records. A test that reads them has to run it.
	recent *traffic.RecentCalls
}

func setup(t *testing.T) *fixture {
	t.Helper()
	db := pgtest.New(t)
	return newFixture(t, db, db, nil)
}

// newFixture is a console whose catalog was read from one store and whose accounts are in another.
func newFixture(t *testing.T, readable, db *sqlx.DB, upstream map[string]string, change ...func(*console.Options)) *fixture {
	t.Helper()
	said := &apptest.LogBuffer{}
	ids, log := apptest.IDs(time.Now), slog.New(slog.NewJSONHandler(said, nil))
	secrets := func(name string) (string, bool) { value, ok := upstream[name]; return value, ok }
	models, err := catalog.Open(t.Context(), readable, catalog.Options{
		Now: time.Now, Log: log, Secrets: secrets, Sealed: credentialsIn(readable).Values,
	})
	if err != nil {
		t.Fatal(err)
	}
	ledger := billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log})
	trial := trial.Policy{Amount: 5 * app.Dollar, Days: 30}
	providers := provider.New(provider.Options{})
	t.Cleanup(providers.Close)
	texts := gateway.New(gateway.Options{
		CreditManager: apptest.RunLeaseManager(t, readable, "test"), Balance: ledger.Balance, Snapshot: models.Snapshot, Limits: ratelimit.New(ratelimit.Options{Now: time.Now}), Providers: providers,
		Now: time.Now, Random: mathrand.IntN, RetryWait: time.Millisecond,
	})
	face := api.New(api.Options{
		Keys: apikey.NewCache(db, apikey.CacheOptions{Now: time.Now, Log: log}), Catalog: models, Now: time.Now, Gateway: texts,
	})
	options := console.Options{
		PeopleServices: console.PeopleServices{
			Accounts: account.New(db, ledger, account.Options{PasswordMemoryKiB: apptest.PasswordMemoryKiB, Now: time.Now, IDs: ids, Random: rand.Reader, Log: log, Trial: trial, Key: [32]byte{1}}),
			Sessions: account.NewSessionStore(db, account.SessionOptions{
				Key: [32]byte{1}, Now: time.Now, IDs: ids, Random: rand.Reader, ClientIP: server.ClientIP(nil),
			}),
			Trial: trial,
		},
		TextServices: console.TextServices{
			Catalog: models, Gateway: texts,
			Prompts: prompt.New(db, prompt.Options{Audit: audit.New(db, time.Now, ids), Now: time.Now, IDs: ids, Random: rand.Reader}),
		},
		BillingServices: console.BillingServices{Ledger: ledger, Reports: usage.NewReports(db, usage.Options{Now: time.Now, Log: log})},
		Now:             time.Now, BaseURL: "http://gateway.test",
	}
	options.RecentCalls = traffic.NewRecentCalls(db, time.Now, log)
	for _, f := range change {
		f(&options)
	}
	options.APIKeys = apikey.New(db, apikey.Options{
		Accounts: options.Accounts, Ledger: ledger, Now: time.Now, IDs: ids, Random: rand.Reader, Log: log,
	})
	pages := console.New(options)
	web := server.New(server.Options{API: face, Console: pages, IDs: ids, Now: time.Now, Log: log, BaseURL: "http://gateway.test",
		FormBytesMax: console.FormBytesMax(), RecentCalls: options.RecentCalls})
	return &fixture{t: t, db: db, web: web.Handler(), log: said, recent: options.RecentCalls}
}

type reply struct {
	status int
	header http.Header
	body   string
}

// person is a browser without scripts: it keeps cookies and sends forms.
type person struct {
	*fixture
	cookies map[string]*http.Cookie
	headers map[string]string
}

func (h *fixture) visitor() *person {
	return &person{fixture: h, cookies: map[string]*http.Cookie{}, headers: map[string]string{"Accept": "text/html"}}
}

func (h *fixture) signedIn(email string) *person {
	h.t.Helper()
	p := h.visitor()
	a := p.send("/console/sign-up", url.Values{"email": {email}, "password": {password}})
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/console" {
		h.t.Fatalf("sign-up: %d %s", a.status, a.header)
	}
	return p
}

func (p *person) see(path string) reply { return p.do(http.MethodGet, path, nil) }

func (p *person) send(path string, form url.Values) reply {
	if form == nil {
		form = url.Values{}
	}
	return p.do(http.MethodPost, path, form)
}

func (p *person) do(method, path string, form url.Values) reply {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(p.t.Context(), method, "http://gateway.test"+path, body)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://gateway.test")
	}
	for name, value := range p.headers {
		r.Header.Set(name, value)
	}
	for _, c := range p.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	p.web.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		p.cookies[c.Name] = c
	}
	return reply{w.Code, w.Header(), w.Body.String()}
}

// path fills the parameters of a route.
func path(r page.Route) string { return "/console" + strings.ReplaceAll(r.Path, ":id", "key_none") }

func TestEveryPageAsksWhoIsThere(t *testing.T) {
	t.Parallel()
	h := setup(t)
	open := map[string]bool{"/search": true, "/shared/:token": true, "/billing/rules": true, "/invitations": true, "/outbox": true, "/outbox/:id": true, "/setup": true, "/sign-up": true, "/sign-in": true, "/sign-out": true, "/theme": true, "/verify": true,
		"/sign-in/code": true, "/forgot": true, "/reset": true, "/email": true, "/models": true, "/models/*": true, "/compare": true, "/model/price": true, "/model/api.md": true, "/model/openapi.json": true,
		"/docs": true, "/docs/:page": true}
	for _, r := range console.Routes() {
		if r.Open != open[r.Path] {
			t.Errorf("%s %s: open is %v", r.Method, r.Path, r.Open)
		}
		methods := []string{r.Method}
		if r.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		for _, method := range methods {
			var form url.Values
			if method == http.MethodPost {
				form = url.Values{}
			}
			a := h.visitor().do(method, path(r), form)
			toSignIn := a.status == http.StatusSeeOther && strings.HasPrefix(a.header.Get("Location"), "/console/sign-in")
			if !r.Open && !toSignIn {
				t.Errorf("%s %s: %d %s", method, r.Path, a.status, a.header.Get("Location"))
			}
			if a.header.Get("Cache-Control") != "no-store" || !strings.Contains(a.header.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("%s %s: %v", method, r.Path, a.header)
			}
		}
	}
}

// TestSignInAndSignUpLeadToModelsAndDocs checks that the pages that ask for an account link to those that are open to everyone.
func TestSignInAndSignUpLeadToModelsAndDocs(t *testing.T) {
	t.Parallel()
	visitor := setup(t).visitor()
	for _, path := range []string{"/console/sign-in", "/console/sign-up"} {
		has(t, path, visitor.see(path), http.StatusOK, `<a class="link" href="/console/models">`, `<a class="link" href="/console/docs">`)
	}
}

func TestAVisitorIsLedBackToThePageAfterwards(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.signedIn("back@example.com")
	p := h.visitor()
	to := p.see("/console/keys").header.Get("Location")
	if to != "/console/sign-in?next=%2Fconsole%2Fkeys" {
		t.Fatalf("led to %s", to)
	}
	form := p.see(to)
	if !strings.Contains(form.body, `name="next" value="/console/keys"`) || !strings.Contains(form.body, `href="/console/sign-up?next=%2Fconsole%2Fkeys"`) {
		t.Error("the form forgot where to go")
	}
	a := p.send("/console/sign-in", url.Values{"email": {"back@example.com"}, "password": {password}, "next": {"/console/keys"}})
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/keys" {
		t.Errorf("%d %s", a.status, a.header.Get("Location"))
	}
	a = h.visitor().send("/console/sign-in", url.Values{"email": {"back@example.com"}, "password": {password}, "next": {"https://evil.example"}})
	if a.header.Get("Location") != "/console" {
		t.Errorf("led to %s", a.header.Get("Location"))
	}
}

// TestAScriptWhoseSessionEndedLeavesThePage checks that a page that repeats a request gets no sign-in page to insert.
func TestAScriptWhoseSessionEndedLeavesThePage(t *testing.T) {
	t.Parallel()
	p := setup(t).visitor()
	p.headers["HX-Request"] = "true"
	p.headers["Referer"] = "http://gateway.test/console/keys?x=1"
	for _, a := range []reply{p.see("/console/first-request"), p.see("/console/keys/new"), p.send("/console/keys", nil)} {
		if a.status != http.StatusNoContent || a.body != "" || a.header.Get("HX-Redirect") != "/console/sign-in?next=%2Fconsole%2Fkeys%3Fx%3D1" {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
	p.headers["Referer"] = "https://evil.example/x"
	if a := p.see("/console/first-request"); a.header.Get("HX-Redirect") != "/console/sign-in" {
		t.Errorf("led to %s", a.header.Get("HX-Redirect"))
	}
}

func TestFailuresArePagesForPeople(t *testing.T) {
	t.Parallel()
	h := setup(t)
	p := h.signedIn("failures@example.com")
	other := h.signedIn("other@example.com")
	theirs := keyID(t, other)
	for name, c := range map[string]struct {
		a      reply
		status int
		says   string
	}{
		"unknown page":        {p.see("/console/nothing"), 404, "There is no such page"},
		"unknown key":         {p.see("/console/keys/key_none/delete"), 404, "There is no such page"},
		"another's key":       {p.see("/console/keys/" + theirs + "/delete"), 404, "There is no such page"},
		"another's, disabled": {p.send("/console/keys/"+theirs+"/disable", nil), 404, "There is no such page"},
		"another's, deleted":  {p.send("/console/keys/"+theirs+"/delete", nil), 404, "There is no such page"},
		"outside, for people": {p.see("/nothing"), 404, "There is no such page"},
	} {
		if c.a.status != c.status || !strings.HasPrefix(c.a.header.Get("Content-Type"), "text/html") || !strings.Contains(c.a.body, c.says) {
			t.Errorf("%s: %d %.300s", name, c.a.status, c.a.body)
		}
	}
	if a := other.see("/console/keys"); !strings.Contains(a.body, theirs) || strings.Contains(a.body, theirs+"/enable") {
		t.Error("another account's key was touched")
	}
	p.headers["Origin"] = "https://evil.example"
	if a := p.send("/console/keys", url.Values{"name": {"planted"}}); a.status != http.StatusForbidden || !strings.Contains(a.body, "nothing was done") {
		t.Errorf("from another site: %d", a.status)
	}
}

func TestAStoreThatIsAwayIsSaidOnce(t *testing.T) {
	t.Parallel()
	h := setup(t)
	dead, err := sqlx.Open("postgres", "host=127.0.0.1 port=1 user=absent sslmode=disable connect_timeout=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dead.Close() })
	p := h.signedIn("away@example.com")
	p.fixture = newFixture(t, h.db, dead, nil)
	for _, a := range []reply{p.see("/console"), p.see("/console/keys"), p.send("/console/keys", url.Values{"name": {"x"}})} {
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || a.header.Get("Cache-Control") != "no-store" ||
			strings.Count(strings.ToLower(a.body), "try again in") != 1 || strings.Contains(a.body, "sql") {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
}

// keyID makes a key and finds its id in the list.
func keyID(t *testing.T, p *person) string {
	t.Helper()
	if a := p.send("/console/keys", url.Values{"name": {"made"}, "mode": {"standard"}}); a.status != http.StatusOK {
		t.Fatalf("create: %d", a.status)
	}
	id := regexp.MustCompile(`key_[0-9a-z]+`).FindString(p.see("/console/keys").body)
	if id == "" {
		t.Fatal("no key in the list")
	}
	return id
}

func TestKeysByPlainForms(t *testing.T) {
	t.Parallel()
	p := setup(t).signedIn("forms@example.com")
	name := `<b>Two  blanks</b> ` + strings.Repeat("é", 60)
	made := p.send("/console/keys", url.Values{"name": {name}, "mode": {"standard"}, "env": {"production"}})
	secret := secretPattern.FindString(made.body)
	if made.status != http.StatusOK || secret == "" || made.header.Get("Cache-Control") != "no-store" || strings.Contains(made.body, "<b>Two") {
		t.Fatalf("create: %d %v", made.status, made.header)
	}
	list := p.see("/console/keys")
	if strings.Contains(list.body, secret) || !strings.Contains(list.body, secret[len(secret)-4:]) {
		t.Error("the list shows the secret, or not its end")
	}
	for field, form := range map[string]url.Values{
		"key-name":  {"name": {" "}, "mode": {"standard"}},
		"key-mode":  {"name": {"x"}, "mode": {"loud"}},
		"key-env":   {"name": {"x"}, "mode": {"standard"}, "env": {"NOT ONE"}},
		"key-name-": {"name": {strings.Repeat("é", 81)}, "mode": {"standard"}},
	} {
		a := p.send("/console/keys", form)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `id="`+strings.TrimSuffix(field, "-")+`-error"`) {
			t.Errorf("%s: %d", field, a.status)
		}
	}
	id := regexp.MustCompile(`key_[0-9a-z]+`).FindString(list.body)
	for _, step := range []struct{ path, says string }{
		{"/disable", "Key disabled"}, {"/enable", "Key enabled"},
	} {
		if a := p.send("/console/keys/"+id+step.path, nil); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/keys" {
			t.Fatalf("%s: %d", step.path, a.status)
		}
		if a := p.see("/console/keys"); !strings.Contains(a.body, step.says) {
			t.Errorf("%s is not said", step.path)
		}
		if a := p.see("/console/keys"); strings.Contains(a.body, step.says) {
			t.Errorf("%s is said twice", step.path)
		}
	}
	if _, err := p.db.ExecContext(t.Context(), `update api_keys set last_used_at = now()`); err != nil {
		t.Fatal(err)
	}
	confirm := "/console/keys/" + id + "/delete"
	if a := p.send(confirm, url.Values{"name": {"wrong"}}); a.status != http.StatusUnprocessableEntity {
		t.Errorf("deleted without its name: %d", a.status)
	}
	shown := strings.Join(strings.Fields(name), " ") // A browser collapses white space.
	if a := p.send(confirm, url.Values{"name": {shown}}); a.status != http.StatusSeeOther {
		t.Errorf("its name as shown: %d", a.status)
	}
	if a := p.see("/console/keys"); strings.Contains(a.body, id) {
		t.Error("it is still in the list")
	}
}

func TestEntryByPlainForms(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for name, form := range map[string]url.Values{
		"email-error": {"email": {"no-address"}, "password": {password}}, "password-error": {"email": {"new@example.com"}, "password": {"short"}},
	} {
		if a := h.visitor().send("/console/sign-up", form); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `id="`+name+`"`) {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	p := h.signedIn("entry@example.com")
	if a := p.see("/console/sign-up"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console" {
		t.Errorf("sign-up when signed in: %d", a.status)
	}
	if a := h.visitor().send("/console/sign-up", url.Values{"email": {"ENTRY@example.com"}, "password": {password}}); a.status != 422 {
		t.Errorf("the same address: %d", a.status)
	}
	old := maps.Clone(p.cookies)
	if a := p.send("/console/sign-out", nil); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/sign-in" {
		t.Errorf("sign-out: %d", a.status)
	}
	p.cookies = old
	if a := p.see("/console/keys"); a.status != http.StatusSeeOther {
		t.Errorf("an ended session still opens pages: %d", a.status)
	}
	wrong := url.Values{"email": {"entry@example.com"}, "password": {"not the password"}}
	for range 20 {
		a := h.visitor().send("/console/sign-in", wrong)
		if strings.Contains(a.body, "not the password") {
			t.Fatal("the page repeats a password")
		}
		if a.status == http.StatusTooManyRequests {
			if !strings.Contains(a.body, "Too many attempts") {
				t.Errorf("throttled: %s", a.body)
			}
			return
		}
	}
	t.Error("twenty wrong passwords in a row were never slowed down")
}

// sendParts sends a form of several parts, as one with files is.
func (p *person) sendParts(path, contentType string, body io.Reader) reply {
	r := httptest.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://gateway.test"+path, body)
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Origin", "http://gateway.test")
	for _, c := range p.cookies {
		r.AddCookie(c)
	}
	answer := httptest.NewRecorder()
	p.web.ServeHTTP(answer, r)
	return reply{answer.Code, answer.Header(), answer.Body.String()}
}
