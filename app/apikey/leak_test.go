package apikey

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/mail"
	"umg/app/postgres/pgtest"
)

// leakMails counts what was sent about leaks, by address.
func leakMails(t *testing.T, post *mail.Service) map[string]int {
	t.Helper()
	mails, err := post.Outbox(t.Context(), 200)
	must(t, err)
	sent := map[string]int{}
	for _, m := range mails {
		if m.Kind == "key_leaked" {
			sent[m.To]++
		}
	}
	return sent
}

// joins makes a user a member of an account.
func (b bundle) joins(t *testing.T, accountID, email string, role app.Role) account.User {
	t.Helper()
	u := b.member(t, email)
	_, err := b.db.Exec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, $3, $4)`, accountID, u.ID, role, b.clock.Now())
	must(t, err)
	return u
}

func TestALeakedSecretIsRefusedByEveryRingWithinASecond(t *testing.T) {
	t.Parallel()
	for what, previous := range map[string]bool{"the secret in force": false, "the one of before": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b, post, u := proving(t, "ada@example.com")
			p := u.Principal()
			k, one := b.key(t, p, Spec{})
			_, two, err := b.keys.Rotate(t.Context(), p, k.ID, time.Hour)
			must(t, err)
			bystander, untouched := b.key(t, p, Spec{})
			rings := []*Cache{b.ring(t), b.ring(t), b.ring(t)}
			for _, r := range rings {
				run(t, r, pgtest.DSN(t, b.db))
				for _, s := range []string{one, two, untouched} {
					if code := finds(t, r, s, ""); code != "" {
						t.Fatal(code)
					}
				}
			}
			leak := LeakReport{Secret: two, URL: "https://code.example/a", Source: "commit"}
			if previous {
				leak.Secret = one
			}
			found, err := b.keys.ReportLeaks(t.Context(), []LeakReport{leak}, app.Origin{IP: "192.0.2.7", Agent: "scanner", RequestID: "req_1"}, true)
			if err != nil || !found[0] {
				t.Fatalf("%v, %v", found, err)
			}
			for _, r := range rings {
				eventually(t, time.Second, "the ring refuses both secrets", func() bool {
					return finds(t, r, one, "") == "key_disabled" && finds(t, r, two, "") == "key_disabled"
				})
				if code := finds(t, r, untouched, ""); code != "" {
					t.Errorf("the key %s beside it: %s", bystander.ID, code)
				}
			}
			b.leakIsWrittenDown(t, k, one, two)
			if sent := leakMails(t, post); len(sent) != 1 || sent["ada@example.com"] != 1 {
				t.Errorf("told %v", sent)
			}
		})
	}
}

// leakIsWrittenDown checks the entry about a leak that a partner reported.
func (b bundle) leakIsWrittenDown(t *testing.T, k Key, secrets ...string) {
	t.Helper()
	var row struct {
		Actor, IP, Agent, Changes string
		RequestID                 string `db:"request_id"`
	}
	must(t, b.db.Get(&row, `select actor, ip, agent, request_id, changes from audit_entries where action = 'key.leaked' and object_id = $1`, k.ID))
	if row.Actor != "system" || row.IP != "192.0.2.7" || row.Agent != "scanner" || row.RequestID != "req_1" ||
		!strings.Contains(row.Changes, "https://code.example/a") || !strings.Contains(row.Changes, "commit") {
		t.Errorf("%+v", row)
	}
	for _, s := range secrets {
		if strings.Contains(row.Changes, s) || strings.Contains(row.Changes, s[len(secretPrefix):]) {
			t.Error("the entry holds a secret")
		}
	}
}

func TestALeakedKeyComesBackOnlyWithAnotherSecretAndWithoutOverlap(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	p := u.Principal()
	k, old := b.key(t, p, Spec{})
	if ours, off := b.leaked(t, LeakReport{Secret: old}, true); !ours || !off {
		t.Fatalf("%v, %v", ours, off)
	}
	wantError(t, b.keys.Disable(t.Context(), p, k.ID, false), app.Conflict, "key_leaked")
	_, _, err := b.keys.Rotate(t.Context(), p, k.ID, time.Hour)
	if e := wantError(t, err, app.Invalid, "invalid_value"); e.Param != "overlap" {
		t.Errorf("%+v", e)
	}
	got, fresh, err := b.keys.Rotate(t.Context(), p, k.ID, 0)
	if err != nil || got.Secret.LeakedAt != nil || !got.Disabled {
		t.Fatalf("%+v, %v", got, err)
	}
	must(t, b.keys.Disable(t.Context(), p, k.ID, false))
	r := b.ring(t)
	if one, two := finds(t, r, old, ""), finds(t, r, fresh, ""); one != "invalid_api_key" || two != "" {
		t.Errorf("%q, %q", one, two)
	}
	if ours, off := b.leaked(t, LeakReport{Secret: old}, true); ours || off {
		t.Errorf("the secret that is gone switches the key off: %v, %v", ours, off)
	}
}

func TestOwnersAdminsAndTheMakerAreToldOfALeakOnce(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	b.joins(t, u.AccountID, "admin@example.com", app.RoleAdmin)
	b.joins(t, u.AccountID, "money@example.com", app.RoleBilling)
	b.joins(t, u.AccountID, "idle@example.com", app.RoleDeveloper)
	maker, gone := b.proven(t, b.joins(t, u.AccountID, "maker@example.com", app.RoleDeveloper)), b.proven(t, b.joins(t, u.AccountID, "gone@example.com", app.RoleDeveloper))
	by := u.Principal()
	by.UserID = maker.ID
	_, secret := b.key(t, by, Spec{})
	by.UserID = gone.ID
	_, orphan := b.key(t, by, Spec{})
	_, err := b.db.Exec(`delete from memberships where user_id = $1 and account_id = $2`, gone.ID, u.AccountID)
	must(t, err)
	report := func(signed bool, secrets ...string) {
		t.Helper()
		leaks := make([]LeakReport, len(secrets))
		for i, s := range secrets {
			leaks[i].Secret = s
		}
		found, err := b.keys.ReportLeaks(t.Context(), leaks, app.Origin{IP: "192.0.2.1"}, signed)
		must(t, err)
		for i := range found {
			if !found[i] {
				t.Errorf("secret %d is not ours", i)
			}
		}
	}
	report(true, secret, secret, secret)
	report(false, secret)
	sent := leakMails(t, post)
	if len(sent) != 3 || sent["ada@example.com"] != 1 || sent["admin@example.com"] != 1 || sent["maker@example.com"] != 1 {
		t.Errorf("told %v", sent)
	}
	report(true, orphan)
	if sent := leakMails(t, post); sent["gone@example.com"] != 0 || sent["ada@example.com"] != 2 {
		t.Errorf("told %v", sent)
	}
	if n := b.audited(t, "key.leaked", u.AccountID); n != 2 {
		t.Errorf("%d entries", n)
	}
}

func TestReportsOfOneLeakAtTheSameTimeTellOnce(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	_, secret := b.key(t, u.Principal(), Spec{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			found, err := b.keys.ReportLeaks(t.Context(), []LeakReport{{Secret: secret}}, app.Origin{IP: "192.0.2.1"}, true)
			if err != nil || !found[0] {
				t.Errorf("%v, %v", found, err)
			}
		})
	}
	wg.Wait()
	if n := b.audited(t, "key.leaked", u.AccountID); n != 1 || leakMails(t, post)["ada@example.com"] != 1 {
		t.Errorf("%d entries, told %v", n, leakMails(t, post))
	}
}

func TestWhatIsNoSecretOfOursIsNotOurs(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	k, deleted := b.key(t, u.Principal(), Spec{})
	must(t, b.keys.Delete(t.Context(), u.Principal(), k.ID))
	never, err := newSecret(rand.Reader)
	must(t, err)
	for _, s := range []string{"", "ghp_something", deleted, never, deleted + "x", "\x00", strings.Repeat("x", 1<<16)} {
		found, err := b.keys.ReportLeaks(t.Context(), []LeakReport{{Secret: s}}, app.Origin{IP: "192.0.2.1"}, true)
		if err != nil || found[0] {
			t.Errorf("%.20q: %v, %v", s, found, err)
		}
	}
	if n := b.audited(t, "key.leaked", u.AccountID); n != 0 || len(leakMails(t, post)) != 0 {
		t.Errorf("%d entries", n)
	}
}

// TestSecretsThatNoOneSignedForAreCountedByPlace counts secrets and not reports, so that many in one report guess no faster.
func TestSecretsThatNoOneSignedForAreCountedByPlace(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	_, secret := b.key(t, u.Principal(), Spec{})
	report := func(n int, ip string, signed bool) error {
		leaks := make([]LeakReport, n)
		for i := range leaks {
			leaks[i].Secret = fmt.Sprint(i)
		}
		if n == 1 {
			leaks[0].Secret = secret
		}
		_, err := b.keys.ReportLeaks(t.Context(), leaks, app.Origin{IP: ip}, signed)
		return err
	}
	for range 3 {
		must(t, report(20, "2001:db8::1", false))
	}
	if e := wantError(t, report(1, "2001:db8::2", false), app.Exhausted, "too_many_attempts"); e.RetryAfter <= 0 {
		t.Error("no word of when to come back")
	}
	if n := count(t, b.db, `select count(*) from api_keys where disabled_at is not null`); n != 0 {
		t.Error("a report that was refused switched a key off")
	}
	must(t, report(20, "2001:db8:0:1::1", false))
	must(t, report(1, "2001:db8::1", true))
	b.clock.Advance(time.Hour)
	must(t, report(20, "2001:db8::1", false))
}

func TestAKeyThatWasOffInAFrozenAccountIsMarkedAsLeaked(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	k, secret := b.key(t, u.Principal(), Spec{})
	must(t, b.keys.Disable(t.Context(), u.Principal(), k.ID, true))
	must(t, b.ledger.Freeze(t.Context(), b.db, u.AccountID, "dispute"))
	if ours, off := b.leaked(t, LeakReport{Secret: secret}, true); !ours || !off {
		t.Errorf("%v, %v", ours, off)
	}
	if got, err := b.keys.Get(t.Context(), u.Principal(), k.ID); err != nil || got.Secret.LeakedAt == nil {
		t.Errorf("%+v, %v", got, err)
	}
}
