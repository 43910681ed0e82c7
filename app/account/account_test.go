package account

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"umg/app"
	"umg/app/apptest"
	"umg/app/trial"
)

const goodPassword = "correct horse battery"

func TestSignUpMakesAUserAnAccountAndItsTrialCredit(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Trial = trial.Policy{Amount: 5 * app.Dollar, Days: 30} })
	u, err := b.SignUp(t.Context(), SignUp{Email: "  Ada@Example.COM ", Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	if u.Email != "ada@example.com" || u.Operator {
		t.Fatalf("signed up as %+v", u)
	}
	read, err := b.User(t.Context(), u.ID)
	if err != nil || read != u {
		t.Fatalf("the user reads as %+v, want %+v (%v)", read, u, err)
	}
	if p := read.Principal(); read.Role != "owner" || p.AccountID != u.AccountID || p.UserID != u.ID || p.KeyID != "" {
		t.Fatalf("the user acts as %+v", read.Principal())
	}
	balance, err := b.ledger.Balance(t.Context(), u.AccountID)
	if err != nil || balance.Available() != 5*app.Dollar {
		t.Fatalf("balance %+v, %v", balance, err)
	}
	end := u.CreatedAt.AddDate(0, 0, 30)
	if n := count(t, b.db, `select count(*) from grants where source = $1 and expires_at = $2`, "trial:"+u.ID, end); n != 1 {
		t.Fatal("the trial credit has another source or expiry")
	}
	in, err := b.SignIn(t.Context(), "ADA@example.com", goodPassword, "192.0.2.1")
	if err != nil || in.ID != u.ID || in.AccountID != u.AccountID {
		t.Fatalf("signed in as %+v, %v", in, err)
	}
}

func TestSignUpWithoutTrialHasAnEmptyBalance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u, err := b.SignUp(t.Context(), SignUp{Email: "ada@example.com", Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	balance, err := b.ledger.Balance(t.Context(), u.AccountID)
	if err != nil || balance.Posted != 0 {
		t.Fatalf("balance %+v, %v", balance, err)
	}
}

func TestSignUpLeavesNothingBehindWhenTheGrantFails(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Trial = trial.Policy{Amount: math.MaxInt64} })
	if _, err := b.SignUp(t.Context(), SignUp{Email: "ada@example.com", Password: goodPassword, IP: "192.0.2.1"}); err == nil {
		t.Fatal("an absurd grant was accepted")
	}
	for _, table := range []string{"users", "accounts", "memberships", "grants"} {
		if n := count(t, b.db, "select count(*) from "+table); n != 0 {
			t.Errorf("%d rows in %s", n, table)
		}
	}
}

func TestSignUpGivesAnAddressToOnePersonOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Trial = trial.Policy{Amount: app.Dollar} })
	var (
		wg   sync.WaitGroup
		made atomic.Int32
	)
	for i := range 4 {
		wg.Go(func() {
			_, err := b.SignUp(t.Context(), SignUp{Email: "Ada@example.com", Password: goodPassword, IP: fmt.Sprintf("192.0.2.%d", i)})
			if err == nil {
				made.Add(1)
			} else if e := wantError(t, err, app.Conflict, "email_taken"); e.Param != "email" {
				t.Errorf("the error is at %q", e.Param)
			}
		})
	}
	wg.Wait()
	if accounts := count(t, b.db, "select count(*) from accounts"); made.Load() != 1 || accounts != 1 {
		t.Fatalf("%d sign-ups made %d accounts", made.Load(), accounts)
	}
}

func TestSignUpRefusesWhatIsNoAddressOrNoPassword(t *testing.T) {
	t.Parallel()
	b := setup(t)
	long := strings.Repeat("a", 250)
	for _, c := range []struct{ email, password, code, param string }{
		{"", goodPassword, "invalid_email", "email"},
		{"ada", goodPassword, "invalid_email", "email"},
		{"ada@", goodPassword, "invalid_email", "email"},
		{"@example.com", goodPassword, "invalid_email", "email"},
		{"ada@example.com, bob@example.com", goodPassword, "invalid_email", "email"},
		{"Ada <ada@example.com>", goodPassword, "invalid_email", "email"},
		{"ada@exa\x00mple.com", goodPassword, "invalid_email", "email"},
		{"ada@example.com\nBcc: x@y.z", goodPassword, "invalid_email", "email"},
		{"\u212aate@example.com", goodPassword, "invalid_email", "email"}, // The Kelvin sign lower-cases to k.
		{long + "@example.com", goodPassword, "invalid_email", "email"},
		{"ada@example.com", "123456789", "password_too_short", "password"},
		{"ada@example.com", "ééééé", "password_too_short", "password"},
		{"ada@example.com", strings.Repeat("x", 129), "password_too_long", "password"},
	} {
		_, err := b.SignUp(t.Context(), SignUp{Email: c.email, Password: c.password, IP: "192.0.2.1"})
		if e := wantError(t, err, app.Invalid, c.code); e.Param != c.param {
			t.Errorf("%q: the error is at %q", c.email, e.Param)
		}
	}
	if n := count(t, b.db, "select count(*) from users"); n != 0 {
		t.Fatalf("%d users", n)
	}
}

func TestSignUpsFromOneAddressHaveToWait(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.SignUpsMax = 2 })
	up := func(i int, ip string) error {
		_, err := b.SignUp(t.Context(), SignUp{Email: fmt.Sprintf("p%d@example.com", i), Password: goodPassword, IP: ip})
		return err
	}
	must(t, up(1, "2001:db8::1"))
	must(t, up(2, "2001:db8::2")) // The address is of the same subnet.
	e := wantError(t, up(3, "2001:db8::3"), app.Exhausted, "too_many_attempts")
	if e.RetryAfter != time.Minute {
		t.Fatalf("wait %s", e.RetryAfter)
	}
	must(t, up(4, "2001:db8:0:1::1"))
	b.clock.Advance(time.Minute)
	must(t, up(3, "2001:db8::3"))
}

func TestSignInTellsUnknownUserAndWrongPasswordAlike(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.SignUp(t.Context(), SignUp{Email: "ada@example.com", Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	var told []string
	for _, c := range []struct{ email, password string }{
		{"ada@example.com", "wrong wrong wrong"},
		{"bob@example.com", goodPassword},
		{"not an address", goodPassword},
		{"ada@example.com", ""},
		{"ada@example.com", goodPassword + strings.Repeat("x", 200)},
	} {
		_, err := b.SignIn(t.Context(), c.email, c.password, "192.0.2.7")
		told = append(told, wantError(t, err, app.Unauthenticated, "invalid_credentials").Error())
	}
	for _, line := range told {
		if line != told[0] {
			t.Errorf("told apart: %q and %q", line, told[0])
		}
	}
}

func TestAnUnknownUsersHashTakesAsLongAsARealOne(t *testing.T) {
	t.Parallel()
	p := newPasswords(apptest.PasswordMemoryKiB)
	hash, err := p.hash(t.Context(), goodPassword)
	must(t, err)
	real, _, realKey, err := argon2id.DecodeHash(hash)
	must(t, err)
	dummy, _, dummyKey, err := argon2id.DecodeHash(p.unknownUser)
	must(t, err)
	if *real != *p.cost || *real != *dummy || len(realKey) != len(dummyKey) {
		t.Fatalf("%+v against %+v", *real, *dummy)
	}
	if same, err := p.matches(t.Context(), goodPassword, ""); err != nil || same {
		t.Fatalf("the dummy hash matches a password: %v", err)
	}
}

// TestServersHashPasswordsWithTheWholeCost holds the cost outside tests against the least that OWASP recommends for Argon2id.
func TestServersHashPasswordsWithTheWholeCost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.o
	o.PasswordMemoryKiB = 0
	if c := New(b.db, b.ledger, o).passwords.cost; c.Memory < 19*1024 || c.Iterations < 2 || c.Parallelism != 1 || c.SaltLength < 16 || c.KeyLength < 32 {
		t.Errorf("servers hash with %+v", *c)
	}
}

func TestTooManyHashesAtOnceAreRefusedAndNotQueuedForEver(t *testing.T) {
	t.Parallel()
	p := newPasswords(apptest.PasswordMemoryKiB)
	var dones []func()
	for range hashesMax {
		done, err := p.turn(t.Context())
		must(t, err)
		dones = append(dones, done)
	}
	if !p.waiting.TryAcquire(hashesWaitingMax) {
		t.Fatal("the queue is shorter than it says")
	}
	_, err := p.turn(t.Context())
	wantError(t, err, app.Unavailable, "busy")
	p.waiting.Release(hashesWaitingMax)
	for _, done := range dones {
		done()
	}
	done, err := p.turn(t.Context())
	must(t, err)
	done()
}

func TestSignInThrottlesGuessingAndNotTheOwner(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u, err := b.SignUp(t.Context(), SignUp{Email: "ada@example.com", Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	for range signInPair.free {
		_, err := b.SignIn(t.Context(), "ada@example.com", "a guess of a stranger", "198.51.100.1")
		wantError(t, err, app.Unauthenticated, "invalid_credentials")
	}
	_, err = b.SignIn(t.Context(), "ada@example.com", goodPassword, "198.51.100.1")
	if e := wantError(t, err, app.Exhausted, "too_many_attempts"); e.RetryAfter != time.Second {
		t.Fatalf("wait %s", e.RetryAfter)
	}
	for range signInEmail.free { // Each try is of a stranger at another address.
		must(t, b.throttle.admit(t.Context(), signInEmail.of("ada@example.com")))
		b.clock.Advance(time.Millisecond)
		if row, err := lockThrottle(t.Context(), b.db, signInEmail.of("ada@example.com"), b.clock.Now()); err != nil || row.BlockedUntil != nil {
			break
		}
	}
	_, err = b.SignIn(t.Context(), "ada@example.com", goodPassword, "203.0.113.5")
	wantError(t, err, app.Exhausted, "too_many_attempts")
	in, err := b.SignIn(t.Context(), "ada@example.com", goodPassword, "192.0.2.1")
	if err != nil || in.ID != u.ID {
		t.Fatalf("the owner is locked out: %v", err)
	}
	b.clock.Advance(time.Second)
	if _, err := b.SignIn(t.Context(), "ada@example.com", goodPassword, "198.51.100.1"); err != nil {
		t.Fatalf("after the wait: %v", err)
	}
}

func TestThrottleOfAnAddressUnderAttackSparesKnownPlaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner := signInPair.of("ada@example.com", "192.0.2.1")
	must(t, b.throttle.admit(t.Context(), owner))
	must(t, trustPlace(t.Context(), b.db, owner, b.clock.Now()))
	for i := range signInEmail.free {
		must(t, b.throttle.admit(t.Context(), signInEmail.of("ada@example.com"), signInPair.of("ada@example.com", fmt.Sprint(i))))
	}
	// From a new place even the owner waits now, but never for long, however long the attack goes on.
	for range 20 {
		err := b.throttle.admit(t.Context(), signInEmail.of("ada@example.com"), signInPair.of("ada@example.com", "elsewhere"))
		e := wantError(t, err, app.Exhausted, "too_many_attempts")
		if e.RetryAfter > signInEmail.most {
			t.Fatalf("wait %s", e.RetryAfter)
		}
		b.clock.Advance(e.RetryAfter)
		must(t, b.throttle.admit(t.Context(), signInEmail.of("ada@example.com"), signInPair.of("ada@example.com", fmt.Sprint(b.clock.Now()))))
	}
	trusted, err := trustedPlace(t.Context(), b.db, owner, b.clock.Now().Add(-trustMax))
	if err != nil || !trusted {
		t.Fatalf("the owner's place was forgotten: %v", err)
	}
}

func TestThrottleCountsTriesAtTheSameTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := rule{scope: "test", free: 5, first: time.Minute, most: time.Hour, window: time.Hour}
	var (
		wg       sync.WaitGroup
		admitted atomic.Int32
	)
	for range 30 {
		wg.Go(func() {
			if b.throttle.admit(t.Context(), r.of("x")) == nil {
				admitted.Add(1)
			}
		})
	}
	wg.Wait()
	if admitted.Load() != 5 {
		t.Fatalf("%d of 30 tries at the same time were admitted, want 5", admitted.Load())
	}
	must(t, b.throttle.admit(t.Context(), r.of("y")))
	b.clock.Advance(r.window)
	must(t, b.throttle.admit(t.Context(), r.of("x")))
}

func TestThrottleWaitsDoubleUpToALimit(t *testing.T) {
	t.Parallel()
	r := rule{free: 3, first: time.Second, most: 10 * time.Second}
	for tries, want := range map[int]time.Duration{
		0: 0, 2: 0, 3: time.Second, 4: 2 * time.Second, 6: 8 * time.Second, 7: 10 * time.Second, 67: 10 * time.Second, 5000: 10 * time.Second,
	} {
		if got := r.wait(tries); got != want {
			t.Errorf("wait after %d tries is %s, want %s", tries, got, want)
		}
	}
}

func TestMakeOperator(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.member(t, "ada@example.com")
	wantError(t, b.MakeOperator(t.Context(), command, "bob@example.com"), app.NotFound, "user_not_found")
	wantError(t, b.MakeOperator(t.Context(), command, "bob"), app.Invalid, "invalid_email")
	must(t, b.MakeOperator(t.Context(), command, "ADA@example.com"))
	if u, err := b.User(t.Context(), u.ID); err != nil || !u.Operator {
		t.Fatalf("%+v, %v", u, err)
	}
	_, err := b.User(t.Context(), "user_unknown")
	wantError(t, err, app.NotFound, "user_not_found")
}

func TestSweepDeletesOnlyWhatHasExpired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := signInPair.of("old", "x")
	trusted := signInPair.of("trusted", "x")
	for _, one := range []try{old, trusted} {
		must(t, b.throttle.admit(t.Context(), one))
	}
	must(t, trustPlace(t.Context(), b.db, trusted, b.clock.Now()))
	sessions := newSessions(t, b)
	u := b.member(t, "ada@example.com")
	sessions.start(t, newBrowser(), u.ID)
	b.clock.Advance(sessionIdleMax - time.Minute)
	must(t, b.throttle.admit(t.Context(), signInPair.of("new", "x")))
	must(t, b.sweep(t.Context()))
	if n, s := count(t, b.db, "select count(*) from auth_throttles"), count(t, b.db, "select count(*) from sessions"); n != 2 || s != 1 {
		t.Fatalf("%d throttles and %d sessions are left, want 2 and 1", n, s)
	}
	b.clock.Advance(trustMax)
	must(t, b.sweep(t.Context()))
	if n, s := count(t, b.db, "select count(*) from auth_throttles"), count(t, b.db, "select count(*) from sessions"); n != 0 || s != 0 {
		t.Fatalf("%d throttles and %d sessions are left, want none", n, s)
	}
}
