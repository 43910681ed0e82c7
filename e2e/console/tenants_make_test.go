package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// newTenants makes the account, its objects, its neighbours and the keys that are worth nothing.
func newTenants(t *testing.T, g *harness.Gateway) *tenants {
	t.Helper()
	owner := harness.NewVideoCustomer(t, g, "owner")
	m := &tenants{
		g: g, owner: owner, routes: harness.Routes(t), stranger: g.NewCustomer(t, "stranger"), visitor: harness.NewConsoleClient(t, g),
		keys: map[string]string{}, narrow: map[string]string{}, members: map[string]*harness.ConsoleClient{},
	}
	m.signedIn, m.foreign = owner.SignInToConsole(t), m.stranger.SignInToConsole(t)
	m.stranger.SetLimits(t, 1000)
	m.things = map[string]string{"model": harness.CheapModel, "account": owner.AccountID}
	m.makeThings(t)
	m.makePrompt(t)
	m.things["share"] = m.newestShare(t)
	m.makeUpstreamIDs(t)
	m.makeView(t)
	m.makeRun(t)
	m.revokeShare(t)
	m.makeKeys(t)
	for role := range lackingRoles {
		m.members[role] = m.member(t, role)
	}
	return m
}

// makeRun keeps a run of the playground. Only accounts that keep content get one, and no later call of the test has its content kept.
func (m *tenants) makeRun(t *testing.T) {
	t.Helper()
	keep := func(which string) {
		t.Helper()
		form := url.Values{"keep": {which}, "days": {"30"}}
		if a := m.signedIn.Visit(t, "/console/settings/account/content", form); a.Status != http.StatusSeeOther {
			t.Fatalf("keep content: %d %s", a.Status, a.Body)
		}
	}
	keep("all")
	m.things["run"] = "run_" + strings.Repeat("7", 26)
	ask := url.Values{"model": {harness.CheapModel}, "style": {"chat"}, "prompt": {"echo: kept"}, "run": {m.things["run"]}}
	if a := m.signedIn.Visit(t, "/console/playground", ask); a.Status != http.StatusOK {
		t.Fatalf("ask: %d %s", a.Status, a.Body)
	}
	keep("never")
	if a := m.signedIn.Visit(t, "/console/playground/runs/"+m.things["run"], nil); a.Status != http.StatusOK {
		t.Fatalf("the run: %d %s", a.Status, a.Body)
	}
}

// makeThings gives the account something of everything that has an id.
func (m *tenants) makeThings(t *testing.T) {
	t.Helper()
	r := harness.NewWebhookReceiver(t)
	hook := m.owner.AddWebhook(t, r)
	film := m.owner.CompleteVideo(t, harness.VideoBody("meridian/reel", "a lighthouse"))
	m.things["endpoint"], m.things["video"] = hook.ID, harness.TextMember(film, "id")
	r.WaitForEvent(t, "video.completed", m.things["video"])
	call := m.owner.Call(t, http.MethodPost, "/v1/chat/completions", chatBody)
	m.things["request"] = call.Header.Get("X-Request-Id")
	m.owner.UsageRecord(t, m.things["request"])
	m.things["topup"] = m.owner.StartTopUp(t, m.signedIn, "25").ID
	m.things["asset"] = m.owner.PermanentAsset(t)
	invited := url.Values{"email": {fmt.Sprintf("guest-%d@example.com", time.Now().UnixNano())}, "role": {"developer"}}
	if a := m.signedIn.Visit(t, "/console/settings/members/invitations", invited); a.Status != http.StatusSeeOther {
		t.Fatalf("invite: %d %s", a.Status, a.Body)
	}
	db := m.g.DB(t)
	for kind, query := range map[string]string{
		"delivery":   `select d.id from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id where e.account_id = $1 limit 1`,
		"key":        `select id from api_keys where account_id = $1 limit 1`,
		"member":     `select user_id from memberships where account_id = $1 limit 1`,
		"session":    `select s.id from sessions s join memberships m on m.user_id = s.user_id where m.account_id = $1 limit 1`,
		"invitation": `select id from invitations where account_id = $1 limit 1`,
		"mail":       `select x.id from mails x join users u on u.email = x.recipient join memberships m on m.user_id = u.id where m.account_id = $1 limit 1`,
	} {
		var id string
		if err := db.Get(&id, query, m.owner.AccountID); err != nil {
			t.Fatalf("the account has no %s: %v", kind, err)
		}
		m.things[kind] = id
	}
}

// newestShare is the link to a prompt that was made last.
func (m *tenants) newestShare(t *testing.T) (id string) {
	t.Helper()
	if err := m.g.DB(t).Get(&id, `select id from prompt_shares where account_id = $1 order by id desc limit 1`, m.owner.AccountID); err != nil {
		t.Fatal(err)
	}
	return id
}

// makeKeys makes keys that are worth nothing, and for each right one that lacks it. The database tells the gateway of each
// change, which a key that has changed shows by being refused.
func (m *tenants) makeKeys(t *testing.T) {
	t.Helper()
	db := m.g.DB(t)
	change := func(name, set string, args ...any) string {
		secret := m.signedIn.CreateKey(t, name)
		db.MustExec(`update api_keys set `+set+` where account_id = $1 and name = $2`, append([]any{m.owner.AccountID, name}, args...)...)
		return secret
	}
	m.ownerManages = change("manages", "scopes = string_to_array($3, ',')", "management")
	m.strangerManages = m.foreign.CreateKey(t, "manages")
	db.MustExec(`update api_keys set scopes = string_to_array($2, ',') where account_id = $1 and name = 'manages'`, m.stranger.AccountID,
		"management")
	m.keys["expired"] = change("expired", "expires_at = now() - interval '1 hour'")
	m.keys["disabled"] = change("disabled", "disabled_at = now()")
	m.keys["deleted"] = change("deleted", "deleted_at = now()")
	for rights, scopes := range lackingScopes {
		m.narrow[rights] = change("lacks "+rights, "scopes = string_to_array($3, ',')", scopes)
	}
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(10 * time.Millisecond) {
		late := ""
		for what, secret := range m.keys {
			if a := m.g.Call(t, http.MethodGet, "/v1/key", "", harness.BearerHeader(secret)...); a.Status != http.StatusUnauthorized {
				late = what
			}
		}
		if late == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a key that is %s is still good", late)
		}
	}
}

// member is a person with a restricted role in the account, who works in it.
func (m *tenants) member(t *testing.T, role string) *harness.ConsoleClient {
	t.Helper()
	c, p := m.g.SignUp(t, role)
	db := m.g.DB(t)
	db.MustExec(`insert into memberships (account_id, user_id, role, created_at)
		select $1, id, $3, now() from users where email = $2`, m.owner.AccountID, c.Email, role)
	a := p.Visit(t, "/console/account/switch", url.Values{"account": {m.owner.AccountID}})
	if a.Status != http.StatusSeeOther {
		t.Fatalf("change to the other account: %d %s", a.Status, a.Body)
	}
	return p
}
