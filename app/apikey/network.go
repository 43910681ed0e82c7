package apikey

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/app/seal"
)

const (
	networksMax   = 16 // A key has at most this many networks; the least recently used is dropped first.
	networkBits4  = 24
	networkBits6  = 48
	networkAbsent = 30 * 24 * time.Hour // A network counts as new again after this absence.
	networkNews   = 7 * 24 * time.Hour  // A new network is shown to people up to this age.
)

// NewNetwork is a network from which a key was not used in the 30 days before.
type NewNetwork struct {
	KeyID   string
	Network netip.Prefix // Network is a /24 of IPv4 or a /48 of IPv6.
	Since   time.Time
}

// NewNetworks are the networks that were new to keys of the account in the last days, the latest of each key, by its id. The
// first one of a key is not new.
func (s *Service) NewNetworks(ctx context.Context, p app.Principal) (map[string]NewNetwork, error) {
	rows, err := newNetworks(ctx, s.db, p.AccountID, s.o.Now().Add(-networkNews))
	found := make(map[string]NewNetwork, len(rows))
	for _, r := range rows {
		found[r.KeyID] = r
	}
	return found, postgres.StoreError("apikey: list new networks", err)
}

// keyNetworkOf is the network of an address, as keys remember it.
func keyNetworkOf(from string) (netip.Prefix, bool) {
	a, err := netip.ParseAddr(from)
	if err != nil {
		return netip.Prefix{}, false
	}
	a = a.Unmap().WithZone("")
	bits := networkBits6
	if a.Is4() {
		bits = networkBits4
	}
	p, err := a.Prefix(bits)
	return p, err == nil
}

// networkUse is a network that a secret was used from.
type networkUse struct {
	secret  seal.Fingerprint
	network netip.Prefix
}

// noteNetwork remembers from which network a secret is used, for the next batch. What a key in memory was used from already costs
// the comparison of two texts, or of a few networks where a key is used from several.
func (r *Cache) noteNetwork(k *cachedKey, f seal.Fingerprint, from string, now time.Time) {
	if last := k.from.Load(); last != nil && *last == from {
		return
	}
	network, known := keyNetworkOf(from)
	if !known {
		return
	}
	seen := k.networks.Load()
	if seen != nil && (slices.Contains(*seen, network) || len(*seen) >= networksMax) || !k.sees(seen, network, from) {
		return
	}
	r.usedMu.Lock()
	defer r.usedMu.Unlock()
	if len(r.networks) < usedMax {
		r.networks[networkUse{secret: f, network: network}] = now
	}
}

// sees adds a network to those that were seen. It reports false when another call has just added one; this one comes again.
func (k *cachedKey) sees(before *[]netip.Prefix, network netip.Prefix, from string) bool {
	var list []netip.Prefix
	if before != nil {
		list = slices.Clip(*before)
	}
	list = append(list, network)
	if !k.networks.CompareAndSwap(before, &list) {
		return false
	}
	k.from.Store(&from)
	return true
}

// writeNetworks stores the networks that were noted. What the store does not take is noted again within minutes.
func (r *Cache) writeNetworks(ctx context.Context, noted map[networkUse]time.Time) {
	uses := make([]networkUse, 0, len(noted))
	for use := range noted {
		uses = append(uses, use)
	}
	for batch := range slices.Chunk(uses, usedBatchMax) {
		if err := setNetworksUsed(ctx, r.db, batch, noted); err != nil {
			r.o.Log.Warn("key cache: writing networks failed", "networks", len(batch), "error", err)
			return
		}
	}
}
