package console_test

import (
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/console"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
)

var auditRow = regexp.MustCompile(`data-testid="audit-entry"`)

// archive is a console over a real audit log.
type archive struct {
	*fixture
	log *audit.Log
}

func withAudit(t *testing.T) *archive {
	t.Helper()
	db := pgtest.New(t)
	a := &archive{log: audit.New(db, time.Now, app.IDs{Now: time.Now, Random: rand.Reader})}
	a.fixture = newFixture(t, db, db, nil, func(c *console.Options) { c.Audit = a.log })
	return a
}

// who returns the user with the address as a principal.
func (a *archive) who(email string) app.Principal {
	a.t.Helper()
	p := app.Principal{From: app.Origin{IP: "198.51.100.3", Agent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"}}
	err := a.db.QueryRowxContext(a.t.Context(), `
		select m.account_id, u.id from users u join memberships m on m.user_id = u.id where u.email = $1`, email).Scan(&p.AccountID, &p.UserID)
	if err != nil {
		a.t.Fatal(err)
	}
	return p
}

func (a *archive) write(p app.Principal, events ...audit.Event) {
	a.t.Helper()
	for _, e := range events {
		err := postgres.InTx(a.t.Context(), a.db, func(tx *sqlx.Tx) error { return a.log.Write(a.t.Context(), tx, p, e) })
		if err != nil {
			a.t.Fatal(err)
		}
	}
}

func rows(a reply) int { return len(auditRow.FindAllString(a.body, -1)) }

func TestTheAuditPageTellsWhoDidWhat(t *testing.T) {
	t.Parallel()
	a := withAudit(t)
	p := a.signedIn("ann@example.com")
	if page := p.see("/console/settings/audit"); page.status != http.StatusOK || rows(page) != 0 || !strings.Contains(page.body, "Nothing was changed yet") {
		t.Errorf("%d, %d rows", page.status, rows(page))
	}
	ann := a.who("ann@example.com")
	key, hook, gone := "key_01kb4a6zt4h2s8j5y7r3w9mvaq", "whe_01kb4a6zt4h2s8j5y7r3w9mvaq", "whe_01kb4a6zt4h2s8j5y7r3w9mvbq"
	a.write(ann,
		audit.Event{Action: "key.updated", Object: key, Name: "<b>Night</b>", Changes: []audit.Change{{Field: "expires_at", From: "", To: "<i>soon</i>"}}},
		audit.Event{Action: "webhook.created", Object: hook, Name: "Render"},
		audit.Event{Action: "webhook.created", Object: gone, Name: "Old"}, audit.Event{Action: "webhook.deleted", Object: gone, Name: "Old"})
	a.write(app.Principal{AccountID: ann.AccountID, From: app.Origin{Agent: "gateway credit grant"}},
		audit.Event{Action: "billing.credit_granted", Operator: true})
	page := p.see("/console/settings/audit")
	for _, want := range []string{
		"changed the key", `href="/console/keys/` + key + `"`, "&lt;b&gt;Night&lt;/b&gt;", "&lt;i&gt;soon&lt;/i&gt;", "expires at", "198.51.100.3",
		"Firefox on Linux", "ann@example.com", "created the webhook endpoint", `href="/console/webhooks/` + hook + `"`, "deleted the webhook endpoint",
		"The operator of this server", "gateway credit grant", `<option value="key.">API keys</option>`,
		`<option value="` + ann.UserID + `">ann@example.com</option>`,
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if rows(page) != 5 || strings.Contains(page.body, `href="/console/webhooks/`+gone) || strings.Contains(page.body, "<b>Night") {
		t.Errorf("%d rows, or a link to what is gone, or markup", rows(page))
	}
	for query, want := range map[string]int{
		"kind=webhook.": 3, "kind=key.updated": 1, "actor=" + ann.UserID: 4, "actor=unknown": 0, "object=" + gone: 2, "to=2020-01-01": 0, "from=2020-01-01": 5,
		"from=2026-02-31": 5, "object=%00": 5, "object=%ff": 5, "after=zzz": 5, "from=2026-02-02&to=2026-01-01": 0,
		"object=" + url.QueryEscape("' or 1=1 --"): 0,
	} {
		if page := p.see("/console/settings/audit?" + query); page.status != http.StatusOK || rows(page) != want {
			t.Errorf("%s: %d, %d rows, want %d", query, page.status, rows(page), want)
		}
	}
}

func TestTheAuditPageTurnsBothWays(t *testing.T) {
	t.Parallel()
	a := withAudit(t)
	p := a.signedIn("ann@example.com")
	ann := a.who("ann@example.com")
	for i := range 120 {
		a.write(ann, audit.Event{Action: "key.created", Object: fmt.Sprintf("object-%03d", i)})
	}
	link := func(page reply, word string) string {
		t.Helper()
		for _, m := range regexp.MustCompile(`(?s)<a class="btn"[^>]*href="(/console/settings/audit\?[^"]*)"[^>]*>(.*?)</a>`).FindAllStringSubmatch(page.body, -1) {
			if strings.Contains(m[2], word) {
				return html.UnescapeString(m[1])
			}
		}
		return ""
	}
	objects := regexp.MustCompile(`object-\d{3}`)
	seen, at := map[string]int{}, "/console/settings/audit?kind=key."
	var middle, last reply
	for range 3 {
		middle, last = last, p.see(at)
		for _, id := range objects.FindAllString(last.body, -1) {
			seen[id]++
		}
		a.write(ann, audit.Event{Action: "key.created", Object: "new"}) // The entry is written between two pages.
		at = link(last, "Older")
	}
	if len(seen) != 120 || at != "" || rows(last) != 20 {
		t.Fatalf("%d objects, then %q, %d rows on the last page", len(seen), at, rows(last))
	}
	back := p.see(link(last, "Newer"))
	if !slices.Equal(objects.FindAllString(back.body, -1), objects.FindAllString(middle.body, -1)) || rows(back) != 50 || link(back, "Older") == "" {
		t.Errorf("back again: %d rows", rows(back))
	}
	if first := p.see(link(back, "Newer")); rows(first) != 50 || link(first, "Newer") == "" && !strings.Contains(first.body, "new") {
		t.Errorf("the first page: %d rows", rows(first))
	}
}

func TestTheAuditLogIsExportedWithoutFormulas(t *testing.T) {
	t.Parallel()
	a := withAudit(t)
	p := a.signedIn("ann@example.com")
	ann := a.who("ann@example.com")
	ann.From.Agent = "@SUM(A1)"
	for range 130 {
		a.write(ann, audit.Event{Action: "webhook.created", Object: "w"})
	}
	a.write(ann, audit.Event{Action: "key.updated", Object: "k", Name: "=1+1", Changes: []audit.Change{
		{Field: "name", From: "+cmd", To: "-2"}, {Field: "note", From: "\"quoted\", and\na line", To: "\t=x"},
	}})
	r := p.see("/console/settings/audit.csv")
	lines, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
	if err != nil || len(lines) != 133 || !strings.HasPrefix(r.header.Get("Content-Disposition"), `attachment; filename="audit-log-`) ||
		!strings.HasPrefix(r.header.Get("Content-Type"), "text/csv") {
		t.Fatalf("%v, %d lines, %v", err, len(lines), r.header)
	}
	// Entries of one millisecond have no order, so it need not be the first.
	first := slices.IndexFunc(lines, func(line []string) bool { return line[5] == "key.updated" })
	if first < 1 || first+1 >= len(lines) {
		t.Fatalf("the changed key is in line %d of %d", first, len(lines))
	}
	got := lines[first]
	if strings.Join(got[2:15], "|") != "user|"+ann.UserID+"|ann@example.com|key.updated|changed the key|k|'=1+1|name|'+cmd|'-2|198.51.100.3|'@SUM(A1)|" {
		t.Errorf("%q", got)
	}
	if next := lines[first+1]; next[9] != "note" || next[10] != "\"quoted\", and\na line" || next[11] != "'\t=x" {
		t.Errorf("%q", next)
	}
	r = p.see("/console/settings/audit.csv?kind=key.&after=zzz")
	if lines, err = csv.NewReader(strings.NewReader(r.body)).ReadAll(); err != nil || len(lines) != 3 {
		t.Errorf("narrowed: %v, %d lines", err, len(lines))
	}
}

func TestTheAuditLogIsForOwnersAndAdminsOfTheAccount(t *testing.T) {
	t.Parallel()
	a := withAudit(t)
	p, other := a.signedIn("ann@example.com"), a.signedIn("bob@example.com")
	a.write(a.who("ann@example.com"), audit.Event{Action: "key.created", Object: "key_of_ann"})
	for _, path := range []string{"/console/settings/audit", "/console/settings/audit.csv"} {
		for _, query := range []string{"", "?object=key_of_ann", "?actor=" + a.who("ann@example.com").UserID} {
			if r := other.see(path + query); r.status != http.StatusOK || strings.Contains(r.body, "key.created") || rows(r) != 0 {
				t.Errorf("%s%s: %d %s", path, query, r.status, r.body)
			}
		}
		for role, want := range map[string]int{"owner": 200, "admin": 200, "developer": 403, "billing": 403} {
			a.db.MustExec(`update memberships set role = $1 where account_id = $2`, role, a.who("ann@example.com").AccountID)
			if r := p.see(path); r.status != want {
				t.Errorf("%s as %s: %d", path, role, r.status)
			}
		}
	}
}

func TestTheAuditPageSaysThatTheStoreIsAway(t *testing.T) {
	t.Parallel()
	a := withAudit(t)
	p := a.signedIn("ann@example.com")
	tx, err := a.db.BeginTxx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), `lock table audit_entries in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	r := p.see("/console/settings/audit")
	if r.status != http.StatusOK || !strings.Contains(r.body, "The audit log cannot be read right now") || strings.Contains(r.body, "Nothing was changed yet") {
		t.Errorf("%d %v", r.status, alerts(r.body))
	}
	if r := p.see("/console/settings/audit.csv"); r.status != http.StatusServiceUnavailable {
		t.Errorf("the export: %d", r.status)
	}
}
