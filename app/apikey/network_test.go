package apikey

import (
	"fmt"
	"testing"
	"time"

	"umg/app"
	"umg/app/seal"
)

func TestANetworkIsNewWhereAKeyWasNotUsedForThirtyDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.fundedMember(t, "ada@example.com")
	k, secret := b.key(t, p, Spec{})
	use := func(what, want string, from ...string) {
		t.Helper()
		r := b.ring(t) // The cache has no recent uses, like one some minutes later.
		for _, one := range from {
			if code := finds(t, r, secret, one); code != "" {
				t.Fatal(what, code)
			}
		}
		r.writeUse(t.Context())
		found, err := b.keys.NewNetworks(t.Context(), p)
		must(t, err)
		got := ""
		if n, there := found[k.ID]; there {
			got = n.Network.String()
		}
		if got != want {
			t.Errorf("%s: %q is new, want %q", what, got, want)
		}
	}
	day := 24 * time.Hour
	use("the first one", "", "203.0.113.7")
	use("another address of it", "", "203.0.113.200", "::ffff:203.0.113.9")
	use("what is no address", "", "somewhere")
	b.clock.Advance(day)
	use("another network beside it, in the same minute", "2001:db8:7::/48", "203.0.113.7", "2001:db8:7:1::5%eth0")
	b.clock.Advance(8 * day)
	use("no news after a week", "", "203.0.113.7", "2001:db8:7::1")
	b.clock.Advance(20 * day)
	use("used all the while", "", "203.0.113.7")
	b.clock.Advance(11 * day)
	use("back after 31 days", "2001:db8:7::/48", "2001:db8:7::1")
	b.clock.Advance(40 * day)
	use("back from where it was last", "", "2001:db8:7::1")
	stranger := b.member(t, "eve@example.com").Principal()
	if found, err := b.keys.NewNetworks(t.Context(), app.Principal{AccountID: stranger.AccountID}); err != nil || len(found) != 0 {
		t.Errorf("a stranger sees %v, %v", found, err)
	}
	var many []string
	for i := range networksMax + 4 {
		many = append(many, fmt.Sprintf("10.0.%d.1", i))
	}
	r := b.ring(t)
	for _, from := range many {
		finds(t, r, secret, from)
	}
	if n := len(r.networks); n != networksMax {
		t.Errorf("%d networks wait to be written", n)
	}
	r.writeUse(t.Context())
	if n := count(t, b.db, `select count(*) from key_networks where key_id = $1`, k.ID); n != networksMax {
		t.Errorf("%d networks are kept", n)
	}
	must(t, b.keys.Delete(t.Context(), p, k.ID))
	if n := count(t, b.db, `select count(*) from key_networks`); n != 0 {
		t.Errorf("%d networks of a deleted key", n)
	}
}

// TestTheSameAddressCostsNothingMore holds what the look at the network adds to each call.
func TestTheSameAddressCostsNothingMore(t *testing.T) {
	b := setup(t)
	r := b.ring(t)
	k := &cachedKey{key: Key{ID: "key_1"}}
	r.noteNetwork(k, seal.Fingerprint{}, "203.0.113.7", b.clock.Now())
	for _, from := range []string{"203.0.113.7", "203.0.113.8"} {
		if n := testing.AllocsPerRun(100, func() { r.noteNetwork(k, seal.Fingerprint{}, from, b.clock.Now()) }); n != 0 {
			t.Errorf("%s: %v allocations", from, n)
		}
	}
}
