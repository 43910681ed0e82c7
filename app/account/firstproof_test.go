package account

import (
	"strings"
	"testing"

	"umg/app"
	"umg/app/apikey"
	"umg/app/mail"
	"umg/billing"
)

// squatted is an account that a user made with the address of another person. It holds everything that such a user may make, and
// everything they could make before that was limited.
type squatted struct {
	bundle
	post    *mail.Service
	user    User
	secret  string
	ring    *apikey.Cache
	session sessionBundle
}

func squats(t *testing.T) squatted {
	t.Helper()
	b, post := verifying(t, func(o *Options) { o.Key = [32]byte{7} })
	u, err := b.SignUp(t.Context(), SignUp{Email: "victim@example.com", Password: goodPassword, IP: "198.51.100.66"})
	must(t, err)
	s := squatted{bundle: b, post: post, user: u, ring: b.ring(t), session: newSessions(t, b)}
	_, s.secret = b.key(t, u.Principal(), apikey.Spec{Budget: &billing.Allowance{Limit: app.Dollar, Period: "day"}})
	must(t, s.session.begin(t, u))
	// The second step and the invitation are made as they could be before a rule forbade it.
	seed, err := b.vault.lock([]byte("01234567890123456789"), seedPurpose+u.ID)
	must(t, err)
	_, err = beginTOTP(t.Context(), b.db, u.ID, seed, b.clock.Now())
	must(t, err)
	must(t, enableTOTP(t.Context(), b.db, u.ID, 1, b.clock.Now()))
	_, f, err := b.newToken()
	must(t, err)
	must(t, insertInvitation(t.Context(), b.db, u.AccountID, u.ID, Invitation{
		ID: "inv_1", Email: "accomplice@example.com", Role: app.RoleAdmin, CreatedAt: b.clock.Now(), SentAt: b.clock.Now(),
		ExpiresAt: b.clock.Now().Add(invitationAgeMax),
	}, f))
	return s
}

// evicted checks that nothing is left that the squatter could use.
func (s squatted) evicted(t *testing.T, sessions int) {
	t.Helper()
	if _, err := s.ring.Find(t.Context(), s.secret, "198.51.100.66"); app.KindOf(err) != app.Unauthenticated {
		t.Errorf("the key of before: %v", err)
	}
	for what, query := range map[string]string{
		"second steps":     `select count(*) from totp_secrets where user_id = $1`,
		"open invitations": `select count(*) from invitations i join memberships m using (account_id) where m.user_id = $1 and i.ended is null`,
		"budgets of keys":  `select count(*) from key_budgets b join memberships m using (account_id) where m.user_id = $1`,
	} {
		if n := count(t, s.db, query, s.user.ID); n != 0 {
			t.Errorf("%d %s are left", n, what)
		}
	}
	if n := count(t, s.db, `select count(*) from sessions where user_id = $1`, s.user.ID); n != sessions {
		t.Errorf("%d sessions are left, want %d", n, sessions)
	}
	if u, err := s.User(t.Context(), s.user.ID); err != nil || !u.Verified {
		t.Errorf("afterwards: %+v, %v", u, err)
	}
	s.log(t, s.user.AccountID, "key.deleted")
	s.log(t, s.user.AccountID, "invitation.revoked")
}

func TestTheFirstProofOfAnAddressEndsWhatWasMadeBefore(t *testing.T) {
	t.Parallel()
	t.Run("by its link", func(t *testing.T) {
		t.Parallel()
		s := squats(t)
		v, err := s.VerifyEmail(t.Context(), visitorAt("192.0.2.1"), lastToken(t, s.post, s.user.Email), goodPassword)
		if err != nil || !v.First || v.Trial.Amount != 5*app.Dollar {
			t.Fatalf("%+v, %v", v, err)
		}
		s.evicted(t, 0)
	})
	t.Run("by a reset", func(t *testing.T) {
		t.Parallel()
		s := squats(t)
		must(t, s.AskReset(t.Context(), s.user.Email, "192.0.2.1"))
		_, token := mailed(t, s.post, "reset_password", s.user.Email)
		must(t, s.ResetPassword(t.Context(), token, "another good password", app.Origin{IP: "192.0.2.1"}))
		s.evicted(t, 0)
		if in, err := s.SignIn(t.Context(), s.user.Email, "another good password", "192.0.2.1"); err != nil || in.Ticket != "" {
			t.Errorf("the owner signs in: %+v, %v", in, err)
		}
		if _, err := s.SignIn(t.Context(), s.user.Email, goodPassword, "192.0.2.1"); app.KindOf(err) != app.Unauthenticated {
			t.Errorf("the password of before: %v", err)
		}
	})
}

// TestAFirstProofByLinkTakesASessionOrThePassword has the owner of the address open the link without either. The
// person who signed up with the address gets no verified account by it.
func TestAFirstProofByLinkTakesASessionOrThePassword(t *testing.T) {
	t.Parallel()
	s := squats(t)
	token := lastToken(t, s.post, s.user.Email)
	other := s.member(t, "bob@example.com")
	for _, reader := range []app.Principal{visitorAt("192.0.2.1"), at(other, "192.0.2.2")} {
		for _, typed := range []string{"", "not the password", goodPassword + strings.Repeat("x", passwordBytesMax)} {
			_, err := s.VerifyEmail(t.Context(), reader, token, typed)
			if e := wantError(t, err, app.Invalid, "wrong_password"); e.Param != "password" {
				t.Errorf("the refusal is at %q", e.Param)
			}
		}
	}
	if u, err := s.User(t.Context(), s.user.ID); err != nil || u.Verified {
		t.Fatalf("verified without the password: %+v, %v", u, err)
	}
	if keys, err := liveKeys(t.Context(), s.db, s.user.AccountID, unprovenKeysBatch); err != nil || len(keys) != 1 {
		t.Errorf("after wrong passwords there are the keys %v, %v", keys, err)
	}
	if _, err := s.VerifyEmail(t.Context(), visitorAt("192.0.2.3"), token, goodPassword); err != nil {
		t.Fatalf("the link after wrong passwords: %v", err)
	}
	s.evicted(t, 0)
}

func TestASessionThatHasEndedProvesNothing(t *testing.T) {
	t.Parallel()
	b, post := verifying(t)
	u, token := b.unverified(t, post, "ada@example.com")
	p := at(u, "192.0.2.1")
	p.SessionID = "ses_ended"
	_, err := b.VerifyEmail(t.Context(), p, token, "")
	wantError(t, err, app.Unauthenticated, "session_ended")
	if read, err := b.User(t.Context(), u.ID); err != nil || read.Verified {
		t.Errorf("%+v, %v", read, err)
	}
}

// TestGuessesThroughALinkCountAsSignIns uses up the tries of one place and address with a link, and of the next with sign-ins.
func TestGuessesThroughALinkCountAsSignIns(t *testing.T) {
	t.Parallel()
	b, post := verifying(t)
	u, err := b.SignUp(t.Context(), SignUp{Email: "ada@example.com", Password: goodPassword, IP: "198.51.100.1"})
	must(t, err)
	token := lastToken(t, post, u.Email)
	byLink := func(ip, password string) error {
		return errOf(b.VerifyEmail(t.Context(), visitorAt(ip), token, password))
	}
	bySignIn := func(ip, password string) error { return errOf(b.SignIn(t.Context(), u.Email, password, ip)) }
	for ip, way := range map[string]struct {
		guess, other func(ip, password string) error
	}{
		"192.0.2.1": {byLink, bySignIn}, "192.0.2.2": {bySignIn, byLink},
	} {
		for range signInPair.free + 1 {
			if err := way.guess(ip, "not the password"); err == nil {
				t.Fatal("a wrong password is taken")
			}
		}
		wantError(t, way.guess(ip, goodPassword), app.Exhausted, "too_many_attempts")
		wantError(t, way.other(ip, goodPassword), app.Exhausted, "too_many_attempts")
	}
	b.clock.Advance(signInPair.most)
	must(t, byLink("192.0.2.1", goodPassword))
}

func TestAPasswordThatWasReplacedWhileALinkIsUsedIsRefused(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	reader, err := b.linkReader(t.Context(), visitorAt("192.0.2.1"), u.ID, u.Email, goodPassword)
	must(t, err)
	who, err := b.person(t.Context(), u.ID)
	must(t, err)
	must(t, reader.check(who))
	must(t, b.ChangePassword(t.Context(), u.Principal(), goodPassword, nextPassword, ""))
	who, err = b.person(t.Context(), u.ID)
	must(t, err)
	wantError(t, reader.check(who), app.Invalid, "wrong_password")
}

func TestAResetOfAVerifiedAddressKeepsKeysAndTheSecondStep(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	d, _ := enrolled(t, b, u)
	_, secret := b.key(t, u.Principal(), apikey.Spec{})
	s := newSessions(t, b)
	must(t, s.begin(t, u))
	must(t, b.AskReset(t.Context(), u.Email, "192.0.2.1"))
	_, token := mailed(t, post, "reset_password", u.Email)
	must(t, b.ResetPassword(t.Context(), token, "another good password", app.Origin{}))
	if n := count(t, b.db, `select count(*) from sessions where user_id = $1`, u.ID); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	if _, err := b.ring(t).Find(t.Context(), secret, "192.0.2.1"); err != nil {
		t.Errorf("the key: %v", err)
	}
	in, err := b.SignIn(t.Context(), u.Email, "another good password", "192.0.2.1")
	if err != nil || in.Ticket == "" {
		t.Fatalf("no code is asked for: %+v, %v", in, err)
	}
	if _, err := b.FinishSignIn(t.Context(), in.Ticket, d.code(t), app.Origin{}); err != nil {
		t.Error(err)
	}
}

func TestAnUnverifiedAddressMayDoLittle(t *testing.T) {
	t.Parallel()
	b, _ := verifying(t, func(o *Options) { o.Key = [32]byte{7} })
	u, err := b.SignUp(t.Context(), SignUp{Email: "ada@example.com", Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	p := u.Principal()
	_, _, err = b.keys.Create(t.Context(), p, apikey.Spec{Name: "manager", Scopes: []app.Scope{app.ScopeManagement}})
	wantError(t, err, app.Forbidden, "email_unverified")
	k, _ := b.key(t, p, apikey.Spec{})
	_, _, err = b.keys.Create(t.Context(), p, apikey.Spec{Name: "second"})
	wantError(t, err, app.Forbidden, "email_unverified")
	must(t, b.keys.Delete(t.Context(), p, k.ID))
	b.key(t, p, apikey.Spec{})
	_, err = b.Invite(t.Context(), p, "friend@example.com", app.RoleDeveloper)
	wantError(t, err, app.Forbidden, "email_unverified")
	wantError(t, b.BeginTOTP(t.Context(), p, goodPassword), app.Forbidden, "email_unverified")
	b.proven(t, u)
	b.key(t, p, apikey.Spec{})
	_, err = b.Invite(t.Context(), p, "friend@example.com", app.RoleDeveloper)
	must(t, err)
	wantError(t, b.BeginTOTP(t.Context(), p, "not the password"), app.Invalid, "wrong_password")
	must(t, b.BeginTOTP(t.Context(), p, goodPassword))
}

func TestWithoutMailNothingWaitsForAVerifiedAddress(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Key = [32]byte{7} })
	u, err := b.SignUp(t.Context(), SignUp{Email: "ada@example.com", Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	b.key(t, u.Principal(), apikey.Spec{})
	b.key(t, u.Principal(), apikey.Spec{})
	_, err = b.Invite(t.Context(), u.Principal(), "friend@example.com", app.RoleDeveloper)
	must(t, err)
	must(t, b.BeginTOTP(t.Context(), u.Principal(), goodPassword))
}
