package account

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/mail"
)

var offerPattern = regexp.MustCompile(`https://gateway\.example/console/invitations\?token=(\S+)`)

// invited is the token of the newest invitation that was mailed to an address.
func invited(t *testing.T, post *mail.Service, email string) string {
	t.Helper()
	mails, err := post.Outbox(t.Context(), 200)
	must(t, err)
	for _, m := range mails {
		if found := offerPattern.FindStringSubmatch(m.Text); m.To == email && found != nil {
			return found[1]
		}
	}
	t.Fatalf("no invitation was sent to %s", email)
	return ""
}

func TestAnInvitedPersonJoinsAndTheirAddressIsProved(t *testing.T) {
	t.Parallel()
	b, post := verifying(t)
	owner := b.proven(t, b.member(t, "owner@example.com"))
	i, err := b.Invite(t.Context(), owner.Principal(), " New@Example.com ", app.RoleDeveloper)
	if err != nil || i.Email != "new@example.com" || i.Link != "" || i.InvitedBy != owner.Email || !i.ExpiresAt.Equal(i.CreatedAt.Add(7*24*time.Hour)) {
		t.Fatalf("%+v %v", i, err)
	}
	if e := b.log(t, owner.AccountID, "member.invited"); e.Name != "new@example.com" || e.Object != i.ID {
		t.Errorf("%+v", e)
	}
	token := invited(t, post, "new@example.com")
	for range 2 {
		o, err := b.Offer(t.Context(), token)
		if err != nil || o.Account != "owner's account" || o.AccountID != owner.AccountID || o.Role != app.RoleDeveloper {
			t.Fatalf("%+v %v", o, err)
		}
	}
	other := b.member(t, "other@example.com")
	_, err = b.Accept(t.Context(), other.Principal(), token)
	wantError(t, err, app.Forbidden, "invitation_for_other")
	u := b.member(t, "new@example.com")
	must(t, b.ledger.OpenAccount(t.Context(), b.db, u.AccountID))
	b.clock.Advance(time.Second)
	m, err := b.Accept(t.Context(), u.Principal(), token)
	if err != nil || m.AccountID != owner.AccountID || m.Role != app.RoleDeveloper {
		t.Fatalf("%+v %v", m, err)
	}
	if e := b.log(t, owner.AccountID, "member.joined"); e.ActorID != u.ID {
		t.Errorf("%+v", e)
	}
	u, err = b.UserIn(t.Context(), u.ID, owner.AccountID)
	if err != nil || !u.Verified || u.AccountID != owner.AccountID || u.Role != app.RoleDeveloper {
		t.Errorf("%+v %v", u, err)
	}
	if own, err := b.User(t.Context(), u.ID); err != nil || b.balance(t, own) != 5*app.Dollar {
		t.Errorf("the trial credit did not come with the proved address: %v", err)
	}
	_, err = b.Accept(t.Context(), u.Principal(), token)
	wantError(t, err, app.Conflict, "invitation_used")
	if list, err := b.Invitations(t.Context(), owner.Principal(), "", 0); err != nil || len(list.Invitations) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	_, err = b.Invite(t.Context(), owner.Principal(), u.Email, app.RoleAdmin)
	wantError(t, err, app.Conflict, "already_member")
}

func TestLinksOfInvitationsEnd(t *testing.T) {
	t.Parallel()
	b, post := verifying(t)
	owner, u := b.proven(t, b.member(t, "owner@example.com")), b.member(t, "new@example.com")
	invite := func() (Invitation, string) {
		b.clock.Advance(25 * time.Hour) // This is longer than the period of the throttle.
		i, err := b.Invite(t.Context(), owner.Principal(), u.Email, app.RoleDeveloper)
		must(t, err)
		return i, invited(t, post, u.Email)
	}
	refuses := func(token, code string) {
		t.Helper()
		_, err := b.Accept(t.Context(), u.Principal(), token)
		wantError(t, err, app.Conflict, code)
		_, err = b.Offer(t.Context(), token)
		wantError(t, err, app.Conflict, code)
		_, err = b.Decline(t.Context(), u.Principal(), token)
		wantError(t, err, app.Conflict, code)
	}
	_, first := invite()
	i, second := invite()
	refuses(first, "invitation_replaced")
	b.clock.Advance(time.Second)
	_, err := b.ResendInvitation(t.Context(), owner.Principal(), i.ID)
	must(t, err)
	third := invited(t, post, u.Email)
	_, err = b.Accept(t.Context(), u.Principal(), second)
	wantError(t, err, app.NotFound, "invitation_unknown")
	if _, err := b.RevokeInvitation(t.Context(), owner.Principal(), i.ID); err != nil {
		t.Fatal(err)
	}
	refuses(third, "invitation_revoked")
	if e := b.log(t, owner.AccountID, "invitation.revoked"); e.Name != u.Email {
		t.Errorf("%+v", e)
	}
	_, err = b.RevokeInvitation(t.Context(), owner.Principal(), i.ID)
	wantError(t, err, app.NotFound, "invitation_not_found")
	_, err = b.ResendInvitation(t.Context(), owner.Principal(), i.ID)
	wantError(t, err, app.NotFound, "invitation_not_found")
	_, token := invite()
	b.clock.Advance(7 * 24 * time.Hour)
	refuses(token, "invitation_expired")
	_, token = invite()
	if o, err := b.Decline(t.Context(), app.Principal{}, token); err != nil || o.Account != "owner's account" {
		t.Fatalf("%+v %v", o, err)
	}
	refuses(token, "invitation_declined")
	for _, bad := range []string{"", "x", strings.Repeat("A", 43), token + "=", "\x00"} {
		_, err := b.Offer(t.Context(), bad)
		wantError(t, err, app.NotFound, "invitation_unknown")
	}
	if n := count(t, b.db, `select count(*) from memberships where account_id = $1`, owner.AccountID); n != 1 {
		t.Errorf("%d members", n)
	}
	b.clock.Advance(invitationKeptMax + invitationAgeMax + time.Hour)
	must(t, b.sweep(t.Context()))
	if n := count(t, b.db, `select count(*) from invitations`); n != 0 {
		t.Errorf("%d invitations are never deleted", n)
	}
}

func TestInvitationsAreBoundedAndThrottled(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.BaseURL = "https://gateway.example" })
	owner := b.member(t, "owner@example.com")
	for n := range invitationsMax {
		i, err := b.Invite(t.Context(), owner.Principal(), fmt.Sprintf("p%d@example.com", n), app.RoleBilling)
		if err != nil || !strings.HasPrefix(i.Link, "https://gateway.example/console/invitations?token=") {
			t.Fatalf("without mail the inviter gets the link: %+v %v", i, err)
		}
	}
	_, err := b.Invite(t.Context(), owner.Principal(), "more@example.com", app.RoleBilling)
	wantError(t, err, app.Conflict, "too_many_invitations")
	b.clock.Advance(25 * time.Hour)
	if _, err := b.Invite(t.Context(), owner.Principal(), "p0@example.com", app.RoleBilling); err != nil {
		t.Errorf("replacing needs no room: %v", err)
	}
	page, err := b.Invitations(t.Context(), owner.Principal(), "", 30)
	if err != nil || len(page.Invitations) != 30 || !page.More || page.Invitations[0].Email != "p0@example.com" || page.Invitations[0].Link != "" {
		t.Fatalf("%d %v %v", len(page.Invitations), page.More, err)
	}
	rest, err := b.Invitations(t.Context(), owner.Principal(), page.Invitations[29].ID, 30)
	if err != nil || len(rest.Invitations) != 20 || rest.More {
		t.Errorf("%d %v %v", len(rest.Invitations), rest.More, err)
	}
	for range 3 {
		_, err = b.Invite(t.Context(), owner.Principal(), "often@example.com", app.RoleBilling)
		wantError(t, err, app.Conflict, "too_many_invitations")
	}
	_, err = b.Invite(t.Context(), owner.Principal(), "often@example.com", app.RoleBilling)
	wantError(t, err, app.Exhausted, "too_many_attempts")
	for range inviteAccount.free {
		_, err = b.Invite(t.Context(), owner.Principal(), rand.Text()+"@example.com", app.RoleBilling)
	}
	wantError(t, err, app.Exhausted, "too_many_attempts")
}

func TestWhoMayInviteWhom(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.BaseURL = "https://gateway.example" })
	owner, stranger := b.member(t, "owner@example.com"), b.member(t, "stranger@example.com")
	admin := b.joined(t, owner.AccountID, "admin@example.com", app.RoleAdmin)
	dev := b.joined(t, owner.AccountID, "dev@example.com", app.RoleDeveloper)
	_, err := b.Invite(t.Context(), dev.Principal(), "a@example.com", app.RoleBilling)
	wantError(t, err, app.Forbidden, "role_not_allowed")
	_, err = b.Invite(t.Context(), admin.Principal(), "b@example.com", app.RoleOwner)
	wantError(t, err, app.Forbidden, "owner_required")
	_, err = b.Invite(t.Context(), admin.Principal(), "not an address", app.RoleAdmin)
	wantError(t, err, app.Invalid, "invalid_email")
	_, err = b.Invite(t.Context(), admin.Principal(), "c@example.com", "")
	wantError(t, err, app.Invalid, "invalid_value")
	i, err := b.Invite(t.Context(), owner.Principal(), "second@example.com", app.RoleOwner)
	must(t, err)
	theirs, _ := b.key(t, stranger.Principal(), apikey.Spec{Scopes: []app.Scope{app.ScopeManagement}})
	for _, p := range []app.Principal{stranger.Principal(), theirs.Principal()} {
		_, err = b.RevokeInvitation(t.Context(), p, i.ID)
		wantError(t, err, app.NotFound, "invitation_not_found")
		_, err = b.ResendInvitation(t.Context(), p, i.ID)
		wantError(t, err, app.NotFound, "invitation_not_found")
		_, err = b.Invitation(t.Context(), p, i.ID)
		wantError(t, err, app.NotFound, "invitation_not_found")
	}
	_, err = b.RevokeInvitation(t.Context(), admin.Principal(), i.ID)
	wantError(t, err, app.Forbidden, "owner_required")
	_, err = b.ResendInvitation(t.Context(), admin.Principal(), i.ID)
	wantError(t, err, app.Forbidden, "owner_required")
}

func TestAnInvitationIsAcceptedOnceUnderRaces(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.BaseURL = "https://gateway.example" })
	owner, u := b.member(t, "owner@example.com"), b.member(t, "new@example.com")
	i, err := b.Invite(t.Context(), owner.Principal(), u.Email, app.RoleAdmin)
	must(t, err)
	link, err := url.Parse(i.Link)
	must(t, err)
	var wait sync.WaitGroup
	results := make([]error, 8)
	for n := range results {
		wait.Go(func() {
			if n%2 == 0 {
				_, results[n] = b.Accept(t.Context(), u.Principal(), link.Query().Get("token"))
			} else {
				_, results[n] = b.RevokeInvitation(t.Context(), owner.Principal(), i.ID)
			}
		})
	}
	wait.Wait()
	done := 0
	for _, err := range results {
		if err == nil {
			done++
		}
	}
	joined := count(t, b.db, `select count(*) from memberships where account_id = $1 and user_id = $2`, owner.AccountID, u.ID)
	accepted := count(t, b.db, `select count(*) from invitations where id = $1 and ended = 'accepted'`, i.ID)
	if done != 1 || joined != accepted {
		t.Errorf("%d succeeded, %d joined, %d accepted: %v", done, joined, accepted, results)
	}
	if count(t, b.db, `select count(*) from users where id = $1 and verified_at is not null`, u.ID) != 0 {
		t.Error("a link that was never mailed proved an address")
	}
}
