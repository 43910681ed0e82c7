package console_test

import (
	"crypto/rand"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"umg/app"
	"umg/app/account"
	"umg/app/apptest"
	"umg/app/console"
	"umg/app/mail"
	"umg/app/postgres/pgtest"
)

const nextPassword = "another quiet sentence"

var (
	secretShown   = regexp.MustCompile(`id="totp-secret"[^>]*>([A-Z2-7 ]+)<`)
	recoveryShown = regexp.MustCompile(`<code>([0-9a-z]{5}-[0-9a-z]{5})</code>`)
	sessionShown  = regexp.MustCompile(`/sessions/(ses_[0-9a-z]+)/end`)
	changeLink    = regexp.MustCompile(`http://gateway\.test(/console/(?:reset|email)\?token=(\S+))`)
)

// posting is a console whose server sends mail.
func posting(t *testing.T) (*fixture, *mail.Service) {
	t.Helper()
	db := pgtest.New(t)
	ids, log := app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler)
	post, err := mail.New(db, mail.Options{Key: [32]byte{7}, Now: time.Now, IDs: ids, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return newFixture(t, db, db, nil, func(o *console.Options) {
		o.Accounts = account.New(db, o.Ledger, account.Options{
			PasswordMemoryKiB: apptest.PasswordMemoryKiB,
			Now:               time.Now, IDs: ids, Random: rand.Reader, Log: log, Mail: post, BaseURL: "http://gateway.test", Key: [32]byte{1},
		})
	}), post
}

func (p *person) wants(a reply, status int, says string) reply {
	p.t.Helper()
	if a.status != status || !strings.Contains(html.UnescapeString(a.body), says) && !strings.Contains(a.header.Get("Location"), says) {
		p.t.Fatalf("%d %s, want %d and %q:\n%s", a.status, a.header.Get("Location"), status, says, a.body)
	}
	return a
}

// enrol turns on sign-in codes and returns the secret and the recovery codes.
func (p *person) enrol() (string, [][]string) {
	p.t.Helper()
	const base = "/console/settings/security/codes"
	p.wants(p.send(base, nil), http.StatusUnprocessableEntity, "not your password")
	p.wants(p.send(base, url.Values{"current_password": {password}}), http.StatusSeeOther, base)
	page := p.wants(p.see(base), http.StatusOK, `class="qr"`)
	secret := strings.ReplaceAll(secretShown.FindStringSubmatch(page.body)[1], " ", "")
	p.wants(p.send(base+"/confirm", url.Values{"code": {"000000"}}), http.StatusUnprocessableEntity, "That code is not right")
	a := p.wants(p.send(base+"/confirm", url.Values{"code": {p.code(secret, 0)}}), http.StatusOK, "only time")
	codes := recoveryShown.FindAllStringSubmatch(a.body, -1)
	if len(codes) != 10 || !strings.Contains(a.body, `download="recovery-codes.txt"`) {
		p.t.Fatalf("%d codes", len(codes))
	}
	if strings.Contains(p.see("/console/settings/security").body, codes[0][1]) {
		p.t.Error("codes are shown again")
	}
	return secret, codes
}

func (p *person) code(secret string, later time.Duration) string {
	p.t.Helper()
	code, err := totp.GenerateCode(secret, time.Now().Add(later))
	if err != nil {
		p.t.Fatal(err)
	}
	return code
}

func TestSigningInTakesTwoStepsAndNothingBetweenThem(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret, codes := h.signedIn("ada@example.com").enrol()
	p := h.visitor()
	p.wants(p.see("/console/sign-in/code"), http.StatusSeeOther, "/console/sign-in")
	form := url.Values{"email": {"ada@example.com"}, "password": {password}, "next": {"/console/keys"}}
	p.wants(p.send("/console/sign-in", form), http.StatusSeeOther, "/console/sign-in/code?next=%2Fconsole%2Fkeys")
	first := p.cookies["__Host-umg"]
	p.send("/console/sign-in", form)
	planted := p.cookies["__Host-umg"].Value
	if planted == first.Value {
		t.Error("a session that an attacker planted learns that the password was right")
	}
	planter := h.visitor()
	planter.cookies["__Host-umg"] = first
	planter.wants(planter.see("/console/sign-in/code"), http.StatusSeeOther, "/console/sign-in")
	// A user who gave only the password is not signed in on any page.
	for _, r := range console.Routes() {
		if r.Open || r.Method != http.MethodGet {
			continue
		}
		if a := p.see(path(r)); a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/console/sign-in") {
			t.Fatalf("%s opened: %d %s", r.Path, a.status, a.header.Get("Location"))
		}
	}
	p.wants(p.see("/console/sign-in/code?next=/console/keys"), http.StatusOK, "one-time-code")
	p.wants(p.send("/console/sign-in/code", url.Values{"code": {"000000"}}), http.StatusUnprocessableEntity, "That code is not right")
	a := p.send("/console/sign-in/code", url.Values{"code": {p.code(secret, 30*time.Second)}, "next": {"/console/keys"}})
	p.wants(a, http.StatusSeeOther, "/console/keys")
	if p.cookies["__Host-umg"].Value == planted {
		t.Error("the session of before was taken over")
	}
	p.wants(p.see("/console/keys"), http.StatusOK, "API keys")
	stranger := h.visitor()
	stranger.cookies["__Host-umg"] = &http.Cookie{Name: "__Host-umg", Value: planted}
	stranger.wants(stranger.see("/console/keys"), http.StatusSeeOther, "/console/sign-in")
	stranger.wants(stranger.send("/console/sign-in/code", url.Values{"code": {codes[0][1]}}), http.StatusSeeOther, "/console/sign-in")

	q := h.visitor()
	q.wants(q.send("/console/sign-in", form), http.StatusSeeOther, "/console/sign-in/code")
	q.wants(q.see("/console/sign-in/code?with=recovery"), http.StatusOK, "Recovery code")
	recovery := url.Values{"code": {codes[1][1]}, "with": {"recovery"}}
	q.wants(q.send("/console/sign-in/code", recovery), http.StatusSeeOther, "/console")
	q.wants(q.see("/console/settings/security"), http.StatusOK, "9 recovery codes are left")
	q.wants(q.send("/console/settings/security/codes/off", url.Values{"current_password": {password}, "code": {codes[1][1]}}),
		http.StatusUnprocessableEntity, "used already")
	q.wants(q.send("/console/settings/security/recovery", url.Values{"current_password": {"no"}}), http.StatusUnprocessableEntity, "not your password")
	q.wants(q.send("/console/settings/security/recovery", url.Values{"current_password": {password}}), http.StatusOK, "no longer work")
	q.wants(q.send("/console/settings/security/codes/off", url.Values{"current_password": {password}, "code": {codes[2][1]}}),
		http.StatusUnprocessableEntity, "not right")
}

func TestCodesAreThrottledOnThePageToo(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.signedIn("ada@example.com").enrol()
	p := h.visitor()
	p.send("/console/sign-in", url.Values{"email": {"ada@example.com"}, "password": {password}})
	for range 10 {
		if a := p.send("/console/sign-in/code", url.Values{"code": {"000000"}}); a.status == http.StatusTooManyRequests {
			p.wants(a, http.StatusTooManyRequests, "Too many attempts")
			return
		}
	}
	t.Error("ten wrong codes were never slowed down")
}

func TestALostPasswordIsFoundByMail(t *testing.T) {
	t.Parallel()
	h, post := posting(t)
	p := h.signedIn("ada@example.com")
	v := h.visitor()
	v.wants(v.see("/console/sign-in"), http.StatusOK, `href="/console/forgot"`)
	v.wants(v.see("/console/forgot"), http.StatusOK, "Send me a link")
	v.wants(v.send("/console/forgot", url.Values{"email": {"no-address"}}), http.StatusUnprocessableEntity, `id="email-error"`)
	known := v.send("/console/forgot", url.Values{"email": {"ada@example.com"}})
	unknown := v.send("/console/forgot", url.Values{"email": {"bob@example.com"}})
	if known.status != http.StatusOK || strings.ReplaceAll(known.body, "ada@", "bob@") != unknown.body {
		t.Errorf("the answers differ:\n%s\n%s", known.body, unknown.body)
	}
	link := sentLink(t, post, "ada@example.com")
	for range 2 {
		v.wants(v.see(link[1]), http.StatusOK, "Set the password")
	}
	v.wants(v.send("/console/reset", url.Values{"token": {link[2]}, "password": {"short"}}), http.StatusUnprocessableEntity, "at least 12")
	p.wants(p.send("/console/reset", url.Values{"token": {link[2]}, "password": {nextPassword}}), http.StatusOK, "Your password was changed")
	p.wants(p.see("/console"), http.StatusSeeOther, "/console/sign-in")
	v.wants(v.see(link[1]), http.StatusConflict, "This link does not work")
	v.wants(v.send("/console/reset", url.Values{"token": {"x"}, "password": {nextPassword}}), http.StatusNotFound, "This link does not work")
	v.wants(v.send("/console/sign-in", url.Values{"email": {"ada@example.com"}, "password": {nextPassword}}), http.StatusSeeOther, "/console")
}

func TestAServerWithoutMailSaysSo(t *testing.T) {
	t.Parallel()
	h := setup(t)
	v := h.visitor()
	v.wants(v.see("/console/forgot"), http.StatusOK, "gateway operator reset-link")
	v.wants(v.send("/console/forgot", url.Values{"email": {"ada@example.com"}}), http.StatusConflict, "sends no mail")
	p := h.signedIn("ada@example.com")
	p.wants(p.see("/console/settings"), http.StatusOK, "sends no mail")
	a := p.send("/console/settings/email", url.Values{"email": {"new@example.com"}, "current_password": {password}})
	p.wants(a, http.StatusUnprocessableEntity, "sends no mail")
}

// sentLink is the latest link to an address that changes how its reader signs in.
func sentLink(t *testing.T, post *mail.Service, to string) []string {
	t.Helper()
	mails, err := post.Outbox(t.Context(), 50)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mails {
		if link := changeLink.FindStringSubmatch(m.Text); m.To == to && link != nil {
			return link
		}
	}
	t.Fatalf("no link was sent to %s", to)
	return nil
}

func TestAProfileByPlainForms(t *testing.T) {
	t.Parallel()
	h, post := posting(t)
	p, q := h.signedIn("ada@example.com"), h.visitor()
	q.send("/console/sign-in", url.Values{"email": {"ada@example.com"}, "password": {password}})
	p.wants(p.send("/console/settings/name", url.Values{"name": {`<b>Ada</b>`}}), http.StatusSeeOther, "/console/settings")
	if a := p.see("/console/settings"); !strings.Contains(a.body, `value="&lt;b&gt;Ada&lt;/b&gt;"`) || !strings.Contains(a.body, "Your name was saved") {
		t.Errorf("%s", a.body)
	}
	p.wants(p.send("/console/settings/name", url.Values{"name": {strings.Repeat("x", 81)}}), http.StatusUnprocessableEntity, `id="name-error"`)
	email := func(address, secret string) reply {
		return p.send("/console/settings/email", url.Values{"email": {address}, "current_password": {secret}})
	}
	p.wants(email("new@example.com", "no"), http.StatusUnprocessableEntity, `id="email-password-error"`)
	p.wants(email("new", password), http.StatusUnprocessableEntity, `id="new-email-error"`)
	p.wants(email("new@example.com", password), http.StatusSeeOther, "/console/settings")
	p.wants(p.see("/console/settings"), http.StatusOK, "One step is left")
	link := sentLink(t, post, "new@example.com")
	v := h.visitor()
	v.wants(v.see(link[1]), http.StatusOK, "Use this address")
	v.wants(v.send("/console/email", url.Values{"token": {link[2]}, "password": {password}}), http.StatusOK, "From now on you sign in with")
	v.wants(v.send("/console/email", url.Values{"token": {link[2]}}), http.StatusConflict, "This link does not work")
	// The link was the first verification of an address of the user, which ends all sessions.
	p.wants(p.see("/console/settings"), http.StatusSeeOther, "/console/sign-in")
	p.wants(p.send("/console/sign-in", url.Values{"email": {"new@example.com"}, "password": {password}}), http.StatusSeeOther, "/console")
	p.wants(p.see("/console/settings"), http.StatusOK, "new@example.com")

	change := func(current, next string) reply {
		return p.send("/console/settings/password", url.Values{"current_password": {current}, "password": {next}})
	}
	p.wants(change(password, "short"), http.StatusUnprocessableEntity, `id="password-error"`)
	p.wants(change("not it", nextPassword), http.StatusUnprocessableEntity, `id="current-password-error"`)
	p.wants(change(password, nextPassword), http.StatusSeeOther, "/console/settings")
	p.wants(p.see("/console/settings"), http.StatusOK, "Last changed on")
	q.wants(q.see("/console"), http.StatusSeeOther, "/console/sign-in")
}

func TestSessionsAreSeenAndEndedByTheirUserOnly(t *testing.T) {
	t.Parallel()
	h := setup(t)
	p, q, eve := h.signedIn("ada@example.com"), h.visitor(), h.signedIn("eve@example.com")
	const page, phone = "/console/settings/security", "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile/15E148 Safari/604.1"
	q.headers["User-Agent"] = phone
	form := url.Values{"email": {"ada@example.com"}, "password": {password}}
	q.send("/console/sign-in", form)
	a := p.wants(p.see(page), http.StatusOK, "Safari on iPhone")
	ids := sessionShown.FindAllStringSubmatch(a.body, -1)
	if len(ids) != 1 || !strings.Contains(a.body, "This session") {
		t.Fatalf("%d other sessions", len(ids))
	}
	theirs, unknown := eve.send(page+"/sessions/"+ids[0][1]+"/end", nil), eve.send(page+"/sessions/ses_none/end", nil)
	if theirs.status != http.StatusNotFound || unknown.status != http.StatusNotFound {
		t.Errorf("%d %d", theirs.status, unknown.status)
	}
	q.wants(q.see("/console"), http.StatusOK, "ada@example.com")
	p.wants(p.send(page+"/sessions/"+ids[0][1]+"/end", nil), http.StatusSeeOther, page)
	q.wants(q.see("/console"), http.StatusSeeOther, "/console/sign-in")
	q.send("/console/sign-in", form)
	p.wants(p.send(page+"/sessions/end", nil), http.StatusSeeOther, page)
	p.wants(p.see(page), http.StatusOK, "signed in nowhere else")
	q.wants(q.see("/console"), http.StatusSeeOther, "/console/sign-in")
	p.wants(p.send(page+"/sessions/end", nil), http.StatusSeeOther, page)
	p.wants(p.see(page), http.StatusOK, "There was no other session")
}
