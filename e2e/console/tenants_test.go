package console

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jmoiron/sqlx"

	"umg/e2e/harness"
)

// TestTenantMatrix walks every route that the binary says it has, with every identity that must not get in: another
// account's key, a key of the account with too few scopes, deleted, disabled and expired keys, none at all, a session where a
// key belongs and the other way round, another account's session, and members whose role is too small. Each is refused as
// designed, nothing of the account changes, and no account pays. A route that the table does not know fails the test.
func TestTenantMatrix(t *testing.T) {
	t.Parallel()
	m := newTenants(t, harness.SharedVideoDemo(t))
	before := m.state(t)
	for _, r := range m.routes {
		p, known := intrusions[r.Method+" "+r.Path]
		if !known {
			t.Errorf("no row for %s %s: say in tenants_rows_test.go what a stranger would put into it", r.Method, r.Path)
			continue
		}
		t.Run(r.Method+strings.ReplaceAll(r.Path, "/", "_"), func(t *testing.T) { m.intrude(t, r, p) })
	}
	t.Run("places", m.probePlaces)
	t.Run("aliases", m.probeAliases)
	t.Run("views", m.probeViews)
	t.Run("links", m.probeLinks)
	t.Run("times", m.probeTimes)
	for name := range intrusions {
		if !slices.ContainsFunc(m.routes, func(r harness.Route) bool { return r.Method+" "+r.Path == name }) {
			t.Errorf("there is no route %s any more", name)
		}
	}
	if after := m.state(t); after != before {
		t.Errorf("something changed for the account or for its neighbour:\n%s", firstDifferentLine(before, after))
	}
	t.Run("words", m.probeWords)
	t.Logf("%d routes, %d refusals compared", len(m.routes), m.cases.Load())
}

// intrusion is what an attacker puts into a route. In the query and the body {kind} is replaced by the id of such an
// object of the account; the path names its objects by itself.
type intrusion struct {
	query string
	body  string
	// public is true when every caller may read the object that the path names, such as a model.
	public bool
}

// tenants are an account with an object of every kind, and all the callers who must not get at it.
type tenants struct {
	g      *harness.Gateway
	owner  harness.Customer
	routes []harness.Route
	// things has the ids of the account's objects by kind.
	things map[string]string

	// keys has the secrets of the account's unusable keys, by the reason.
	keys map[string]string
	// narrow has the secrets of the account's keys, by the scopes that they lack.
	narrow   map[string]string
	stranger harness.Customer
	visitor  *harness.ConsoleClient
	// foreign is a signed-in person of another account.
	foreign *harness.ConsoleClient
	// members has the account's members by role.
	members map[string]*harness.ConsoleClient
	// SignInToConsole is the owner's session.
	signedIn *harness.ConsoleClient
	cases    atomic.Int64

	// Both are secrets of keys with the scope management.
	strangerManages, ownerManages string
}

// kinds say what the parameter after a part of a path is the id of.
var kinds = map[string]string{
	"videos": "video", "webhook_endpoints": "endpoint", "webhooks": "endpoint", "deliveries": "delivery", "keys": "key", "topups": "topup",
	"top_ups": "topup", "requests": "request", "calls": "request", "outbox": "mail", "models": "model", "assets": "asset",
	"recipes": "tool", "limits": "wish", "catalog": "version", "members": "member", "invitations": "invitation", "sessions": "session",
	"callbacks": "token", "docs": "document", "help": "guide", "prompts": "prompt", "shared": "shared", "shares": "share", "accounts": "account",
	"codes": "promo", "runs": "run", "credentials": "credential", "providers": "provider", "new": "preset",
	"people": "member", "queues": "queue", "jobs": "mail",
}

// fill puts the ids of objects, or of none, into a route's path and body.
func (p intrusion) fill(t *testing.T, path string, id func(kind string) string) (string, string) {
	path = harness.RouteParameter.ReplaceAllStringFunc(path, func(part string) string {
		before, _, _ := strings.Cut(part, "/")
		kind, known := kinds[before]
		if !known {
			t.Errorf("what is the parameter in %s the id of?", part)
		}
		return before + "/" + id(kind)
	})
	place := func(text string) string {
		return kindInBody.ReplaceAllStringFunc(text, func(kind string) string { return id(strings.Trim(kind, "{}")) })
	}
	if p.query != "" {
		path += "?" + place(p.query)
	}
	return path, place(p.body)
}

var kindInBody = regexp.MustCompile(`\{[a-z_]+\}`)

func (p intrusion) namesObjects(path string) bool {
	return !p.public && (harness.RouteParameter.MatchString(path) || kindInBody.MatchString(p.body+p.query))
}

// theirs is the id of an object of the account.
func (m *tenants) theirs(kind string) string {
	if id, ok := m.things[kind]; ok {
		return id
	}
	return kind
}

// absentID is an id of the same form that no object has.
func (m *tenants) absentID(kind string) string {
	id, ok := m.things[kind]
	if !ok {
		return kind
	}
	return id[:max(len(id)-lastDigits, 0)] + zeros.ReplaceAllString(id[max(len(id)-lastDigits, 0):], "0")
}

// lastDigits of an id are replaced by zeros to make an id that no object has and that keeps its form.
const lastDigits = 8

var zeros = regexp.MustCompile(`[A-Za-z0-9]`)

func (m *tenants) intrude(t *testing.T, r harness.Route, p intrusion) {
	if r.Area == "api" {
		m.probeAPI(t, r, p)
		return
	}
	m.probeConsole(t, r, p)
}

func (m *tenants) probeAPI(t *testing.T, r harness.Route, p intrusion) {
	path, body := p.fill(t, r.Path, m.theirs)
	call := func(headers ...string) harness.Response {
		m.cases.Add(1)
		return m.g.Call(t, r.Method, path, body, headers...)
	}
	if p.namesObjects(r.Path) {
		absentPath, absentBody := p.fill(t, r.Path, m.absentID)
		foreign := call(harness.BearerHeader(m.strangerKey(r))...)
		absent := m.g.Call(t, r.Method, absentPath, absentBody, harness.BearerHeader(m.strangerKey(r))...)
		m.same(t, foreign, absent)
		if foreign.Header.Get("X-Error-Code") == "insufficient_scope" {
			t.Errorf("the stranger's key has no right to this route, which proves nothing: %s", foreign.Body)
		}
	}
	m.otherKinds(t, r, p)
	if r.Open {
		return
	}
	if m.harmless(r) && !p.namesObjects(r.Path) {
		m.silent(t, call(harness.BearerHeader(m.strangerKey(r))...))
	}
	for what, secret := range m.keys {
		if a := call("Authorization", "Bearer "+secret); a.Status != http.StatusUnauthorized {
			t.Errorf("a key that is %s: %d %s", what, a.Status, a.Body)
		}
	}
	if a := call("Authorization", ""); a.Status != http.StatusUnauthorized {
		t.Errorf("without a key: %d %s", a.Status, a.Body)
	}
	session := sessionCookies(m.signedIn, m.g)
	if a := call("Authorization", "", "Cookie", session); a.Status != http.StatusUnauthorized {
		t.Errorf("with the owner's session instead of a key: %d %s", a.Status, a.Body)
	}
	if r.Rights == "" {
		return
	}
	secret, ok := m.narrow[r.Rights]
	if !ok {
		t.Fatalf("no key lacks the rights %q", r.Rights)
	}
	a := call("Authorization", "Bearer "+secret)
	if a.Status != http.StatusForbidden || a.Header.Get("X-Error-Code") != "insufficient_scope" {
		t.Errorf("a key without the scope: %d %s", a.Status, a.Body)
	}
}

// same insists that the answer for a foreign object is the same as for none at all.
func (m *tenants) same(t *testing.T, foreign, absent harness.Response) {
	t.Helper()
	// A form about several objects redirects to its page.
	if (foreign.Status < 400 || foreign.Status >= 500) && foreign.Status != http.StatusSeeOther {
		t.Errorf("a foreign object: %d %s", foreign.Status, foreign.Body)
	}
	for _, a := range []*harness.Response{&foreign, &absent} {
		a.Body = m.neutral(a.Body + a.Header.Get("Location"))
	}
	if foreign.Status != absent.Status || foreign.Body != absent.Body {
		t.Errorf("a foreign object and none differ: %d and %d\n%s", foreign.Status, absent.Status, difference(foreign.Body, absent.Body))
	}
	if a, b := m.headersOf(foreign), m.headersOf(absent); a != b {
		t.Errorf("a foreign object and none have other headers:\n%s", firstDifferentLine(a, b))
	}
}

// quiet are forms about many objects: what is not the reader's is left out, and the answer is a page about nothing.
var quiet = []string{"POST /console/videos/delete", "POST /console/assets/delete"}

// harmless are routes that change nothing when a permitted person calls them: an export is noted in the audit log of its account.
func (m *tenants) harmless(r harness.Route) bool {
	return r.Method == http.MethodGet && !strings.HasSuffix(r.Path, "/export")
}

// silent insists that what a stranger may see contains nothing about the account.
func (m *tenants) silent(t *testing.T, a harness.Response) {
	t.Helper()
	for kind, id := range m.things {
		// Models are public, and a reader with a link to a prompt may see its id.
		if kind != "model" && kind != "shared" && strings.Contains(a.Body, id) {
			t.Errorf("a stranger's answer names the %s %s: %d", kind, id, a.Status)
		}
	}
}

// bellPattern is the link to the stranger's own notifications, and the line about models that are paused now. Both can change between two
// answers.
var bellPattern = regexp.MustCompile(`(?s)<a class="bell".*?</a>|<section class="status-strip".*?</section>`)

// neutral takes out of an answer what the request put in, the number of the stranger's own notifications, and the line about models.
func (m *tenants) neutral(body string) string {
	var ids []string
	for kind, id := range m.things {
		for _, one := range []string{id, m.absentID(kind)} {
			ids = append(ids, one, url.QueryEscape(one), url.PathEscape(one))
		}
	}
	// An id may be the beginning of another, so the longest come first.
	slices.SortFunc(ids, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(ids))
	for _, id := range ids {
		pairs = append(pairs, id, "ID")
	}
	body = bellPattern.ReplaceAllString(strings.NewReplacer(pairs...).Replace(body), "")
	return harness.RequestIDPattern.ReplaceAllString(body, "req")
}

func (m *tenants) probeConsole(t *testing.T, r harness.Route, p intrusion) {
	path, body := p.fill(t, r.Path, m.theirs)
	if r.Open {
		return
	}
	if a := m.as(t, m.visitor, r.Method, path, body); a.Status != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/console/sign-in") {
		t.Errorf("a visitor: %d %s", a.Status, a.Header.Get("Location"))
	}
	if a := m.as(t, m.visitor, r.Method, path, body, "Authorization", "Bearer "+m.owner.APIKey); a.Status != http.StatusSeeOther {
		t.Errorf("a key instead of a session: %d", a.Status)
	}
	if r.Operator {
		m.notThere(t, r.Method, path, body)
		return
	}
	if p.namesObjects(r.Path) {
		absentPath, absentBody := p.fill(t, r.Path, m.absentID)
		foreign, absent := m.as(t, m.foreign, r.Method, path, body), m.as(t, m.foreign, r.Method, absentPath, absentBody)
		if slices.Contains(quiet, r.Method+" "+r.Path) && foreign.Status == http.StatusOK {
			foreign.Status, absent.Status = http.StatusSeeOther, http.StatusSeeOther
		}
		m.same(t, foreign, absent)
	}
	m.otherKinds(t, r, p)
	if m.harmless(r) && !p.namesObjects(r.Path) {
		m.silent(t, m.as(t, m.foreign, r.Method, path, body))
	}
	for role, lacks := range lackingRoles {
		if !slices.Contains(lacks, r.Rights) {
			continue
		}
		if a := m.as(t, m.members[role], r.Method, path, body); a.Status != http.StatusForbidden {
			t.Errorf("a member who is %s: %d", role, a.Status)
		}
	}
}

// notThere insists that a page for operators is no page at all for owners, members and strangers: what they get is what an address
// gets that never was one.
func (m *tenants) notThere(t *testing.T, method, path, body string) {
	t.Helper()
	people := maps.Clone(m.members)
	people["owner"], people["stranger"] = m.signedIn, m.foreign
	for who, p := range people {
		nowhere := strings.Replace(path, "/console/", "/console/-", 1) // The page suggests others by the words of the address.
		a, none := m.as(t, p, method, path, body), m.as(t, p, method, nowhere, body)
		if got, want := m.pathless(a.Body, path), m.pathless(none.Body, nowhere); a.Status != http.StatusNotFound || got != want {
			t.Errorf("to a person who is %s: %d %s", who, a.Status, firstDifferentLine(got, want))
		}
	}
}

// pathless is a page without what it repeats of its own address.
func (m *tenants) pathless(page, path string) string {
	path, _, _ = strings.Cut(path, "?")
	return m.neutral(strings.ReplaceAll(page, path, "PATH"))
}

// as is a request of a person: a form where there is a body.
func (m *tenants) as(t *testing.T, p *harness.ConsoleClient, method, path, body string, headers ...string) harness.Response {
	t.Helper()
	m.cases.Add(1)
	if method != http.MethodPost {
		return p.Visit(t, path, nil, headers...)
	}
	form, err := url.ParseQuery(body)
	if err != nil {
		t.Fatal(err)
	}
	return p.Visit(t, path, form, headers...)
}

// sessionCookies are the session of a person, for a request that is not theirs.
func sessionCookies(p *harness.ConsoleClient, g *harness.Gateway) string {
	u, err := url.Parse(g.ConsoleURL)
	if err != nil {
		return ""
	}
	var all []string
	for _, c := range p.HTTP.Jar.Cookies(u) {
		all = append(all, c.Name+"="+c.Value)
	}
	return strings.Join(all, "; ")
}

// unsteady are columns that change without a request.
var unsteady = []string{"last_used_at", "previous_used_at", "last_used_ip", "last_seen_at", "due_at", "claimed_until", "viewed_at"}

// unsteadyTopups are those of top-ups: the gateway asks the payment service about an open one from time to time.
var unsteadyTopups = []string{"asked_at", "version"}

// state is everything the two accounts have, row by row, apart from when something was last used, and from the records of the refusals
// that the test causes.
func (m *tenants) state(t *testing.T) string {
	t.Helper()
	// After this no credit is leased.
	m.g.SettledBalance(t, m.owner.AccountID)
	m.g.SettledBalance(t, m.stranger.AccountID)
	db := m.g.DB(t)
	var tables []string
	err := db.Select(&tables, `select c.table_name from information_schema.columns c join pg_class k on k.relname = c.table_name
		where c.table_schema = 'public' and c.column_name = 'account_id' and k.relkind in ('r', 'p') and not k.relispartition
		and c.table_name not in ('leases', 'key_networks', 'refusals') order by 1`)
	if err != nil || len(tables) < 10 {
		t.Fatal(tables, err)
	}
	var all strings.Builder
	for _, table := range tables {
		all.WriteString(m.rows(t, db, table))
	}
	return all.String()
}

func (m *tenants) rows(t *testing.T, db *sqlx.DB, table string) string {
	t.Helper()
	var rows []string
	without := unsteady
	if table == "topups" {
		without = slices.Concat(unsteady, unsteadyTopups)
	}
	err := db.Select(&rows, fmt.Sprintf(`select (to_jsonb(r) - $3::text[])::text from %s r where account_id in ($1, $2) order by 1`, table),
		m.owner.AccountID, m.stranger.AccountID, "{"+strings.Join(without, ",")+"}")
	if err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	return table + "\n" + strings.Join(rows, "\n") + "\n"
}

// difference is where two texts part, with what stands around it.
func difference(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	around := func(s string) string { return s[max(at-80, 0):min(at+120, len(s))] }
	return around(a) + "\n" + around(b)
}

func firstDifferentLine(a, b string) string {
	before, after := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			return before[i] + "\n" + after[i]
		}
	}
	return fmt.Sprintf("%d and %d lines", len(before), len(after))
}
