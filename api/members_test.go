package api_test

import (
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/apptest"
	"umg/billing"
)

// crew is an account with members, managed by API.
type crew struct {
	*house
	auth, foreign []string // Foreign has the headers of another account's management key.
	dev           string   // Dev is the id of a member with the role developer.
}

func manned(t *testing.T) *crew {
	t.Helper()
	h := setup(t, func(p *plan) {
		ids, log := app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler)
		p.api.Accounts = account.New(p.db, billing.NewLedger(p.db, billing.Options{Now: time.Now, IDs: ids, Log: log}), account.Options{
			PasswordMemoryKiB: apptest.PasswordMemoryKiB,
			Now:               time.Now, IDs: ids, Random: rand.Reader, Log: log, BaseURL: "https://gateway.example",
		})
	})
	c := &crew{house: h, auth: h.managing(), foreign: h.stranger()}
	dev, err := h.accounts.SignUp(t.Context(), account.SignUp{Email: "dev@example.com", Password: "a long enough passphrase", IP: "192.0.2.3"})
	must(t, err)
	c.dev = dev.ID
	h.db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, 'developer', now())`, h.owner.AccountID, dev.ID)
	return c
}

func (c *crew) do(method, path, body string) reply { return c.call(method, path, body, c.auth...) }

type memberBody struct {
	ID, Object, Email, Role string
	JoinedAt                int64 `json:"joined_at"`
	TwoFactor               *bool `json:"two_factor"`
}

type invitationBody struct {
	ID, Object, Email, Role, Link string
	InvitedBy                     *string `json:"invited_by"`
	ExpiresAt                     int64   `json:"expires_at"`
}

type peopleList[T any] struct {
	Object  string
	Data    []T
	HasMore bool    `json:"has_more"`
	LastID  *string `json:"last_id"`
}

func TestMembersAreManagedByAPI(t *testing.T) {
	t.Parallel()
	c := manned(t)
	page := decode[peopleList[memberBody]](t, c.do(http.MethodGet, "/v1/members?limit=1", ""), http.StatusOK)
	if page.Object != "list" || len(page.Data) != 1 || page.Data[0].ID != c.owner.ID || page.Data[0].Role != "owner" || !page.HasMore ||
		page.Data[0].Object != "account_member" || page.Data[0].TwoFactor == nil {
		t.Fatalf("%+v", page)
	}
	page = decode[peopleList[memberBody]](t, c.do(http.MethodGet, "/v1/members?after="+*page.LastID, ""), http.StatusOK)
	if len(page.Data) != 1 || page.Data[0].ID != c.dev || page.HasMore {
		t.Fatalf("%+v", page)
	}
	m := decode[memberBody](t, c.do(http.MethodPost, "/v1/members/"+c.dev, `{"role":"billing"}`), http.StatusOK)
	if m.Role != "billing" || m.Email != "dev@example.com" || m.JoinedAt == 0 {
		t.Errorf("%+v", m)
	}
	for _, one := range []struct {
		method, path, body string
		status             int
		code, param        string
	}{
		{http.MethodPost, "/v1/members/" + c.dev, `{"role":"owner"}`, 403, "owner_required", ""},
		{http.MethodPost, "/v1/members/" + c.owner.ID, `{"role":"billing"}`, 403, "owner_required", ""},
		{http.MethodDelete, "/v1/members/" + c.owner.ID, ``, 403, "owner_required", ""},
		{http.MethodPost, "/v1/members/" + c.dev, `{"role":"king"}`, 400, "invalid_value", "role"},
		{http.MethodPost, "/v1/members/" + c.dev, `{}`, 400, "missing_required_parameter", "role"},
		{http.MethodPost, "/v1/members/" + c.dev, `{"role":"admin","account_id":"acct_1"}`, 400, "unknown_parameter", "account_id"},
		{http.MethodPost, "/v1/invitations", `{"email":"x@example.com","role":"owner"}`, 403, "owner_required", ""},
		{http.MethodPost, "/v1/invitations", `{"email":"x","role":"admin"}`, 400, "invalid_email", "email"},
		{http.MethodPost, "/v1/invitations", `{"role":"admin"}`, 400, "missing_required_parameter", "email"},
		{http.MethodPost, "/v1/invitations", `{"email":"x@example.com"}`, 400, "missing_required_parameter", "role"},
		{http.MethodPost, "/v1/invitations", `{"email":"x@example.com","role":"admin","expires_at":1}`, 400, "unknown_parameter", "expires_at"},
		{http.MethodPost, "/v1/invitations", `{"email":"dev@example.com","role":"admin"}`, 409, "already_member", "email"},
		{http.MethodPost, "/v1/account", `{"name":""}`, 400, "invalid_value", "name"},
		{http.MethodPost, "/v1/account", `{"name":"a","limit_factor":9}`, 400, "unknown_parameter", "limit_factor"},
		{http.MethodGet, "/v1/members?limit=0", ``, 400, "invalid_value", "limit"},
	} {
		a := c.do(one.method, one.path, one.body)
		var f struct{ Error struct{ Code, Param string } }
		if err := json.Unmarshal([]byte(a.body), &f); err != nil || a.status != one.status || f.Error.Code != one.code || f.Error.Param != one.param {
			t.Errorf("%s %s %s: %d %s", one.method, one.path, one.body, a.status, a.body)
		}
	}
	if a := c.do(http.MethodDelete, "/v1/members/"+c.dev, ""); a.status != http.StatusOK || !strings.Contains(a.body, `"deleted":true`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := c.do(http.MethodGet, "/v1/members/"+c.dev, ""); a.status != http.StatusNotFound {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestInvitationsAreManagedByAPI(t *testing.T) {
	t.Parallel()
	c := manned(t)
	made := decode[invitationBody](t, c.do(http.MethodPost, "/v1/invitations", `{"email":"New@Example.com","role":"admin"}`), http.StatusOK)
	if made.Object != "account_invitation" || made.Email != "new@example.com" || made.Role != "admin" || made.InvitedBy != nil ||
		!strings.HasPrefix(made.Link, "https://gateway.example/console/invitations?token=") || time.Unix(made.ExpiresAt, 0).Before(time.Now().Add(6*24*time.Hour)) {
		t.Fatalf("%+v", made)
	}
	if got := decode[invitationBody](t, c.do(http.MethodGet, "/v1/invitations/"+made.ID, ""), http.StatusOK); got.Link != "" || got.ID != made.ID {
		t.Errorf("the link is shown more than once: %+v", got)
	}
	again := decode[invitationBody](t, c.do(http.MethodPost, "/v1/invitations/"+made.ID+"/resend", ""), http.StatusOK)
	if again.Link == "" || again.Link == made.Link {
		t.Errorf("%+v", again)
	}
	list := decode[peopleList[invitationBody]](t, c.do(http.MethodGet, "/v1/invitations", ""), http.StatusOK)
	if len(list.Data) != 1 || list.Data[0].ID != made.ID || list.HasMore {
		t.Errorf("%+v", list)
	}
	if a := c.do(http.MethodDelete, "/v1/invitations/"+made.ID, ""); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := c.do(http.MethodDelete, "/v1/invitations/"+made.ID, ""); a.status != http.StatusNotFound {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestMembersOfOtherAccountsAreUnknown(t *testing.T) {
	t.Parallel()
	c := manned(t)
	made := decode[invitationBody](t, c.do(http.MethodPost, "/v1/invitations", `{"email":"new@example.com","role":"admin"}`), http.StatusOK)
	_, standard := c.key(apikey.Spec{})
	for _, one := range []struct{ method, path, unknown, body string }{
		{http.MethodGet, "/v1/members/" + c.dev, "/v1/members/user_none", ""},
		{http.MethodPost, "/v1/members/" + c.dev, "/v1/members/user_none", `{"role":"admin"}`},
		{http.MethodDelete, "/v1/members/" + c.dev, "/v1/members/user_none", ""},
		{http.MethodGet, "/v1/invitations/" + made.ID, "/v1/invitations/inv_none", ""},
		{http.MethodDelete, "/v1/invitations/" + made.ID, "/v1/invitations/inv_none", ""},
		{http.MethodPost, "/v1/invitations/" + made.ID + "/resend", "/v1/invitations/inv_none/resend", ""},
	} {
		foreign, unknown := c.call(one.method, one.path, one.body, c.foreign...), c.call(one.method, one.unknown, one.body, c.foreign...)
		if id := func(r reply) string { return strings.ReplaceAll(r.body, r.header.Get("X-Request-Id"), "") }; foreign.status != http.StatusNotFound ||
			unknown.status != http.StatusNotFound || id(foreign) != id(unknown) {
			t.Errorf("%s %s: %d %s and %d %s", one.method, one.path, foreign.status, foreign.body, unknown.status, unknown.body)
		}
		if a := c.call(one.method, one.path, one.body, bearer(standard)...); a.status != http.StatusForbidden {
			t.Errorf("%s %s with a key that does not manage: %d %s", one.method, one.path, a.status, a.body)
		}
	}
	var role string
	must(t, c.db.GetContext(t.Context(), &role, `select role from memberships where account_id = $1 and user_id = $2`, c.owner.AccountID, c.dev))
	if role != "developer" {
		t.Errorf("the developer is %s now", role)
	}
}

func TestTheAccountIsNamedAndExportedByAPI(t *testing.T) {
	t.Parallel()
	c := manned(t)
	type self struct {
		ID, Object, Name string
		Members, Owners  int
	}
	one := decode[self](t, c.do(http.MethodPost, "/v1/account", `{"name":" Engines "}`), http.StatusOK)
	if one.ID != c.owner.AccountID || one.Object != "account" || one.Name != "Engines" || one.Members != 2 || one.Owners != 1 {
		t.Errorf("%+v", one)
	}
	if got := decode[self](t, c.do(http.MethodGet, "/v1/account", ""), http.StatusOK); got != one {
		t.Errorf("%+v", got)
	}
	a := c.do(http.MethodGet, "/v1/account/export", "")
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.body), &all); err != nil || a.status != http.StatusOK || !strings.Contains(string(all["members"]), "dev@example.com") {
		t.Errorf("%v: %d %s", err, a.status, a.body)
	}
	if !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment; filename=") || strings.Contains(a.body, "stranger@example.com") {
		t.Errorf("%v %s", a.header, a.body)
	}
	if a := c.do(http.MethodDelete, "/v1/account", ""); a.status != http.StatusMethodNotAllowed {
		t.Errorf("an account is deleted in the console only: %d %s", a.status, a.body)
	}
}
