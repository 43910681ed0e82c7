package account

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/app/mail"
	"umg/app/postgres/pgtest"
	"umg/app/trial"
)

var linkPattern = regexp.MustCompile(`https://gateway\.example/console/verify\?token=(\S+)`)

// verifying is a service with mail, whose mails stay in the store.
func verifying(t *testing.T, change ...func(*Options)) (bundle, *mail.Service) {
	t.Helper()
	db := pgtest.New(t)
	var post *mail.Service
	b := setupOn(db, append([]func(*Options){func(o *Options) {
		var err error
		post, err = mail.New(db, mail.Options{Key: [32]byte{7}, Now: o.Now, IDs: app.IDs{Now: o.Now, Random: rand.Reader}, Log: slog.New(slog.DiscardHandler)})
		must(t, err)
		o.Mail, o.BaseURL, o.SignUpsMax = post, "https://gateway.example", 10_000
		o.Trial = trial.Policy{Amount: 5 * app.Dollar, Days: 30, RequireVerified: true}
	}}, change...)...)
	return b, post
}

// unverified makes a user without the cost of a password, and returns the token of the link sent to them.
func (b bundle) unverified(t *testing.T, post *mail.Service, email string) (User, string) {
	t.Helper()
	u := b.member(t, email)
	must(t, b.ledger.OpenAccount(t.Context(), b.db, u.AccountID))
	must(t, b.ResendLink(t.Context(), u.ID, "203.0.113.1"))
	return u, lastToken(t, post, email)
}

// at is the user in a session of theirs at an address.
func at(u User, ip string) app.Principal {
	p := u.Principal()
	p.From = app.Origin{IP: ip}
	return p
}

// visitorAt is a reader at an address who is not signed in.
func visitorAt(ip string) app.Principal { return app.Principal{From: app.Origin{IP: ip}} }

func lastToken(t *testing.T, post *mail.Service, email string) string {
	t.Helper()
	mails, err := post.Outbox(t.Context(), 200)
	must(t, err)
	for _, m := range mails {
		if found := linkPattern.FindStringSubmatch(m.Text); m.To == email && found != nil {
			token, err := url.QueryUnescape(found[1])
			must(t, err)
			return token
		}
	}
	t.Fatalf("no link was sent to %s", email)
	return ""
}

func (b bundle) balance(t *testing.T, u User) app.Amount {
	t.Helper()
	balance, err := b.ledger.Balance(t.Context(), u.AccountID)
	must(t, err)
	return balance.Posted
}

func TestTheTrialComesWithTheVerifiedAddress(t *testing.T) {
	t.Parallel()
	b, post := verifying(t)
	u, err := b.SignUp(t.Context(), SignUp{Email: "ada@example.com", Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	if b.balance(t, u) != 0 || u.Verified {
		t.Fatal("credit before the address is verified")
	}
	token := lastToken(t, post, "ada@example.com")
	for range 3 { // Some programs open every link of a mail.
		if email, err := b.Link(t.Context(), token); err != nil || email != "ada@example.com" {
			t.Fatalf("%q, %v", email, err)
		}
	}
	v, err := b.VerifyEmail(t.Context(), visitorAt("192.0.2.1"), token, goodPassword)
	if err != nil || !v.User.Verified || v.Trial.Amount != 5*app.Dollar || b.balance(t, u) != 5*app.Dollar {
		t.Fatalf("%+v, %v", v, err)
	}
	_, err = b.VerifyEmail(t.Context(), visitorAt("192.0.2.1"), token, goodPassword)
	wantError(t, err, app.Conflict, "link_used")
	wantError(t, b.ResendLink(t.Context(), u.ID, "192.0.2.1"), app.Conflict, "email_verified")
	if n := count(t, b.db, `select count(*) from email_links where position(encode(token_hash, 'base64') in $1) > 0`, token); n != 0 {
		t.Error("a token is stored as it is")
	}
}

func TestALinkThatIsNoGoodSaysWhy(t *testing.T) {
	t.Parallel()
	b, post := verifying(t)
	u, token := b.unverified(t, post, "ada@example.com")
	for _, bad := range []string{"", "x", token[1:], token + "A", strings.Repeat("A", 43), "\x00"} {
		_, err := b.VerifyEmail(t.Context(), at(u, "192.0.2.1"), bad, "")
		wantError(t, err, app.NotFound, "link_unknown")
		_, err = b.Link(t.Context(), bad)
		wantError(t, err, app.NotFound, "link_unknown")
	}
	if _, err := b.db.Exec(`update users set email = 'new@example.com' where id = $1`, u.ID); err != nil {
		t.Fatal(err)
	}
	_, err := b.VerifyEmail(t.Context(), at(u, "192.0.2.1"), token, "")
	wantError(t, err, app.Conflict, "link_void")
	_, err = b.db.Exec(`update users set email = 'ada@example.com' where id = $1`, u.ID)
	must(t, err)
	b.clock.Advance(linkAgeMax)
	_, err = b.VerifyEmail(t.Context(), at(u, "192.0.2.1"), token, "")
	wantError(t, err, app.Conflict, "link_expired")
	b.clock.Advance(linkKeptMax + time.Second)
	must(t, b.sweep(t.Context()))
	_, err = b.VerifyEmail(t.Context(), at(u, "192.0.2.1"), token, "")
	wantError(t, err, app.NotFound, "link_unknown")
	if read, err := b.User(t.Context(), u.ID); err != nil || read.Verified {
		t.Errorf("%+v, %v", read, err)
	}
}

func TestLinksCannotBeAskedForWithoutEnd(t *testing.T) {
	t.Parallel()
	b, post := verifying(t)
	u, first := b.unverified(t, post, "ada@example.com")
	sent := 1
	for range 20 {
		if err := b.ResendLink(t.Context(), u.ID, "192.0.2.1"); err == nil {
			sent++
		} else {
			wantError(t, err, app.Exhausted, "too_many_attempts")
		}
	}
	if sent != linkEmail.free {
		t.Errorf("%d links were sent at once", sent)
	}
	if _, err := b.VerifyEmail(t.Context(), at(u, "192.0.2.1"), first, ""); err != nil {
		t.Errorf("the first of them: %v", err)
	}
}

// TestAHundredAtOnceGetOneTrial is a hundred spellings of one mailbox, each with an account of its own, and one link opened
// by many at once.
func TestAHundredAtOnceGetOneTrial(t *testing.T) {
	t.Parallel()
	b, post := verifying(t, func(o *Options) { o.Trial.NetworkDayMax = 1000 })
	users := map[string]User{}
	for i := range 100 {
		email := fmt.Sprintf("a.da+%d@gmail.com", i)
		if i%2 == 1 {
			email = fmt.Sprintf("ad.a+%d@googlemail.com", i)
		}
		u := b.member(t, email)
		must(t, b.ledger.OpenAccount(t.Context(), b.db, u.AccountID))
		b.clock.Advance(time.Hour)
		must(t, b.ResendLink(t.Context(), u.ID, fmt.Sprintf("203.0.%d.1", i)))
		users[lastToken(t, post, email)] = u
		b.clock.Advance(-time.Hour)
	}
	var given, had atomic.Int32
	var all sync.WaitGroup
	for token, u := range users {
		for range 2 {
			all.Go(func() {
				v, err := b.VerifyEmail(t.Context(), at(u, "192.0.2.1"), token, "")
				switch {
				case err != nil:
					wantErrorOf(t, err, "link_used")
				case v.Trial.Amount > 0:
					given.Add(1)
				case v.Trial.Refusal != nil && v.Trial.Refusal.Code == "trial_had":
					had.Add(1)
				}
			})
		}
	}
	all.Wait()
	if n := count(t, b.db, `select count(*) from grants where kind = 'trial'`); given.Load() != 1 || had.Load() != 99 || n != 1 {
		t.Errorf("%d trials given, %d refused, %d grants", given.Load(), had.Load(), n)
	}
	if n := count(t, b.db, `select count(*) from users where verified_at is not null`); n != 100 {
		t.Errorf("%d are verified", n)
	}
}

func wantErrorOf(t *testing.T, err error, code string) {
	t.Helper()
	if e := app.AsError(err); e.Code != code {
		t.Errorf("%v, want %s", err, code)
	}
}

func TestTrialsOfADayAreLimited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*trial.Policy)
		email  func(i int) string
		ip     func(i int) string
		given  int
		code   string
	}{
		"one network": {networkOfTwo, mailbox, func(i int) string { return fmt.Sprintf("198.51.100.%d", i) }, 2, "trial_network_limit"},
		"one subnet":  {networkOfTwo, mailbox, func(i int) string { return fmt.Sprintf("2001:db8::%d", i+1) }, 2, "trial_network_limit"},
		"one domain": {
			func(p *trial.Policy) { p.DomainDayMax = 2 }, func(i int) string { return fmt.Sprintf("a@n%d.farm.example.com", i) },
			apart, 2, "trial_domain_limit",
		},
		"a domain of millions": {func(p *trial.Policy) { p.DomainDayMax = 2 }, mailbox, apart, 4, ""},
		"all together":         {func(p *trial.Policy) { p.DailyMax = 3*p.Amount - 1 }, mailbox, apart, 2, "trial_daily_limit"},
		"to throw away": {
			func(*trial.Policy) {}, func(i int) string { return fmt.Sprintf("a%d@box.mailinator.com", i) }, apart, 0, "trial_disposable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, post := verifying(t, func(o *Options) { c.change(&o.Trial) })
			given := 0
			var last User
			for i := range 4 {
				u, token := b.unverified(t, post, c.email(i))
				v, err := b.VerifyEmail(t.Context(), at(u, c.ip(i)), token, "")
				switch {
				case err != nil || !v.User.Verified:
					t.Fatal(err)
				case v.Trial.Amount > 0:
					given++
				default:
					last = u
					if v.Trial.Refusal == nil || v.Trial.Refusal.Code != c.code {
						t.Errorf("refused: %v", v.Trial.Refusal)
					}
				}
			}
			if given != c.given {
				t.Errorf("%d trials, want %d", given, c.given)
			}
			if last.ID == "" || c.code == "trial_disposable" {
				return
			}
			b.clock.Advance(24*time.Hour + time.Second)
			if trial, err := b.ClaimTrial(t.Context(), last.ID, "203.0.113.9"); err != nil || trial.Amount == 0 {
				t.Errorf("the day after: %+v, %v", trial, err)
			}
			trial, err := b.ClaimTrial(t.Context(), last.ID, "203.0.113.9")
			if err != nil || trial.Refusal == nil || trial.Refusal.Code != "trial_had" {
				t.Errorf("again: %+v, %v", trial, err)
			}
		})
	}
}

func networkOfTwo(p *trial.Policy) { p.NetworkDayMax = 2 }

func mailbox(i int) string { return fmt.Sprintf("person%d@gmail.com", i) }

func apart(i int) string { return fmt.Sprintf("10.0.%d.1", i) }

func TestWithoutMailNoOneIsVerifiedAndTrialsAreTheOperatorsChoice(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Trial = trial.Policy{Amount: app.Dollar, RequireVerified: true} })
	u, err := b.SignUp(t.Context(), SignUp{Email: "ada@example.com", Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	if open, err := b.TrialOpen(t.Context(), u); err != nil || open || b.Verifies() || b.balance(t, u) != 0 {
		t.Errorf("open %v, balance %s, %v", open, b.balance(t, u), err)
	}
	wantError(t, b.ResendLink(t.Context(), u.ID, "192.0.2.1"), app.Conflict, "verification_off")
	v, err := b.Vouch(t.Context(), "ada@example.com")
	if err != nil || !v.User.Verified || v.Trial.Amount != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestAnOperatorsWordVerifiesAnAddress(t *testing.T) {
	t.Parallel()
	b, _ := verifying(t)
	u := b.member(t, "ada@example.com")
	must(t, b.ledger.OpenAccount(t.Context(), b.db, u.AccountID))
	if v, err := b.Vouch(t.Context(), "Ada@Example.com"); err != nil || !v.User.Verified || b.balance(t, u) != 5*app.Dollar {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := b.Vouch(t.Context(), "ada@example.com"); err != nil || v.Trial.Amount != 0 || b.balance(t, u) != 5*app.Dollar {
		t.Errorf("again: %+v, %v", v, err)
	}
	_, err := b.Vouch(t.Context(), "eve@example.com")
	wantError(t, err, app.NotFound, "user_not_found")
}
