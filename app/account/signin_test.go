package account

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/sessions"
	"github.com/pquerna/otp/totp"

	"umg/app"
	"umg/app/mail"
)

const nextPassword = "another quiet sentence"

var changePattern = regexp.MustCompile(`https://gateway\.example/console/(?:reset|email)\?token=(\S+)`)

// proving is a service with mail and a secret key, and a user with a password.
func proving(t *testing.T, email string) (bundle, *mail.Service, User) {
	t.Helper()
	b, post := verifying(t, func(o *Options) { o.Key = [32]byte{7} })
	u, err := b.SignUp(t.Context(), SignUp{Email: email, Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	return b, post, b.proven(t, u)
}

// mailed is the latest mail of a kind to an address, and the token in it if there is one.
func mailed(t *testing.T, post *mail.Service, kind, to string) (mail.Mail, string) {
	t.Helper()
	mails, err := post.Outbox(t.Context(), 200)
	must(t, err)
	for _, m := range mails {
		if m.Kind != kind || m.To != to {
			continue
		}
		found := changePattern.FindStringSubmatch(m.Text)
		if found == nil {
			return m, ""
		}
		token, err := url.QueryUnescape(found[1])
		must(t, err)
		return m, token
	}
	return mail.Mail{}, ""
}

func (b bundle) audited(t *testing.T, action, accountID string) int {
	t.Helper()
	return count(t, b.db, `select count(*) from audit_entries where action = $1 and account_id = $2`, action, accountID)
}

func TestALostPasswordIsReplacedOnceAndEndsEverySession(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	s := newSessions(t, b)
	w := newBrowser()
	s.start(t, w, u.ID)
	must(t, b.AskReset(t.Context(), " ADA@example.com", "192.0.2.9"))
	_, token := mailed(t, post, "reset_password", u.Email)
	for range 3 { // a program that opens every link of a mail
		if email, err := b.ResetLink(t.Context(), token); err != nil || email != u.Email {
			t.Fatalf("%q, %v", email, err)
		}
	}
	wantError(t, b.ResetPassword(t.Context(), token, "short", app.Origin{}), app.Invalid, "password_too_short")
	must(t, b.ResetPassword(t.Context(), token, nextPassword, app.Origin{IP: "192.0.2.9"}))
	if s.who(t, w) != "" {
		t.Error("a session outlived the password")
	}
	if _, err := b.SignIn(t.Context(), u.Email, goodPassword, "192.0.2.1"); err == nil {
		t.Error("the old password still opens")
	}
	if _, err := b.SignIn(t.Context(), u.Email, nextPassword, "192.0.2.1"); err != nil {
		t.Error(err)
	}
	wantError(t, b.ResetPassword(t.Context(), token, goodPassword, app.Origin{}), app.Conflict, "link_used")
	if m, _ := mailed(t, post, "password_changed", u.Email); !strings.Contains(m.Text, "192.0.2.9") || b.audited(t, "user.password_changed", u.AccountID) != 1 {
		t.Errorf("told %q", m.Text)
	}
}

func TestAResetLinkIsGoodForAnHourAndForItsAddressOnly(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	must(t, b.AskReset(t.Context(), u.Email, "192.0.2.1"))
	_, token := mailed(t, post, "reset_password", u.Email)
	for _, bad := range []string{"", "x", token[1:], strings.Repeat("A", 43)} {
		wantError(t, b.ResetPassword(t.Context(), bad, nextPassword, app.Origin{}), app.NotFound, "link_unknown")
	}
	_, _, err := b.EmailLink(t.Context(), token)
	wantError(t, err, app.NotFound, "link_unknown")
	_, err = b.db.Exec(`update users set email = 'new@example.com' where id = $1`, u.ID)
	must(t, err)
	wantError(t, b.ResetPassword(t.Context(), token, nextPassword, app.Origin{}), app.Conflict, "link_void")
	_, err = b.db.Exec(`update users set email = 'ada@example.com' where id = $1`, u.ID)
	must(t, err)
	b.clock.Advance(resetAgeMax)
	wantError(t, b.ResetPassword(t.Context(), token, nextPassword, app.Origin{}), app.Conflict, "link_expired")
	b.clock.Advance(linkKeptMax + time.Second)
	must(t, b.sweep(t.Context()))
	wantError(t, b.ResetPassword(t.Context(), token, nextPassword, app.Origin{}), app.NotFound, "link_unknown")
}

func TestAskingForAResetTellsNoOneWhoHasSignedUp(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	before := count(t, b.db, `select count(*) from mails`)
	for i := range 3 {
		must(t, b.AskReset(t.Context(), u.Email, "192.0.2.1"))
		must(t, b.AskReset(t.Context(), "unknown@example.com", "192.0.2.2"))
		if n := count(t, b.db, `select count(*) from mails where recipient = 'unknown@example.com'`); n != 0 {
			t.Fatalf("mail %d went to an unknown address", i)
		}
	}
	if n := count(t, b.db, `select count(*) from mails`); n != before+3 {
		t.Errorf("%d mails", n-before)
	}
	known, unknown := b.AskReset(t.Context(), u.Email, "192.0.2.1"), b.AskReset(t.Context(), "unknown@example.com", "192.0.2.2")
	if k, n := wantError(t, known, app.Exhausted, "too_many_attempts"), wantError(t, unknown, app.Exhausted, "too_many_attempts"); k.Message != n.Message {
		t.Errorf("%q and %q", k.Message, n.Message)
	}
	wantError(t, b.AskReset(t.Context(), "unknown", "192.0.2.2"), app.Invalid, "invalid_email")
	wantError(t, setup(t).AskReset(t.Context(), u.Email, "192.0.2.1"), app.Conflict, "no_mail")
}

func TestManyWhoUseOneResetLinkAtOnceSetOnePassword(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	must(t, b.AskReset(t.Context(), u.Email, "192.0.2.1"))
	_, token := mailed(t, post, "reset_password", u.Email)
	var set atomic.Int32
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if err := b.ResetPassword(t.Context(), token, nextPassword, app.Origin{}); err == nil {
				set.Add(1)
			} else {
				wantErrorOf(t, err, "link_used")
			}
		})
	}
	all.Wait()
	if set.Load() != 1 {
		t.Errorf("%d passwords were set", set.Load())
	}
}

func TestAPasswordIsChangedByWhoKnowsItAndEndsOtherSessions(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	s := newSessions(t, b)
	here, there := newBrowser(), newBrowser()
	s.start(t, here, u.ID)
	s.start(t, there, u.ID)
	var current string
	s.visit(t, here, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) { current = SessionID(session) })
	p := u.Principal()
	must(t, b.AskReset(t.Context(), u.Email, "192.0.2.1"))
	_, open := mailed(t, post, "reset_password", u.Email)
	wantError(t, b.ChangePassword(t.Context(), p, "not the password", nextPassword, current), app.Invalid, "wrong_password")
	wantError(t, b.ChangePassword(t.Context(), p, goodPassword, goodPassword, current), app.Invalid, "same_password")
	must(t, b.ChangePassword(t.Context(), p, goodPassword, nextPassword, current))
	if s.who(t, here) != u.ID || s.who(t, there) != "" {
		t.Error("the wrong sessions ended")
	}
	wantError(t, b.ResetPassword(t.Context(), open, goodPassword, app.Origin{}), app.Conflict, "link_used")
	if m, _ := mailed(t, post, "password_changed", u.Email); m.ID == "" || b.audited(t, "user.password_changed", u.AccountID) != 1 {
		t.Error("no mail was sent")
	}
	for range 20 {
		if err := b.ChangePassword(t.Context(), p, "not the password", goodPassword, current); app.KindOf(err) == app.Exhausted {
			return
		}
	}
	t.Error("passwords can be guessed without end")
}

func TestAnAddressChangesWithTheLinkThatWasSentThere(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	bob, err := b.SignUp(t.Context(), SignUp{Email: "bob@example.com", Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	p := u.Principal()
	_, err = b.AskEmail(t.Context(), p, "not the password", "new@example.com")
	wantError(t, err, app.Invalid, "wrong_password")
	_, err = b.AskEmail(t.Context(), p, goodPassword, "ada@example.com")
	wantError(t, err, app.Invalid, "same_email")
	if to, err := b.AskEmail(t.Context(), p, goodPassword, bob.Email); err != nil || to != bob.Email {
		t.Fatalf("an address in use: %q, %v", to, err)
	}
	if m, token := mailed(t, post, "change_email", bob.Email); token != "" || !strings.Contains(m.Text, "already") {
		t.Errorf("bob reads %q", m.Text)
	}
	_, err = b.AskEmail(t.Context(), p, goodPassword, "first@example.com")
	must(t, err)
	_, first := mailed(t, post, "change_email", "first@example.com")
	_, err = b.AskEmail(t.Context(), p, goodPassword, "NEW@example.com")
	must(t, err)
	_, token := mailed(t, post, "change_email", "new@example.com")
	if profile, err := b.Profile(t.Context(), u.ID); err != nil || profile.Pending != "new@example.com" || profile.Email != u.Email {
		t.Errorf("%+v, %v", profile, err)
	}
	_, err = b.ChangeEmail(t.Context(), p, first, "")
	wantError(t, err, app.Conflict, "link_used")
	if from, to, err := b.EmailLink(t.Context(), token); err != nil || from != u.Email || to != "new@example.com" {
		t.Errorf("%s %s %v", from, to, err)
	}
	for _, reader := range []app.Principal{visitorAt("192.0.2.7"), at(bob, "192.0.2.8")} {
		for _, typed := range []string{"", "not the password"} {
			_, err := b.ChangeEmail(t.Context(), reader, token, typed)
			wantError(t, err, app.Invalid, "wrong_password")
		}
	}
	if read, err := b.User(t.Context(), u.ID); err != nil || read.Email != u.Email {
		t.Fatalf("moved without the password: %+v, %v", read, err)
	}
	if _, err := b.ChangeEmail(t.Context(), visitorAt("192.0.2.7"), token, goodPassword); err != nil {
		t.Fatal(err)
	}
	if read, err := b.User(t.Context(), u.ID); err != nil || read.Email != "new@example.com" || !read.Verified {
		t.Errorf("%+v, %v", read, err)
	}
	if m, _ := mailed(t, post, "email_changed", u.Email); m.ID == "" || b.audited(t, "user.email_changed", u.AccountID) != 1 {
		t.Error("the old address was not told")
	}
	_, err = b.ChangeEmail(t.Context(), p, token, "")
	wantError(t, err, app.Conflict, "link_used")
}

func TestAnAddressThatAnotherUserTookStaysTheirs(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	_, err := b.AskEmail(t.Context(), u.Principal(), goodPassword, "wanted@example.com")
	must(t, err)
	_, token := mailed(t, post, "change_email", "wanted@example.com")
	b.member(t, "wanted@example.com")
	_, err = b.ChangeEmail(t.Context(), u.Principal(), token, "")
	wantError(t, err, app.Conflict, "email_taken")
	if read, err := b.User(t.Context(), u.ID); err != nil || read.Email != u.Email {
		t.Errorf("%+v, %v", read, err)
	}
}

func TestANameIsTidiedAndBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.member(t, "ada@example.com")
	must(t, b.Rename(t.Context(), u.Principal(), "  Ada   Lovelace "))
	if p, err := b.Profile(t.Context(), u.ID); err != nil || p.Name != "Ada Lovelace" || b.audited(t, "user.renamed", u.AccountID) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{strings.Repeat("é", 81), "a\x00b", "a\u200bb", "\xff"} {
		wantError(t, b.Rename(t.Context(), u.Principal(), bad), app.Invalid, "invalid_name")
	}
}

// device is what shows codes.
type device struct {
	b      bundle
	secret string
}

func (d device) code(t *testing.T) string {
	t.Helper()
	code, err := totp.GenerateCode(d.secret, d.b.clock.Now())
	must(t, err)
	return code
}

// enrolled turns on sign-in codes, and waits for the code after the one that did it.
func enrolled(t *testing.T, b bundle, u User) (device, []string) {
	t.Helper()
	must(t, b.BeginTOTP(t.Context(), u.Principal(), goodPassword))
	e, pending, err := b.PendingTOTP(t.Context(), u)
	if err != nil || !pending || !strings.Contains(e.URL, "otpauth://totp/") {
		t.Fatalf("%+v, %v, %v", e, pending, err)
	}
	d := device{b, strings.ReplaceAll(e.Secret, " ", "")}
	codes, err := b.ConfirmTOTP(t.Context(), u.Principal(), d.code(t))
	must(t, err)
	b.clock.Advance(stepSeconds * time.Second)
	return d, codes
}

// half signs in with the password alone.
func half(t *testing.T, b bundle, u User) string {
	t.Helper()
	in, err := b.SignIn(t.Context(), u.Email, goodPassword, "192.0.2.1")
	if err != nil || in.Ticket == "" {
		t.Fatalf("no second step: %v", err)
	}
	return in.Ticket
}

func TestASecondStepIsAskedForAndTakesNoCodeTwice(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	if in, err := b.SignIn(t.Context(), u.Email, goodPassword, "192.0.2.1"); err != nil || in.Ticket != "" {
		t.Fatalf("%+v, %v", in, err)
	}
	must(t, b.BeginTOTP(t.Context(), u.Principal(), goodPassword))
	_, err := b.ConfirmTOTP(t.Context(), u.Principal(), "000000")
	wantError(t, err, app.Unauthenticated, "invalid_code")
	if in, err := b.SignIn(t.Context(), u.Email, goodPassword, "192.0.2.1"); err != nil || in.Ticket != "" {
		t.Fatal("a second step before it was proved")
	}
	d, codes := enrolled(t, b, u)
	if len(codes) != recoveryCodes || b.audited(t, "user.totp_enabled", u.AccountID) != 1 {
		t.Errorf("%d codes", len(codes))
	}
	if m, _ := mailed(t, post, "totp_enabled", u.Email); m.ID == "" {
		t.Error("no mail was sent")
	}
	if n := count(t, b.db, `select count(*) from totp_secrets where position(convert_to($1, 'UTF8') in seed) > 0`, d.secret); n != 0 {
		t.Error("the seed is stored as it is")
	}
	ticket, code := half(t, b, u), d.code(t)
	if in, err := b.FinishSignIn(t.Context(), ticket, code[:3]+" "+code[3:], app.Origin{}); err != nil || in.ID != u.ID {
		t.Fatalf("%+v, %v", in, err)
	}
	_, err = b.FinishSignIn(t.Context(), half(t, b, u), code, app.Origin{})
	wantError(t, err, app.Unauthenticated, "code_used")
	b.clock.Advance(-stepSeconds * time.Second)
	earlier := d.code(t)
	b.clock.Advance(stepSeconds * time.Second)
	_, err = b.FinishSignIn(t.Context(), half(t, b, u), earlier, app.Origin{})
	wantError(t, err, app.Unauthenticated, "code_used")
	wantError(t, b.BeginTOTP(t.Context(), u.Principal(), goodPassword), app.Conflict, "totp_enabled")
}

func TestOneCodeOpensOneSessionHoweverManyTryAtOnce(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	d, _ := enrolled(t, b, u)
	ticket, code := half(t, b, u), d.code(t)
	var in atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := b.FinishSignIn(t.Context(), ticket, code, app.Origin{}); err == nil {
				in.Add(1)
			}
		})
	}
	all.Wait()
	if in.Load() != 1 {
		t.Errorf("%d signed in", in.Load())
	}
}

func TestCodesCannotBeGuessedWithoutEnd(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	d, _ := enrolled(t, b, u)
	ticket := half(t, b, u)
	for range secondStep.free {
		_, err := b.FinishSignIn(t.Context(), ticket, "000000", app.Origin{})
		wantError(t, err, app.Unauthenticated, "invalid_code")
	}
	_, err := b.FinishSignIn(t.Context(), ticket, d.code(t), app.Origin{})
	wantError(t, err, app.Exhausted, "too_many_attempts")
	b.clock.Advance(time.Minute)
	if _, err := b.FinishSignIn(t.Context(), ticket, d.code(t), app.Origin{}); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	for range 3 * secondStep.free { // correct codes never wait
		b.clock.Advance(stepSeconds * time.Second)
		if _, err := b.FinishSignIn(t.Context(), half(t, b, u), d.code(t), app.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestATicketIsGoodForTenMinutesAndItsPassword(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	d, _ := enrolled(t, b, u)
	for _, bad := range []string{"", "AAAA", "not base32!", half(t, b, u)[16:]} {
		_, err := b.FinishSignIn(t.Context(), bad, d.code(t), app.Origin{})
		wantError(t, err, app.Unauthenticated, "ticket_expired")
	}
	old := half(t, b, u)
	b.clock.Advance(ticketMax)
	_, err := b.FinishSignIn(t.Context(), old, d.code(t), app.Origin{})
	wantError(t, err, app.Unauthenticated, "ticket_expired")
	stolen := half(t, b, u)
	must(t, b.AskReset(t.Context(), u.Email, "192.0.2.1"))
	_, token := mailed(t, post, "reset_password", u.Email)
	must(t, b.ResetPassword(t.Context(), token, nextPassword, app.Origin{}))
	_, err = b.FinishSignIn(t.Context(), stolen, d.code(t), app.Origin{})
	wantError(t, err, app.Unauthenticated, "ticket_expired")
	if in, err := b.SignIn(t.Context(), u.Email, nextPassword, "192.0.2.1"); err != nil || in.Ticket == "" {
		t.Errorf("a new password ended the second step: %v", err)
	}
}

func TestARecoveryCodeStandsInOnceAndIsRenewed(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	_, codes := enrolled(t, b, u)
	if _, err := b.FinishSignIn(t.Context(), half(t, b, u), strings.ToUpper(codes[3]), app.Origin{}); err != nil {
		t.Fatal(err)
	}
	if m, _ := mailed(t, post, "code_used", u.Email); !strings.Contains(m.Text, "9 of 10") {
		t.Errorf("told %q", m.Text)
	}
	_, err := b.FinishSignIn(t.Context(), half(t, b, u), codes[3], app.Origin{})
	wantError(t, err, app.Unauthenticated, "invalid_code")
	_, err = b.RenewCodes(t.Context(), u.Principal(), "not the password")
	wantError(t, err, app.Invalid, "wrong_password")
	fresh, err := b.RenewCodes(t.Context(), u.Principal(), goodPassword)
	must(t, err)
	_, err = b.FinishSignIn(t.Context(), half(t, b, u), codes[4], app.Origin{})
	wantError(t, err, app.Unauthenticated, "invalid_code")
	if _, err := b.FinishSignIn(t.Context(), half(t, b, u), fresh[0], app.Origin{}); err != nil {
		t.Error(err)
	}
	if s, err := b.Security(t.Context(), u.ID); err != nil || s.CodesLeft != 9 || s.EnabledAt == nil {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestTheSecondStepEndsWithPasswordAndCode(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	d, codes := enrolled(t, b, u)
	p := u.Principal()
	wantError(t, b.DisableTOTP(t.Context(), p, "not the password", d.code(t)), app.Invalid, "wrong_password")
	wantError(t, b.DisableTOTP(t.Context(), p, goodPassword, "000000"), app.Unauthenticated, "invalid_code")
	must(t, b.DisableTOTP(t.Context(), p, goodPassword, codes[0]))
	if in, err := b.SignIn(t.Context(), u.Email, goodPassword, "192.0.2.1"); err != nil || in.Ticket != "" {
		t.Errorf("%+v, %v", in, err)
	}
	if n := count(t, b.db, `select count(*) from recovery_codes`); n != 0 || b.audited(t, "user.totp_disabled", u.AccountID) != 1 {
		t.Errorf("%d codes are left", n)
	}
	wantError(t, b.RemoveTOTP(t.Context(), u.Email), app.Conflict, "totp_disabled")
	enrolled(t, b, u)
	must(t, b.RemoveTOTP(t.Context(), u.Email))
	if n := count(t, b.db, `select count(*) from audit_entries where action = 'user.totp_disabled' and actor = 'operator'`); n != 1 {
		t.Error("the operator is not in the log")
	}
}

func TestSetUpThatNoOneFinishedIsForgotten(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	must(t, b.BeginTOTP(t.Context(), u.Principal(), goodPassword))
	b.clock.Advance(enrolMax)
	if _, pending, err := b.PendingTOTP(t.Context(), u); err != nil || pending {
		t.Errorf("%v, %v", pending, err)
	}
	_, err := b.ConfirmTOTP(t.Context(), u.Principal(), "000000")
	wantError(t, err, app.Conflict, "totp_expired")
	b.clock.Advance(time.Second)
	must(t, b.sweep(t.Context()))
	if count(t, b.db, `select count(*) from totp_secrets`) != 0 {
		t.Error("it is still there")
	}
}

func TestAnotherSecretKeyOpensNoSeed(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	_, codes := enrolled(t, b, u)
	b.vault = newVault([32]byte{8})
	if _, err := b.FinishSignIn(t.Context(), half(t, b, u), "123456", app.Origin{}); err == nil || app.KindOf(err) != app.Internal {
		t.Errorf("%v", err)
	}
	_, err := b.FinishSignIn(t.Context(), half(t, b, u), codes[0], app.Origin{})
	wantError(t, err, app.Unauthenticated, "invalid_code")
}

func TestALinkOfAnOperatorWorksWithoutMail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.member(t, "ada@example.com")
	path, err := b.MakeResetLink(t.Context(), app.Origin{}, u.Email)
	must(t, err)
	must(t, b.ResetPassword(t.Context(), strings.TrimPrefix(path, resetPath), nextPassword, app.Origin{}))
	if in, err := b.SignIn(t.Context(), u.Email, nextPassword, "192.0.2.1"); err != nil || in.ID != u.ID {
		t.Error(err)
	}
	_, err = b.MakeResetLink(t.Context(), app.Origin{}, "unknown@example.com")
	wantError(t, err, app.NotFound, "user_not_found")
}
