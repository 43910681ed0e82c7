package console

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
	"umg/e2e/harness"
)

// auditedAction is one action on an account, by the API and by a form of the console. {kind} is replaced by the id of the object
// of that kind that was made last, {source} for a sample that an asset may be made of, and {receiver} for where webhooks may go.
type auditedAction struct {
	// action is the name of the action in the log.
	action string
	// on is the kind of its object; empty for the account itself.
	on string
	// call is the method and the path of the API call.
	call string
	body string
	// page is the path of the form below /console. It is a page without a form when it begins with GET.
	page string
	form string
}

// auditedActions run in this order, because later actions use the objects that earlier ones make.
var auditedActions = []auditedAction{
	{"key.created", "key", "POST /v1/keys", `{"name":"audited"}`, "/keys", "name=audited&mode=documented"},
	{"key.updated", "key", "POST /v1/keys/{key}", `{"name":"audited again"}`, "/keys/{key}", "name=audited again&mode=documented&kind=standard&scopes=models:read"},
	{"key.updated", "key", "POST /v1/keys/{key}", `{"budget":{"limit":"5","period":"month"}}`,
		"/keys/{key}", "name=audited again&mode=documented&kind=standard&scopes=models:read&budget=5&budget_period=month"},
	{"key.disabled", "key", "POST /v1/keys/{key}/disable", `{}`, "/keys/{key}/disable", ""},
	{"key.enabled", "key", "POST /v1/keys/{key}/enable", `{}`, "/keys/{key}/enable", ""},
	{"key.rotated", "key", "POST /v1/keys/{key}/rotate", `{"overlap_seconds":3600}`, "/keys/{key}/rotate", "overlap=3600"},
	{"key.deleted", "key", "DELETE /v1/keys/{key}", ``, "/keys/{key}/delete", ""},

	{"webhook.created", "hook", "POST /v1/webhook_endpoints", `{"name":"audited","url":"{receiver}","event_types":["video.completed"]}`,
		"/webhooks", "name=audited&url={receiver}&events=video.completed"},
	{"webhook.updated", "hook", "POST /v1/webhook_endpoints/{hook}", `{"name":"renamed"}`,
		"/webhooks/{hook}/edit", "name=renamed&url={receiver}&events=video.completed"},
	{"webhook.disabled", "hook", "POST /v1/webhook_endpoints/{hook}", `{"status":"disabled"}`, "/webhooks/{hook}/disable", ""},
	{"webhook.enabled", "hook", "POST /v1/webhook_endpoints/{hook}", `{"status":"enabled"}`, "/webhooks/{hook}/enable", ""},
	{"webhook.rotated", "hook", "POST /v1/webhook_endpoints/{hook}/rotate_secret", `{}`, "/webhooks/{hook}/rotate", "old=replace"},
	{"webhook.deleted", "hook", "DELETE /v1/webhook_endpoints/{hook}", ``, "/webhooks/{hook}/delete", ""},

	{"asset.created", "asset", "POST /v1/files/vendorx/assets", `{"asset_type":"image","url":"{source}","name":"audited"}`,
		"/assets", "type=image&url={source}&name=audited"},
	{"asset.deleted", "asset", "POST /v1/files/vendorx/assets/delete", `{"asset_id":"{asset}"}`, "/assets/{asset}/delete", ""},

	{"member.invited", "invitation", "POST /v1/invitations", `{"email":"{stranger}","role":"developer"}`,
		"/settings/members/invitations", "email={stranger}&role=developer"},
	{"member.invited", "invitation", "POST /v1/invitations/{invitation}/resend", `{}`, "/settings/members/invitations/{invitation}/resend", ""},
	{"invitation.revoked", "invitation", "DELETE /v1/invitations/{invitation}", ``, "/settings/members/invitations/{invitation}/revoke", ""},
	{"member.role_changed", "member", "POST /v1/members/{member}", `{"role":"billing"}`, "/settings/members/{member}/role", "role=billing"},
	{"member.removed", "member", "DELETE /v1/members/{member}", ``, "/settings/members/{member}/remove", ""},
	{"account.renamed", "", "POST /v1/account", `{"name":"Audited Engines"}`, "/settings/account", "name=Audited Engines"},
	{"account.content_changed", "", "POST /v1/content", `{"keep":"asked","days":7}`, "/settings/account/content", "keep=asked&days=7"},
	{"account.content_deleted", "", "DELETE /v1/content", ``, "/settings/account/content/delete", ""},
	{"account.exported", "", "GET /v1/account/export", ``, "GET /settings/account/export", ""},

	{"billing.topup_started", "topup", "POST /v1/top_ups", `{"amount":"25"}`, "/billing/topups", "amount=25"},
	{"billing.auto_topup_changed", "", "POST /v1/auto_top_up", `{"enabled":true,"threshold":"1","amount":"10","monthly_cap":"50"}`,
		"/billing/auto", "enabled=true&threshold=1&amount=10&cap=50"},
	{"billing.low_balance_changed", "", "POST /v1/low_balance_alert", `{"threshold":"3"}`, "/billing/low", "threshold=3"},
	{"billing.spend_limit_changed", "", "POST /v1/spend_limit", `{"limit":"900","period":"month"}`, "/billing/limit", "limit=900&period=month"},
	{"billing.portal_opened", "", "POST /v1/billing_portal", `{}`, "/billing/portal", ""},
}

// undone are the logged actions that cannot be done both by the API and by a form, with the reason for each.
var undone = map[string]string{
	"key.leaked":               "the gateway does it when a secret is reported",
	"account.settings_changed": "the operator does it with a command",
	"account.frozen":           "a dispute or a command does it",
	"account.unfrozen":         "a dispute that is won or a command does it",
	"billing.refunded":         "a command does it",
	"billing.credit_granted":   "a command does it",
	"billing.credit_taken":     "a command does it",
	"user.made_operator":       "a command does it",
	"user.reset_link_made":     "operators do it",
	"job.retried":              "operators do it",
	"user.renamed":             "people do it to themselves, which no key can",
	"user.password_changed":    "people do it to themselves, which no key can",
	"user.email_changed":       "people do it to themselves, which no key can",
	"user.totp_enabled":        "people do it to themselves, which no key can",
	"user.totp_disabled":       "people do it to themselves, which no key can",
	"user.codes_renewed":       "people do it to themselves, which no key can",
	"user.code_used":           "people do it to themselves, which no key can",
	"user.sessions_ended":      "people do it to themselves, which no key can",
	"member.joined":            "only the invited person does it, in the console",
	"member.left":              "only the member does it, in the console",
	"invitation.declined":      "only the invited person does it, in the console",
	"account.deleted":          "only an owner does it, in the console, with a password",
	"account.limits_requested": "people ask for it in the console, which no key can",
	"account.limits_answered":  "the operator does it, in the console",
	"billing.promo_redeemed":   "people redeem codes in the console, which no key can enter",
	"content.deleted":          "people delete what they see, in the console, which no key can enter",
	"content.run_deleted":      "people delete what they see, in the console, which no key can enter",
	"prompt.created":           "prompts are of the console, which no key can enter",
	"prompt.deleted":           "prompts are of the console, which no key can enter",
	"prompt.shared":            "prompts are of the console, which no key can enter",
	"prompt.share_revoked":     "prompts are of the console, which no key can enter",
}

var actionPattern = regexp.MustCompile(`(?m)^\t\{"([a-z]+\.[a-z_]+)", "`)

// TestAuditLogHasEveryActionOfTheAPIAndTheConsole does every action on an account, by the API and by the forms of the console. The log
// must have an entry for each with its actor, its object and its origin. An action that the product can log and that
// the test does not do needs a reason in undone.
func TestAuditLogHasEveryActionOfTheAPIAndTheConsole(t *testing.T) {
	t.Parallel()
	g := harness.SharedVideoDemo(t)
	t.Run("api", func(t *testing.T) {
		t.Parallel()
		a := newAuditor(t, g, "audited-api")
		for _, d := range auditedActions {
			a.did(t, d, a.byAPI(t, d))
		}
		a.bounded(t)
	})
	t.Run("console", func(t *testing.T) {
		t.Parallel()
		a := newAuditor(t, g, "audited-console")
		for _, d := range auditedActions {
			a.did(t, d, a.byForm(t, d))
		}
	})
	source, err := os.ReadFile("../../app/audit/actions.go")
	if err != nil {
		t.Fatal(err)
	}
	known := actionPattern.FindAllStringSubmatch(string(source), -1)
	if len(known) < 30 {
		t.Fatalf("only %d actions are known", len(known))
	}
	for _, k := range known {
		done := slices.ContainsFunc(auditedActions, func(d auditedAction) bool { return d.action == k[1] })
		if why := undone[k[1]]; done == (why != "") {
			t.Errorf("%s: done by the test: %v; reason for leaving it out: %q", k[1], done, why)
		}
	}
}

// auditor is an account on which the test does every action, and the person who does them.
type auditor struct {
	harness.Customer
	p *harness.ConsoleClient
	// manager is the secret of a key with the management scope.
	manager string
	db      *sqlx.DB
	ids     map[string]string
	seen    map[string]bool
	// places has the values for placeholders of a form or a body that are not ids.
	places map[string]string
}

// trace is the entry that an action must leave in the log.
type trace struct{ kind, actor, name, agent, request string }

const (
	auditProgram = "audit-program/1"
	auditBrowser = "Mozilla/5.0 (X11; Linux x86_64) audit-browser/1"
)

func newAuditor(t *testing.T, g *harness.Gateway, name string) *auditor {
	t.Helper()
	c := g.NewCustomer(t, name)
	a := &auditor{Customer: c, p: c.SignInToConsole(t), db: c.DB(t), ids: map[string]string{}, seen: map[string]bool{}}
	a.places = map[string]string{
		"{source}": c.SampleURL("picture.png"), "{receiver}": harness.NewWebhookReceiver(t).URL, "{stranger}": "stranger-to-" + c.Email,
	}
	a.manager = a.p.CreateManagementKey(t)
	guest := g.NewCustomer(t, "guest-of-"+name)
	a.db.MustExec(`insert into memberships (account_id, user_id, role, created_at) select $1, id, 'developer', now() from users where email = $2`,
		c.AccountID, guest.Email)
	a.ids["member"] = a.one(t, `select id from users where email = $1`, guest.Email)
	return a
}

func (a *auditor) one(t *testing.T, query string, args ...any) (id string) {
	t.Helper()
	if err := a.db.Get(&id, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return id
}

// fill puts ids and places into a path, a body or a form.
func (a *auditor) fill(text string) string {
	for kind, id := range a.ids {
		text = strings.ReplaceAll(text, "/{"+kind+"}", "/"+id)
		text = strings.ReplaceAll(text, `"{`+kind+`}"`, `"`+id+`"`)
	}
	for name, place := range a.places {
		text = strings.ReplaceAll(text, name, place)
	}
	return text
}

func (a *auditor) byAPI(t *testing.T, d auditedAction) trace {
	t.Helper()
	secret, key := a.manager, "manager"
	if d.on == "hook" || d.on == "asset" {
		secret, key = a.APIKey, a.one(t, `select name from api_keys where account_id = $1 and name <> 'manager' order by created_at limit 1`, a.AccountID)
	}
	method, path, _ := strings.Cut(a.fill(d.call), " ")
	got := a.Call(t, method, path, a.fill(d.body), "Authorization", "Bearer "+secret, "User-Agent", auditProgram)
	if got.Status/100 != 2 {
		t.Fatalf("%s by API: %d %s", d.action, got.Status, got.Body)
	}
	return trace{
		kind: "key", name: key, agent: auditProgram, request: got.Header.Get("X-Request-Id"),
		actor: a.one(t, `select id from api_keys where account_id = $1 and name = $2`, a.AccountID, key),
	}
}

func (a *auditor) byForm(t *testing.T, d auditedAction) trace {
	t.Helper()
	form, err := url.ParseQuery(a.fill(d.form))
	if err != nil {
		t.Fatal(err)
	}
	path, headers := "/console"+a.fill(d.page), []string{"User-Agent", auditBrowser}
	if page, reads := strings.CutPrefix(d.page, "GET "); reads {
		path, form = "/console"+page, nil
	}
	got := a.p.Visit(t, path, form, headers...)
	if got.Status/100 > 3 {
		t.Fatalf("%s by form: %d %s", d.action, got.Status, got.Body)
	}
	return trace{
		kind: "user", actor: a.one(t, `select id from users where email = $1`, a.Email), name: a.Email, agent: auditBrowser,
		request: got.Header.Get("X-Request-Id"),
	}
}

// newest are where the id of what was made last is found.
var newest = map[string]string{
	"key":        `select id from api_keys where account_id = $1 order by created_at desc limit 1`,
	"hook":       `select id from webhook_endpoints where account_id = $1 order by created_at desc limit 1`,
	"asset":      `select id from assets where account_id = $1 order by created_at desc limit 1`,
	"topup":      `select id from topups where account_id = $1 order by created_at desc limit 1`,
	"invitation": `select id from invitations where account_id = $1 order by created_at desc limit 1`,
}

// auditEntry is an entry of the log as the API returns it.
type auditEntry struct {
	ID     string
	Action string
	Text   string
	Actor  struct{ Type, ID, Name string }
	Target *string `json:"target_id"`
	IP     string
	Agent  string `json:"user_agent"`
	Call   string `json:"request_id"`
}

// did insists that the log has exactly one new entry about the action, in the API as well as on the page.
func (a *auditor) did(t *testing.T, d auditedAction, want trace) {
	t.Helper()
	if query := newest[d.on]; query != "" && a.ids[d.on] == "" {
		a.ids[d.on] = a.one(t, query, a.AccountID)
	}
	list := harness.DecodeJSON[struct{ Data []auditEntry }](t, a.Call(t, http.MethodGet, "/v1/audit_log?limit=5&action="+d.action, "", harness.BearerHeader(a.manager)...).Body)
	fresh := slices.DeleteFunc(list.Data, func(e auditEntry) bool { return a.seen[e.ID] || e.Action != d.action || e.Agent != want.agent })
	if len(fresh) != 1 {
		t.Errorf("%s left %d entries: %+v", d.action, len(fresh), list.Data)
		return
	}
	e := fresh[0]
	a.seen[e.ID] = true
	object := ""
	if e.Target != nil {
		object = *e.Target
	}
	if object != a.ids[d.on] {
		t.Errorf("%s is about %q, not %q", d.action, object, a.ids[d.on])
	}
	if e.Actor.Type != want.kind || e.Actor.ID != want.actor || e.Actor.Name != want.name {
		t.Errorf("%s was done by %+v, not by %+v", d.action, e.Actor, want)
	}
	if e.IP != "127.0.0.1" || e.Call == "" || e.Call != want.request {
		t.Errorf("%s came from %q with request %q, not %q", d.action, e.IP, e.Call, want.request)
	}
	a.shown(t, d, e)
	if d.action == "billing.topup_started" {
		session := a.one(t, `select session_id from topups where id = $1`, a.ids["topup"])
		a.Payments(t).Call(t, "POST", "/_control/sessions/"+session+"/pay?with=card", "")
		harness.WaitUntil(t, "it is paid", func() bool { return topUps(t, a.Customer, a.db) == 1 })
	}
}

// shown insists that the page has the entry.
func (a *auditor) shown(t *testing.T, d auditedAction, e auditEntry) {
	t.Helper()
	query := url.Values{"kind": {d.action}, "actor": {e.Actor.ID}}
	if e.Target != nil {
		query.Set("object", *e.Target)
	}
	page := a.p.Visit(t, "/console/settings/audit?"+query.Encode(), nil)
	_, row, found := strings.Cut(page.Body, `data-testid="audit-entry"`)
	row, _, _ = strings.Cut(row, "</tr>")
	row = html.UnescapeString(row)
	if page.Status != http.StatusOK || !found {
		t.Errorf("the page does not show %s: %d", d.action, page.Status)
		return
	}
	for _, text := range []string{e.Text, e.Actor.Name, e.IP, e.Agent} {
		if !strings.Contains(row, text) {
			t.Errorf("the page's line of %s lacks %q: %s", d.action, text, row)
		}
	}
	if e.Target != nil && !strings.Contains(row, *e.Target) {
		t.Errorf("the page's line of %s does not name %s", d.action, *e.Target)
	}
}

// bounded insists that the log holds no secret, and that no other account sees any of it.
func (a *auditor) bounded(t *testing.T) {
	t.Helper()
	all := a.Call(t, http.MethodGet, "/v1/audit_log?limit=100", "", harness.BearerHeader(a.manager)...)
	if harness.SecretPattern.MatchString(all.Body) || strings.Contains(all.Body, "whsec_") {
		t.Error("the log tells a secret")
	}
	if !json.Valid([]byte(all.Body)) || all.Status != http.StatusOK {
		t.Errorf("the log: %d", all.Status)
	}
	if b := a.Call(t, http.MethodGet, "/v1/audit_log", "", harness.BearerHeader(a.APIKey)...); b.Status != http.StatusForbidden {
		t.Errorf("a standard key reads the log: %d", b.Status)
	}
}
