package apikey

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/local"
	"umg/app/postgres/pgtest"
	"umg/app/seal"
	"umg/billing"
)

func TestRingSaysWhyAKeyMayNotBeUsed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	r := b.ring(t)
	find := func(secret string) error {
		_, err := r.Find(t.Context(), secret, "192.0.2.1")
		return err
	}
	end := b.clock.Now().Add(2 * time.Second)
	_, expiring := b.key(t, p, Spec{ExpiresAt: &end})
	good, secret := b.key(t, p, Spec{Models: []string{"m"}, Concurrency: 2, ErrorMode: Standard})
	gone, deleted := b.key(t, p, Spec{})
	never, err := newSecret(rand.Reader)
	must(t, err)

	found, err := r.Find(t.Context(), secret, "192.0.2.1")
	if err != nil || found.ID != good.ID || found.AccountID != p.AccountID || found.Concurrency != 2 ||
		found.ErrorMode != Standard || !found.Principal().MayUse("m") {
		t.Fatalf("found %+v, %v", found, err)
	}
	must(t, find(expiring))
	b.clock.Advance(2 * time.Second)
	if e := wantError(t, find(expiring), app.Unauthenticated, "key_expired"); !e.NoRetry {
		t.Error("a client would try an expired key again")
	}
	unknown := wantError(t, find(never), app.Unauthenticated, "invalid_api_key")
	if unknown.Reason != app.ReasonKeyUnknown {
		t.Errorf("an unknown key is refused for %q", unknown.Reason)
	}
	must(t, b.keys.Delete(t.Context(), p, gone.ID))
	if e := wantError(t, find(deleted), app.Unauthenticated, "invalid_api_key"); e.Error() != unknown.Error() {
		t.Errorf("a deleted key has another error than an unknown one: %v", e)
	}
	must(t, b.keys.Disable(t.Context(), p, good.ID, true))
	b.clock.Advance(deafAgeMax)
	wantError(t, find(secret), app.Unauthenticated, "key_disabled")
	must(t, b.keys.Disable(t.Context(), p, good.ID, false))
	b.clock.Advance(deafAgeMax)
	must(t, find(secret))
}

func TestRingAsksNoOneAboutWhatIsNoKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.ring(t)
	_, secret := b.key(t, b.member(t, "ada@example.com").Principal(), Spec{})
	for s, reason := range map[string]string{
		"": app.ReasonKeyForeign, "sk-umg-": app.ReasonKeyCut, secret[:len(secret)-1]: app.ReasonKeyCut, secret + "0": app.ReasonKeyLong,
		"Bearer " + secret: app.ReasonKeyForeign, "' or 1=1; select pg_sleep(8) --": app.ReasonKeyForeign,
		"sk-umg-" + string(make([]byte, 38)): app.ReasonKeyMistyped, secret[:len(secret)-1] + "é": app.ReasonKeyLong,
	} {
		_, err := r.Find(t.Context(), s, "192.0.2.1")
		if e := wantError(t, err, app.Unauthenticated, "invalid_api_key"); e.Reason != reason {
			t.Errorf("%q is refused for %s, want %s", s, e.Reason, reason)
		}
	}
	if n := r.queries.Load(); n != 0 {
		t.Fatalf("%d queries", n)
	}
}

func TestRingAsksOnceForManyWhoAskTheSame(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	_, known := b.key(t, p, Spec{})
	unknown, err := newSecret(rand.Reader)
	must(t, err)
	for what, secret := range map[string]string{"a known key": known, "an unknown key": unknown} {
		r := b.ring(t)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for range 200 {
			wg.Go(func() {
				<-start
				_, err := r.Find(t.Context(), secret, "192.0.2.1")
				if (err == nil) != (secret == known) {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		close(start)
		wg.Wait()
		if n := r.queries.Load(); n != 1 {
			t.Errorf("%s: %d queries for 200 lookups, want 1", what, n)
		}
	}
}

func TestRingLimitsQueriesForDifferentUnknownKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.ring(t)
	for range cap(r.lookups) { // Every query slot is taken.
		r.lookups <- struct{}{}
	}
	secret, err := newSecret(rand.Reader)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := r.Find(ctx, secret, "192.0.2.1")
		ended <- err
	}()
	cancel()
	wantError(t, <-ended, app.Canceled, "client_left")
	if n := r.queries.Load(); n != 0 {
		t.Fatalf("%d queries beyond the limit", n)
	}
}

func TestRevocationReachesEveryRingWithinASecond(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dsn := pgtest.DSN(t, b.db)
	p := b.member(t, "ada@example.com").Principal()
	rings := []*Cache{b.ring(t), b.ring(t)}
	for _, r := range rings {
		run(t, r, dsn)
	}
	disabled, one := b.key(t, p, Spec{})
	deleted, two := b.key(t, p, Spec{})
	for _, r := range rings {
		for _, secret := range []string{one, two} {
			if _, err := r.Find(t.Context(), secret, "192.0.2.1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	must(t, b.keys.Disable(t.Context(), p, disabled.ID, true))
	must(t, b.keys.Delete(t.Context(), p, deleted.ID))
	for i, r := range rings {
		eventually(t, time.Second, fmt.Sprintf("ring %d refuses both keys", i), func() bool {
			_, errOne := r.Find(t.Context(), one, "192.0.2.1")
			_, errTwo := r.Find(t.Context(), two, "192.0.2.1")
			return errOne != nil && errTwo != nil
		})
	}
	must(t, b.keys.Disable(t.Context(), p, disabled.ID, false))
	for i, r := range rings {
		eventually(t, time.Second, fmt.Sprintf("ring %d takes the key again", i), func() bool {
			_, err := r.Find(t.Context(), one, "192.0.2.1")
			return err == nil
		})
	}
}

func TestRingServesFromMemoryWhileItHears(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, secret := b.key(t, b.member(t, "ada@example.com").Principal(), Spec{})
	r := b.ring(t)
	run(t, r, pgtest.DSN(t, b.db))
	for range 50 {
		if _, err := r.Find(t.Context(), secret, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(time.Second)
	}
	if n := r.queries.Load(); n != 1 {
		t.Fatalf("%d queries while notifications arrive, want 1", n)
	}
	must(t, setSecretsUsed(t.Context(), b.db, []seal.Fingerprint{{1}}, []secretUse{{at: b.clock.Now()}}))
	b.clock.Advance(hearingAgeMax)
	if _, err := r.Find(t.Context(), secret, "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	if n := r.queries.Load(); n != 2 {
		t.Fatalf("%d queries, want a second one now and then", n)
	}
}

func TestRingReadsAgainAfterNotificationsWereLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	k, secret := b.key(t, p, Spec{})
	r := b.ring(t)
	r.heard("")
	if _, err := r.Find(t.Context(), secret, "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	r.lost(context.DeadlineExceeded)
	must(t, b.keys.Disable(t.Context(), p, k.ID, true)) // No notification reaches the cache.
	r.heard("")
	_, err := r.Find(t.Context(), secret, "192.0.2.1")
	wantError(t, err, app.Unauthenticated, "key_disabled")
}

func TestRingOutlivesAnOutageOfTheStore(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "pga")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pg, err := local.Start(t.Context(), local.Options{Dir: dir})
	must(t, err)
	db, err := postgres.Open(t.Context(), pg.DSN(), postgres.Options{})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	_, err = postgres.Migrate(t.Context(), db, postgres.MigrateOptions{})
	must(t, err)
	b := setupOn(db)
	p := b.member(t, "ada@example.com").Principal()
	_, seen := b.key(t, p, Spec{})
	_, unseen := b.key(t, p, Spec{})
	r := b.ring(t)
	run(t, r, pg.DSN())
	_, err = r.Find(t.Context(), seen, "192.0.2.1")
	must(t, err)
	must(t, pg.Stop(t.Context()))
	eventually(t, 20*time.Second, "the ring knows that it is deaf", func() bool {
		r.mu.RLock()
		defer r.mu.RUnlock()
		return !r.hearing
	})

	for range 20 {
		b.clock.Advance(lastGoodMax / 20)
		if _, err := r.Find(t.Context(), seen, "192.0.2.1"); err != nil {
			t.Fatalf("a key in use is refused while the store is away: %v", err)
		}
		_, err := r.Find(t.Context(), unseen, "192.0.2.1")
		if e := wantError(t, err, app.Unavailable, "service_unavailable"); e.RetryAfter == 0 {
			t.Fatal("no word of when to come back")
		}
	}
	b.clock.Advance(time.Second)
	_, err = r.Find(t.Context(), seen, "192.0.2.1")
	wantError(t, err, app.Unavailable, "service_unavailable")
	_, err = b.SignIn(t.Context(), "ada@example.com", goodPassword, "192.0.2.1")
	wantError(t, err, app.Unavailable, "service_unavailable")
	_, err = b.keys.List(t.Context(), p)
	wantError(t, err, app.Unavailable, "service_unavailable")

	again, err := local.Start(t.Context(), local.Options{Dir: dir})
	must(t, err)
	t.Cleanup(func() { _ = again.Stop(context.Background()) })
	b.clock.Advance(awayPause)
	for _, secret := range []string{seen, unseen} {
		if _, err := r.Find(t.Context(), secret, "192.0.2.1"); err != nil {
			t.Fatalf("after the outage: %v", err)
		}
	}
}

// TestRingDoesNotWaitForAStoreThatHangs checks that only the first call waits. The others use cached keys while a query runs in the
// background.
func TestRingDoesNotWaitForAStoreThatHangs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	_, seen := b.key(t, p, Spec{})
	r := b.ring(t)
	_, err := r.Find(t.Context(), seen, "192.0.2.1")
	must(t, err)
	tx, err := b.db.BeginTxx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), `lock table api_keys in access exclusive mode`)
	must(t, err)
	for n := range 4 {
		b.clock.Advance(deafAgeMax)
		began := time.Now()
		_, err := r.Find(t.Context(), seen, "192.0.2.1")
		must(t, err)
		if took := time.Since(began); n > 0 && took > lookupMax/4 {
			t.Errorf("call %d waited %v", n, took)
		}
	}
	must(t, tx.Rollback())
	queries := r.queries.Load()
	eventually(t, 20*time.Second, "the store is asked again and answers", func() bool {
		b.clock.Advance(deafAgeMax)
		_, err := r.Find(t.Context(), seen, "192.0.2.1")
		must(t, err)
		r.mu.RLock()
		defer r.mu.RUnlock()
		return !r.away && r.queries.Load() > queries
	})
}

func TestRingNotesUseToTheMinute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	_, secret := b.key(t, p, Spec{})
	r := b.ring(t)
	first := b.clock.Now()
	for range 3 {
		_, err := r.Find(t.Context(), secret, "192.0.2.1")
		must(t, err)
		b.clock.Advance(time.Second)
	}
	r.writeUse(t.Context())
	keys, err := b.keys.List(t.Context(), p)
	must(t, err)
	if keys[0].LastUse.At == nil || !keys[0].LastUse.At.Equal(first) {
		t.Fatalf("last used %v, want %v", keys[0].LastUse.At, first)
	}
	_, err = r.Find(t.Context(), secret, "192.0.2.1")
	must(t, err)
	if len(r.used) != 0 {
		t.Fatal("a use within the minute is written again")
	}
	b.clock.Advance(usedEvery)
	_, err = r.Find(t.Context(), secret, "192.0.2.1")
	must(t, err)
	if len(r.used) != 1 {
		t.Fatal("a later use is not noted")
	}
}

func TestRingsWriteTheUseOfTheSameKeysWithoutADeadlock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	secrets := make([]seal.Fingerprint, 40)
	for i := range secrets {
		_, secret := b.key(t, p, Spec{})
		secrets[i] = seal.FingerprintOf(secret)
	}
	var wg sync.WaitGroup
	for n := range 6 {
		wg.Go(func() {
			for round := range 10 {
				r := b.ring(t)
				for _, f := range secrets {
					r.used[f] = secretUse{at: b.clock.Now().Add(time.Duration(round*10+n) * time.Second), ip: "192.0.2.1"}
				}
				mine, uses := []seal.Fingerprint{}, []secretUse{}
				for f, use := range r.used { // The order of a map differs each time.
					mine, uses = append(mine, f), append(uses, use)
				}
				if err := setSecretsUsed(t.Context(), b.db, mine, uses); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := count(t, b.db, `select count(*) from api_keys where last_used_at = $1`, b.clock.Now().Add(95*time.Second)); n != len(secrets) {
		t.Fatalf("%d of %d keys have the newest time", n, len(secrets))
	}
}

func TestRingMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := map[seal.Fingerprint]int{}
	for i := range 100 {
		makeRoom(m, 10)
		m[seal.FingerprintOf(fmt.Sprint(i))] = i
	}
	if len(m) != 10 {
		t.Fatalf("%d entries, want 10", len(m))
	}
}

func TestRunOfARingEndsWithItsContext(t *testing.T) { //nolint:paralleltest // not parallel: it counts the goroutines of the process
	b := setup(t)
	_, secret := b.key(t, b.member(t, "ada@example.com").Principal(), Spec{})
	dsn := pgtest.DSN(t, b.db)
	r := NewCache(b.db, CacheOptions{Now: b.clock.Now, Log: slog.New(slog.DiscardHandler)})
	known := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx, postgres.NewListener(dsn)) }()
	_, err := r.Find(t.Context(), secret, "192.0.2.1")
	must(t, err)
	cancel()
	<-ended
	if n := count(t, b.db, "select count(*) from api_keys where last_used_at is not null"); n != 1 {
		t.Fatal("the last uses were not written at the end")
	}
	goleak.VerifyNone(t, known, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

// TestRingTellsKeysBeyondItsQueueToComeBack fills the queue: further callers are asked to retry, never refused as unknown, and a
// cached key keeps working.
func TestRingTellsKeysBeyondItsQueueToComeBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, secret := b.key(t, b.member(t, "ada@example.com").Principal(), Spec{})
	_, seen := b.key(t, b.member(t, "bea@example.com").Principal(), Spec{})
	r := b.ring(t)
	_, err := r.Find(t.Context(), seen, "192.0.2.1")
	must(t, err)
	b.clock.Advance(deafAgeMax)
	r.queued.Store(lookupQueueMax)
	_, err = r.Find(t.Context(), secret, "192.0.2.1")
	if e := wantError(t, err, app.Unavailable, "service_unavailable"); e.RetryAfter == 0 {
		t.Error("no word of when to come back")
	}
	if _, err := r.Find(t.Context(), seen, "192.0.2.1"); err != nil {
		t.Errorf("a key that was good a moment ago: %v", err)
	}
	r.queued.Store(0)
	if _, err := r.Find(t.Context(), secret, "192.0.2.1"); err != nil {
		t.Errorf("with room in the queue: %v", err)
	}
}

// TestRingKnowsWhoHasHadMoreThanATrial checks that the cache knows whether an account has paid, and hears of the first payment.
func TestRingKnowsWhoHasHadMoreThanATrial(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.member(t, "ada@example.com")
	must(t, b.ledger.OpenAccount(t.Context(), b.db, u.AccountID))
	_, secret := b.key(t, u.Principal(), Spec{})
	r := b.ring(t)
	run(t, r, pgtest.DSN(t, b.db))
	paid := func() bool {
		k, err := r.Find(t.Context(), secret, "192.0.2.1")
		must(t, err)
		return k.Paid
	}
	give := func(kind billing.GrantKind, source string) {
		must(t, b.ledger.Grant(t.Context(), b.db, billing.Grant{AccountID: u.AccountID, Kind: kind, Amount: app.Dollar, Source: source}))
	}
	give(billing.Trial, "trial:again")
	if paid() {
		t.Fatal("an account with a trial counts as paid")
	}
	give(billing.Purchased, "payment:1")
	eventually(t, time.Second, "the ring hears of the payment", paid)
	since := count(t, b.db, `select count(*) from accounts where paid_at is not null`)
	give(billing.Purchased, "payment:2")
	if n := count(t, b.db, `select count(*) from accounts where paid_at is not null`); n != since || !paid() {
		t.Errorf("after a second payment %d accounts have paid, before it %d", n, since)
	}
}

func TestRingChecksAKeyWithoutAUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	k, secret := b.key(t, p, Spec{})
	r := b.ring(t)
	must(t, r.Check(t.Context(), secret, "192.0.2.1"))
	r.writeUse(t.Context())
	keys, err := b.keys.List(t.Context(), p)
	must(t, err)
	if keys[0].LastUse.At != nil {
		t.Errorf("a check counts as a use at %v", keys[0].LastUse.At)
	}
	must(t, b.keys.Disable(t.Context(), p, k.ID, true))
	b.clock.Advance(deafAgeMax)
	wantError(t, r.Check(t.Context(), secret, "192.0.2.1"), app.Unauthenticated, "key_disabled")
}
