package apikey

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

// entry is the latest entry of an action about a key.
func (b bundle) entry(t *testing.T, action, keyID string) (changes []audit.Change, actor string) {
	t.Helper()
	var row struct {
		Changes string `db:"changes"`
		Actor   string `db:"actor"`
	}
	must(t, b.db.Get(&row, `select changes, actor from audit_entries where action = $1 and object_id = $2 order by id desc limit 1`, action, keyID))
	must(t, json.Unmarshal([]byte(row.Changes), &changes))
	return changes, row.Actor
}

// finds asks a ring and returns the code of the refusal, or nothing.
func finds(t *testing.T, r *Cache, secret, from string) string {
	t.Helper()
	if _, err := r.Find(t.Context(), secret, from); err != nil {
		return app.AsError(err).Code
	}
	return ""
}

// fundedMember is a member whose account may have budgets.
func (b bundle) fundedMember(t *testing.T, email string) app.Principal {
	t.Helper()
	u := b.member(t, email)
	must(t, b.ledger.OpenAccount(t.Context(), b.db, u.AccountID))
	return u.Principal()
}

func TestAnUpdateChangesWhatItNamesAndWritesItDown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.fundedMember(t, "ada@example.com")
	k, _ := b.key(t, p, Spec{Name: "Old", Env: "staging", Concurrency: 4})
	end := b.clock.Now().Add(time.Hour).Truncate(time.Second)
	limit := &billing.Allowance{Limit: 5 * app.Dollar, Period: billing.EachDay}
	nets := []netip.Prefix{netip.MustParsePrefix("203.0.113.9/24")}
	got, err := b.keys.Update(t.Context(), p, k.ID, Patch{
		Name: new(" New "), ErrorMode: new(Standard), Models: &[]string{"m"}, Addresses: &nets, Scopes: &[]app.Scope{"videos", "inference:text"},
		LogContent: new(true), Strict: new(true), RequestsPerMinute: new(int64(60)), TokensPerMinute: new(int64(9000)), ExpiresAt: new(&end), Budget: &limit,
	})
	must(t, err)
	if got.Name != "New" || got.Env != "staging" || got.Concurrency != 4 || got.ErrorMode != Standard || !got.LogContent || !got.Strict ||
		got.RequestsPerMinute != 60 || got.TokensPerMinute != 9000 || !got.ExpiresAt.Equal(end) || got.BudgetID != k.ID ||
		!slices.Equal(got.Models, []string{"m"}) || !slices.Equal(got.Scopes, []app.Scope{"inference:text", "videos"}) ||
		got.Rights != app.CallText|app.UseVideos || got.Addresses[0].String() != "203.0.113.0/24" || got.Secret.LastFour != k.Secret.LastFour {
		t.Errorf("%+v", got)
	}
	changes, actor := b.entry(t, "key.updated", k.ID)
	want := []audit.Change{
		{Field: "name", From: "Old", To: "New"}, {Field: "error_mode", From: "documented", To: "standard"},
		{Field: "scopes", From: app.JoinWords(app.StandardScopes()), To: "inference:text, videos"}, {Field: "models", To: "m"},
		{Field: "addresses", To: "203.0.113.0/24"}, {Field: "requests_per_minute", To: "60"}, {Field: "tokens_per_minute", To: "9000"},
		{Field: "log_content", To: "yes"}, {Field: "strict", To: "yes"}, {Field: "expires_at", To: end.Format(time.RFC3339)}, {Field: "budget", To: limit.String()},
	}
	if !slices.Equal(changes, want) || actor != "user" {
		t.Errorf("%s wrote %+v", actor, changes)
	}
	got, err = b.keys.Update(t.Context(), p, k.ID, Patch{Name: new("New"), Budget: &limit})
	must(t, err)
	if n := b.audited(t, "key.updated", p.AccountID); n != 1 || got.Name != "New" {
		t.Errorf("what changes nothing is written down: %d entries", n)
	}
	var none *billing.Allowance
	var never *time.Time
	got, err = b.keys.Update(t.Context(), p, k.ID, Patch{Budget: &none, ExpiresAt: &never, Addresses: &[]netip.Prefix{}, Models: &[]string{}})
	must(t, err)
	if got.BudgetID != "" || got.ExpiresAt != nil || len(got.Addresses) != 0 || len(got.Models) != 0 || got.RequestsPerMinute != 60 {
		t.Errorf("%+v", got)
	}
}

func TestAWrongUpdateNamesItsFieldAndChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.fundedMember(t, "ada@example.com")
	end := b.clock.Now().Add(time.Minute)
	k, _ := b.key(t, p, Spec{Name: "Mine", ExpiresAt: &end})
	past := b.clock.Now()
	big := &billing.Allowance{Limit: -1, Period: billing.EachDay}
	mapped := netip.PrefixFrom(netip.MustParseAddr("::ffff:192.0.2.1"), 64)
	for param, c := range map[string]Patch{
		"name":                {Name: new("")},
		"env":                 {Env: new("No!")},
		"scopes":              {Scopes: &[]app.Scope{"everything"}},
		"scopes ":             {Scopes: &[]app.Scope{app.ScopeManagement, "videos"}},
		"addresses":           {Addresses: &[]netip.Prefix{mapped}},
		"addresses ":          {Addresses: new(make([]netip.Prefix, addressesMax+1))},
		"requests_per_minute": {RequestsPerMinute: new(int64(-1))},
		"tokens_per_minute":   {TokensPerMinute: new(int64(perMinuteMax + 1))},
		"concurrency":         {Concurrency: new(concurrencyMax + 1)},
		"expires_at":          {ExpiresAt: new(&past)},
		"budget":              {Budget: &big},
	} {
		c.LogContent = new(true)
		_, err := b.keys.Update(t.Context(), p, k.ID, c)
		if e := wantError(t, err, app.Invalid, "invalid_value"); e.Param != strings.TrimSpace(param) {
			t.Errorf("%s: the error is at %q", param, e.Param)
		}
	}
	if got, err := b.keys.Get(t.Context(), p, k.ID); err != nil || got.LogContent || got.Name != "Mine" || b.audited(t, "key.updated", p.AccountID) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	b.clock.Advance(time.Hour) // An expired key can be renamed.
	if got, err := b.keys.Update(t.Context(), p, k.ID, Patch{Name: new("Late")}); err != nil || got.Name != "Late" || !got.ExpiresAt.Equal(end) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTheOldSecretStaysGoodForExactlyTheOverlap(t *testing.T) {
	t.Parallel()
	for _, overlap := range Overlaps() {
		t.Run(overlap.String(), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			p := b.fundedMember(t, "ada@example.com")
			k, old := b.key(t, p, Spec{})
			r := b.ring(t)
			run(t, r, pgtest.DSN(t, b.db))
			if code := finds(t, r, old, "192.0.2.1"); code != "" {
				t.Fatal(code)
			}
			got, fresh, err := b.keys.Rotate(t.Context(), p, k.ID, overlap)
			must(t, err)
			if got.ID != k.ID || fresh == old || got.Secret.LastFour != fresh[len(fresh)-4:] || (got.Secret.PreviousUntil != nil) != (overlap > 0) {
				t.Errorf("%+v", got)
			}
			changes, _ := b.entry(t, "key.rotated", k.ID)
			if changes[0].From != "…"+k.Secret.LastFour || changes[0].To != "…"+got.Secret.LastFour || len(changes) != 1+min(1, int(overlap)) {
				t.Errorf("%+v", changes)
			}
			if overlap == 0 {
				eventually(t, time.Second, "the old secret has ended", func() bool { return finds(t, r, old, "192.0.2.1") == "invalid_api_key" })
			} else {
				b.clock.Advance(overlap - time.Millisecond)
				if code := finds(t, r, old, "192.0.2.1"); code != "" {
					t.Errorf("the old secret a moment before its end: %s", code)
				}
				b.clock.Advance(time.Millisecond)
				if code := finds(t, r, old, "192.0.2.1"); code != "key_rotated" {
					t.Errorf("the old secret at its end: %q", code)
				}
			}
			if code := finds(t, r, fresh, "192.0.2.1"); code != "" {
				t.Errorf("the new secret: %s", code)
			}
		})
	}
}

func TestASecondRotationEndsTheOldestSecretAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.fundedMember(t, "ada@example.com")
	k, first := b.key(t, p, Spec{})
	_, second, err := b.keys.Rotate(t.Context(), p, k.ID, 24*time.Hour)
	must(t, err)
	_, third, err := b.keys.Rotate(t.Context(), p, k.ID, time.Hour)
	must(t, err)
	r := b.ring(t)
	if one, two, three := finds(t, r, first, ""), finds(t, r, second, ""), finds(t, r, third, ""); one != "invalid_api_key" || two != "" || three != "" {
		t.Errorf("%q, %q, %q", one, two, three)
	}
	must(t, b.keys.EndOldSecret(t.Context(), p, k.ID))
	if code := finds(t, b.ring(t), second, ""); code != "invalid_api_key" {
		t.Errorf("an old secret that was ended: %q", code)
	}
	_, _, err = b.keys.Rotate(t.Context(), p, k.ID, time.Minute)
	if e := wantError(t, err, app.Invalid, "invalid_value"); e.Param != "overlap" {
		t.Errorf("%+v", e)
	}
}

func TestEachOfTwoSecretsKnowsWhenItWasUsed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.fundedMember(t, "ada@example.com")
	k, old := b.key(t, p, Spec{})
	_, fresh, err := b.keys.Rotate(t.Context(), p, k.ID, time.Hour)
	must(t, err)
	r := b.ring(t)
	use := func(secret, from string) (Key, time.Time) {
		t.Helper()
		b.clock.Advance(time.Minute)
		if code := finds(t, r, secret, from); code != "" {
			t.Fatal(code)
		}
		r.writeUse(t.Context())
		got, err := b.keys.Get(t.Context(), p, k.ID)
		must(t, err)
		return got, b.clock.Now()
	}
	got, _ := use(fresh, "192.0.2.1")
	if got.LastUse.At == nil || got.Secret.PreviousUsedAt != nil || got.LastUse.IP != "192.0.2.1" {
		t.Errorf("after the new one: %+v", got)
	}
	got, at := use(old, "192.0.2.2")
	if !got.Secret.PreviousUsedAt.Equal(at) || !got.LastUse.At.Equal(at) || got.LastUse.IP != "192.0.2.2" {
		t.Errorf("after the old one: %+v", got)
	}
	got, later := use(fresh, "192.0.2.3")
	if !got.Secret.PreviousUsedAt.Equal(at) || !got.LastUse.At.Equal(later) {
		t.Errorf("after the new one again: %+v", got)
	}
	if got, _, err = b.keys.Rotate(t.Context(), p, k.ID, time.Hour); err != nil || got.Secret.PreviousUsedAt != nil || !got.LastUse.At.Equal(later) {
		t.Errorf("after another rotation: %+v, %v", got, err)
	}
}

func TestKeysAreListedInPagesThatMissNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, other := b.fundedMember(t, "ada@example.com"), b.fundedMember(t, "bob@example.com")
	foreign, _ := b.key(t, other, Spec{})
	var made []string
	for range 7 { // Three are made at the same instant, then one each.
		if len(made) > 2 {
			b.clock.Advance(time.Second)
		}
		k, _ := b.key(t, p, Spec{})
		made = append(made, k.ID)
	}
	must(t, b.keys.Delete(t.Context(), p, made[4]))
	left := slices.Delete(slices.Clone(made), 4, 5)
	for _, oldest := range []bool{true, false} {
		for size := range 8 {
			var seen []string
			q := Query{Limit: size, OldestFirst: oldest}
			for {
				page, err := b.keys.Page(t.Context(), p, q)
				must(t, err)
				for _, k := range page.Keys {
					seen = append(seen, k.ID)
				}
				if !page.More {
					break
				}
				q.After = seen[len(seen)-1]
			}
			if !oldest {
				slices.Reverse(seen)
			}
			if slices.Sort(seen[:3]); !slices.Equal(seen, slices.Concat(slices.Sorted(slices.Values(left[:3])), left[3:])) {
				t.Errorf("pages of %d: %v, want %v", size, seen, left)
			}
		}
	}
	if page, err := b.keys.Page(t.Context(), p, Query{Limit: 10, After: made[4]}); err != nil || len(page.Keys) != 4 {
		t.Errorf("after a deleted key: %d keys, %v", len(page.Keys), err)
	}
	for _, after := range []string{foreign.ID, "key_unknown", "\x00", strings.Repeat("x", 9999)} {
		_, err := b.keys.Page(t.Context(), p, Query{Limit: 1, After: after})
		if e := wantError(t, err, app.Invalid, "invalid_value"); e.Param != "after" {
			t.Errorf("%+v", e)
		}
	}
}

func TestKeysThatManageAreForThoseWhoManageMembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner := b.fundedMember(t, "ada@example.com")
	developer := owner
	developer.Rights = app.RoleDeveloper.Rights()
	boss, _ := b.key(t, owner, Spec{Scopes: []app.Scope{app.ScopeManagement}})
	plain, _ := b.key(t, developer, Spec{})
	_, _, err := b.keys.Create(t.Context(), developer, Spec{Name: "x", Scopes: []app.Scope{app.ScopeManagement}})
	wantError(t, err, app.Forbidden, "role_not_allowed")
	_, err = b.keys.Update(t.Context(), developer, plain.ID, Patch{Scopes: &[]app.Scope{app.ScopeManagement}})
	wantError(t, err, app.Forbidden, "role_not_allowed")
	_, err = b.keys.Update(t.Context(), developer, boss.ID, Patch{Scopes: &[]app.Scope{"videos"}})
	wantError(t, err, app.Forbidden, "role_not_allowed")
	_, _, err = b.keys.Rotate(t.Context(), developer, boss.ID, 0)
	wantError(t, err, app.Forbidden, "role_not_allowed")
	wantError(t, b.keys.Disable(t.Context(), developer, boss.ID, true), app.Forbidden, "role_not_allowed")
	wantError(t, b.keys.Delete(t.Context(), developer, boss.ID), app.Forbidden, "role_not_allowed")
	wantError(t, b.keys.EndOldSecret(t.Context(), developer, boss.ID), app.Forbidden, "role_not_allowed")
	if boss.Rights&(app.Spend|app.UseVideos|app.UseAssets) != 0 {
		t.Errorf("a key that manages may %s", boss.Rights)
	}
	made, _ := b.key(t, boss.Principal(), Spec{Scopes: []app.Scope{app.ScopeManagement}})
	if _, actor := b.entry(t, "key.created", made.ID); made.CreatedByKey != boss.ID || made.CreatedBy != "" || actor != "key" {
		t.Errorf("%s made %+v", actor, made)
	}
	_, err = b.db.Exec(`update api_keys set scopes = array['management', 'inference:text'] where id = $1`, boss.ID)
	if err == nil {
		t.Error("the store takes a key that manages and spends")
	}
}

func TestAKeyIsTakenFromItsAddressesOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.fundedMember(t, "ada@example.com")
	var nets []netip.Prefix
	for _, text := range []string{"203.0.113.7", "198.51.100.77/24", "2001:db8:1::/48", "::ffff:192.0.2.9", "::ffff:10.1.0.0/112", "203.0.113.7/32"} {
		n, err := ParseNetwork(text)
		must(t, err)
		nets = append(nets, n)
	}
	k, secret := b.key(t, p, Spec{Addresses: nets})
	if words := app.JoinWords(wordsOf(k.Addresses)); words != "203.0.113.7/32, 198.51.100.0/24, 2001:db8:1::/48, 192.0.2.9/32, 10.1.0.0/16" {
		t.Errorf("kept as %s", words)
	}
	r := b.ring(t)
	for from, in := range map[string]bool{
		"203.0.113.7": true, "203.0.113.8": false, "::ffff:203.0.113.7": true, "198.51.100.1": true, "198.51.101.1": false,
		"::ffff:198.51.100.1": true, "2001:db8:1:2::3": true, "2001:db8:2::1": false, "2001:db8:1::1%eth0": true, "192.0.2.9": true,
		"10.1.255.255": true, "10.2.0.0": false, "": false, "nowhere": false,
	} {
		found, err := r.Find(t.Context(), secret, from)
		if in != (err == nil) || found.ID != k.ID {
			t.Errorf("from %q: %+v, %v", from, found, err)
		}
		if !in {
			wantError(t, err, app.Forbidden, "address_not_allowed")
		}
	}
	for _, text := range []string{"", "203.0.113.0/33", "host.example", "203.0.113.7 ", "1.2.3", "2001:db8::/129"} {
		_, err := ParseNetwork(text)
		wantError(t, err, app.Invalid, "invalid_value")
	}
}

// TestChangesOfAKeyAtTheSameTimeEndInOneTruth checks that a read after a change returns the changed key, and that secrets stay
// single.
func TestChangesOfAKeyAtTheSameTimeEndInOneTruth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.fundedMember(t, "ada@example.com")
	k, first := b.key(t, p, Spec{})
	r := b.ring(t)
	run(t, r, pgtest.DSN(t, b.db))
	var wg sync.WaitGroup
	var mu sync.Mutex
	secrets := []string{first}
	for n := range 6 {
		wg.Go(func() {
			_, secret, err := b.keys.Rotate(t.Context(), p, k.ID, Overlaps()[n%2])
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			secrets = append(secrets, secret)
		})
		wg.Go(func() {
			if _, err := b.keys.Update(t.Context(), p, k.ID, Patch{Concurrency: new(n + 1)}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := b.keys.Disable(t.Context(), p, k.ID, n%2 == 0); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for range 50 {
				_, _ = r.Find(t.Context(), first, "192.0.2.1")
			}
		})
	}
	wg.Wait()
	must(t, b.keys.Disable(t.Context(), p, k.ID, false))
	now, err := b.keys.Get(t.Context(), p, k.ID)
	must(t, err)
	good := func() (n int) {
		for _, s := range secrets {
			if found, err := r.Find(t.Context(), s, "192.0.2.1"); err == nil && found.Concurrency == now.Concurrency {
				n++
			}
		}
		return n
	}
	want := 1
	if now.Secret.PreviousUntil != nil {
		want = 2
	}
	eventually(t, time.Second, "only the secrets in force are taken", func() bool { return good() == want })
	var deleted sync.WaitGroup
	for range 4 {
		deleted.Go(func() {
			if err := b.keys.Delete(t.Context(), p, k.ID); err != nil && app.KindOf(err) != app.NotFound {
				t.Error(err)
			}
		})
		deleted.Go(func() { _, _, _ = b.keys.Rotate(t.Context(), p, k.ID, time.Hour) })
	}
	deleted.Wait()
	eventually(t, time.Second, "no secret is taken", func() bool { return good() == 0 })
	if n := b.audited(t, "key.deleted", p.AccountID); n != 1 {
		t.Errorf("it was deleted %d times", n)
	}
}
