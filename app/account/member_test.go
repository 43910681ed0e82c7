package account

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/audit"
)

// joined makes a user with an account of their own who is a member of another one as well.
func (b bundle) joined(t *testing.T, accountID, email string, role app.Role) User {
	t.Helper()
	u := b.member(t, email)
	must(t, insertMembership(t.Context(), b.db, accountID, u.ID, role, b.clock.Now()))
	u, err := b.UserIn(t.Context(), u.ID, accountID)
	must(t, err)
	return u
}

// log is the newest entry about an action in the audit log of an account.
func (b bundle) log(t *testing.T, accountID string, action audit.Action) audit.Entry {
	t.Helper()
	page, err := b.audit.List(t.Context(), accountID, audit.Filter{Action: action, Limit: 1})
	must(t, err)
	if len(page.Entries) == 0 {
		t.Fatalf("%s is not in the audit log", action)
	}
	return page.Entries[0]
}

func TestAUserWorksInTheAccountTheyChose(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob := b.member(t, "ada@example.com"), b.member(t, "bob@example.com")
	must(t, insertMembership(t.Context(), b.db, bob.AccountID, ada.ID, app.RoleBilling, b.clock.Now().Add(time.Second)))
	for chosen, want := range map[string]string{
		"": ada.AccountID, bob.AccountID: bob.AccountID, "acct_none": ada.AccountID,
	} {
		u, err := b.UserIn(t.Context(), ada.ID, chosen)
		if err != nil || u.AccountID != want || u.Role != map[string]app.Role{ada.AccountID: app.RoleOwner, bob.AccountID: app.RoleBilling}[want] {
			t.Errorf("chose %q: %+v %v", chosen, u, err)
		}
	}
	u, err := b.UserIn(t.Context(), bob.ID, ada.AccountID)
	if err != nil || u.AccountID != bob.AccountID {
		t.Errorf("another user's account opened: %+v %v", u, err)
	}
	list, err := b.Memberships(t.Context(), ada.ID)
	if err != nil || len(list) != 2 || list[0].AccountID != ada.AccountID || list[1].Role != app.RoleBilling || list[1].Name != "bob's account" {
		t.Errorf("%+v %v", list, err)
	}
}

func TestRolesAreChangedByThoseWhoMay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner := b.member(t, "owner@example.com")
	admin := b.joined(t, owner.AccountID, "admin@example.com", app.RoleAdmin)
	dev := b.joined(t, owner.AccountID, "dev@example.com", app.RoleDeveloper)
	stranger := b.member(t, "stranger@example.com")
	manager, _ := b.key(t, owner.Principal(), apikey.Spec{Scopes: []app.Scope{app.ScopeManagement}})
	key := manager.Principal()
	refused := []struct {
		who    app.Principal
		target string
		role   app.Role
		kind   app.Kind
		code   string
	}{
		{dev.Principal(), admin.ID, app.RoleBilling, app.Forbidden, "role_not_allowed"},
		{admin.Principal(), owner.ID, app.RoleAdmin, app.Forbidden, "owner_required"},
		{admin.Principal(), dev.ID, app.RoleOwner, app.Forbidden, "owner_required"},
		{admin.Principal(), admin.ID, app.RoleOwner, app.Forbidden, "owner_required"},
		{key, dev.ID, app.RoleOwner, app.Forbidden, "owner_required"},
		{key, owner.ID, app.RoleBilling, app.Forbidden, "owner_required"},
		{owner.Principal(), owner.ID, app.RoleAdmin, app.Conflict, "last_owner"},
		{owner.Principal(), stranger.ID, app.RoleAdmin, app.NotFound, "member_not_found"},
		{owner.Principal(), "user_none", app.RoleAdmin, app.NotFound, "member_not_found"},
		{owner.Principal(), dev.ID, "king", app.Invalid, "invalid_value"},
		{stranger.Principal(), dev.ID, app.RoleAdmin, app.NotFound, "member_not_found"},
	}
	for _, r := range refused {
		_, err := b.SetRole(t.Context(), r.who, r.target, r.role)
		wantError(t, err, r.kind, r.code)
	}
	if n := count(t, b.db, `select count(*) from audit_entries where action <> 'key.created'`); n != 0 {
		t.Errorf("%d entries about what was refused", n)
	}
	m, err := b.SetRole(t.Context(), admin.Principal(), dev.ID, app.RoleBilling)
	if err != nil || m.Role != app.RoleBilling {
		t.Fatalf("%+v %v", m, err)
	}
	e := b.log(t, owner.AccountID, "member.role_changed")
	if e.ActorName != admin.Email || e.Object != dev.ID ||
		e.Changes[0] != (audit.Change{Field: "role", From: "developer", To: "billing"}) {
		t.Errorf("%+v", e)
	}
	if u, err := b.UserIn(t.Context(), dev.ID, owner.AccountID); err != nil || u.Role != app.RoleBilling || u.Role.Rights().Has(app.CallText) {
		t.Errorf("%+v %v", u, err)
	}
	if _, err := b.SetRole(t.Context(), key, dev.ID, app.RoleDeveloper); err != nil {
		t.Errorf("a management key may change roles as an admin may: %v", err)
	}
	if _, err := b.SetRole(t.Context(), owner.Principal(), admin.ID, app.RoleOwner); err != nil {
		t.Error(err)
	}
	if _, err := b.SetRole(t.Context(), owner.Principal(), owner.ID, app.RoleDeveloper); err != nil {
		t.Errorf("an owner among several may step down: %v", err)
	}
	_, err = b.SetRole(t.Context(), owner.Principal(), dev.ID, app.RoleAdmin)
	wantError(t, err, app.Forbidden, "role_not_allowed") // The previous role's rights no longer count.
}

func TestOfTwoOwnersWhoDemoteEachOtherOneRemains(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for round := range 8 {
		one := b.member(t, "one"+string(rune('a'+round))+"@example.com")
		two := b.joined(t, one.AccountID, "two"+string(rune('a'+round))+"@example.com", app.RoleOwner)
		calls := []func() error{
			func() error { _, err := b.SetRole(t.Context(), one.Principal(), two.ID, app.RoleAdmin); return err },
			func() error { _, err := b.SetRole(t.Context(), two.Principal(), one.ID, app.RoleAdmin); return err },
			func() error { return b.Leave(t.Context(), one.Principal()) },
			func() error { _, err := b.RemoveMember(t.Context(), one.Principal(), two.ID); return err },
		}
		var wait sync.WaitGroup
		start, errs := make(chan struct{}), make([]error, len(calls))
		for i, call := range calls {
			wait.Go(func() {
				<-start
				errs[i] = call()
			})
		}
		close(start)
		wait.Wait()
		for _, err := range errs {
			if e, ok := errors.AsType[*app.Error](err); err != nil && (!ok || e.Kind == app.Internal) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		if n := count(t, b.db, `select count(*) from memberships where account_id = $1 and role = 'owner'`, one.AccountID); n < 1 {
			t.Fatalf("round %d: the account has no owner", round)
		}
	}
}

func TestRemovingAndLeavingEndWhatAMemberSees(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner := b.member(t, "owner@example.com")
	admin := b.joined(t, owner.AccountID, "admin@example.com", app.RoleAdmin)
	dev := b.joined(t, owner.AccountID, "dev@example.com", app.RoleDeveloper)
	other := b.member(t, "other@example.com")
	made, _ := b.key(t, dev.Principal(), apikey.Spec{})
	wantError(t, b.Leave(t.Context(), owner.Principal()), app.Conflict, "last_owner")
	_, err := b.RemoveMember(t.Context(), owner.Principal(), owner.ID)
	wantError(t, err, app.Conflict, "last_owner")
	_, err = b.RemoveMember(t.Context(), admin.Principal(), owner.ID)
	wantError(t, err, app.Forbidden, "owner_required")
	_, err = b.RemoveMember(t.Context(), other.Principal(), dev.ID)
	wantError(t, err, app.NotFound, "member_not_found")
	if _, err := b.RemoveMember(t.Context(), admin.Principal(), dev.ID); err != nil {
		t.Fatal(err)
	}
	u, err := b.UserIn(t.Context(), dev.ID, owner.AccountID)
	if err != nil || u.AccountID == owner.AccountID {
		t.Errorf("the removed member still sees the account: %+v %v", u, err)
	}
	if e := b.log(t, owner.AccountID, "member.removed"); e.Name != dev.Email {
		t.Errorf("%+v", e)
	}
	if n := count(t, b.db, `select count(*) from api_keys where id = $1 and deleted_at is null and disabled_at is null`, made.ID); n != 1 {
		t.Error("what a member made went with them")
	}
	must(t, b.Leave(t.Context(), admin.Principal()))
	if e := b.log(t, owner.AccountID, "member.left"); e.Actor != audit.ByUser || e.ActorID != admin.ID {
		t.Errorf("%+v", e)
	}
	wantError(t, b.Leave(t.Context(), admin.Principal()), app.Forbidden, "role_not_allowed")
	members, err := b.Members(t.Context(), owner.Principal(), "", 0)
	if err != nil || len(members.Members) != 1 || members.Members[0].Email != owner.Email {
		t.Errorf("%+v %v", members, err)
	}
}

func TestAUserInNoAccountIsAUserStill(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner := b.member(t, "owner@example.com")
	alone := b.joined(t, owner.AccountID, "alone@example.com", app.RoleDeveloper)
	if _, err := b.db.Exec(`delete from memberships where user_id = $1 and account_id <> $2`, alone.ID, alone.AccountID); err != nil {
		t.Fatal(err)
	}
	must(t, b.Leave(t.Context(), alone.Principal()))
	u, err := b.User(t.Context(), alone.ID)
	if err != nil || u.AccountID != "" || u.Role != "" || u.Principal().Rights != 0 {
		t.Fatalf("%+v %v", u, err)
	}
	for _, name := range []string{"", " ", strings.Repeat("x", 81), "a\x00b"} {
		_, err := b.OpenAccount(t.Context(), u.Principal(), name)
		wantError(t, err, app.Invalid, "invalid_value")
	}
	m, err := b.OpenAccount(t.Context(), u.Principal(), "  Engines  ")
	if err != nil || m.Name != "Engines" {
		t.Fatalf("%+v %v", m, err)
	}
	if u, err = b.User(t.Context(), alone.ID); err != nil || u.AccountID != m.AccountID || u.Role != app.RoleOwner || u.Account != "Engines" {
		t.Errorf("%+v %v", u, err)
	}
	if _, err := b.ledger.Balance(t.Context(), m.AccountID); err != nil {
		t.Errorf("the new account has no credit account: %v", err)
	}
	for range accountsOwnedMax - 1 {
		_, err = b.OpenAccount(t.Context(), u.Principal(), "another")
		must(t, err)
	}
	_, err = b.OpenAccount(t.Context(), u.Principal(), "one too many")
	wantError(t, err, app.Conflict, "too_many_accounts")
}

func TestMembersAreListedByPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner := b.member(t, "owner@example.com")
	for i := range 4 {
		b.clock.Advance(time.Second)
		b.joined(t, owner.AccountID, string(rune('a'+i))+"@example.com", app.RoleDeveloper)
	}
	var seen []string
	for after := ""; ; {
		page, err := b.Members(t.Context(), owner.Principal(), after, 2)
		must(t, err)
		for _, m := range page.Members {
			seen = append(seen, m.Email)
			after = m.UserID
		}
		if !page.More {
			break
		}
	}
	if got, _ := json.Marshal(seen); string(got) != `["owner@example.com","a@example.com","b@example.com","c@example.com","d@example.com"]` {
		t.Errorf("%s", got)
	}
	for _, after := range []string{"user_none", "\x00", strings.Repeat("x", 200)} {
		if page, err := b.Members(t.Context(), owner.Principal(), after, 2); app.AsError(err) == nil || app.AsError(err).Param != "after" {
			t.Errorf("after %q: %+v %v", after, page, err)
		}
	}
}

func TestAnIDThatNoStoreTakesIsAnUnknownMemberOrSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	for _, id := range []string{"\x00", "user_\xff"} {
		_, err := b.Member(t.Context(), p, id)
		wantError(t, err, app.NotFound, "member_not_found")
		wantError(t, b.EndSession(t.Context(), p, id), app.NotFound, "session_not_found")
		u, err := b.UserIn(t.Context(), p.UserID, id)
		if err != nil || u.AccountID != p.AccountID {
			t.Errorf("as a member of %q: %+v, %v", id, u, err)
		}
	}
}
