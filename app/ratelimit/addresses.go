package ratelimit

import (
	"container/list"
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
)

// AddressClass is a kind of request of visitors, whom only their address tells apart.
type AddressClass int

// These are the classes of requests of visitors.
const (
	Pages AddressClass = iota // Pages are requests that read pages and documents.
	Forms                     // Forms are sent forms, such as those to sign in.
	addressClassesCount
)

const (
	addressEntriesMax  = 32 << 10 // One replica remembers at most this many addresses, at about 300 bytes each.
	addressShardsCount = 32
	ipv6NetworkBits    = 64 // A household or a rented server has at least a /64.
)

// AddressOptions are what one address may do. Rates of zero are no limit.
type AddressOptions struct {
	Now            app.Clock
	PagesPerMinute int64
	FormsPerMinute int64
	EntriesMax     int // Zero means addressEntriesMax.
}

// Addresses counts the requests of visitors by the address that they come from, an IPv6 one by its network of 64 bits. Each replica
// counts alone. It remembers a bounded number of addresses and forgets the one that was quiet for longest. It is safe for
// concurrent use, and a nil one counts nothing.
type Addresses struct {
	now     app.Clock
	rates   [addressClassesCount]int64
	seed    maphash.Seed
	shards  [addressShardsCount]addressShard
	perMax  int // PerMax is how many entries a shard may have.
	refused [addressClassesCount]atomic.Int64
}

// addressShard is a part of the addresses, with the one that was counted last in front.
type addressShard struct {
	mu      sync.Mutex
	entries map[netip.Addr]*list.Element
	recent  list.List
}

type addressEntry struct {
	network netip.Addr
	buckets [addressClassesCount]bucket
}

// NewAddresses returns counts of no address yet.
func NewAddresses(o AddressOptions) *Addresses {
	if o.EntriesMax <= 0 {
		o.EntriesMax = addressEntriesMax
	}
	a := &Addresses{
		now: o.Now, rates: [addressClassesCount]int64{Pages: o.PagesPerMinute, Forms: o.FormsPerMinute}, seed: maphash.MakeSeed(),
		perMax: max(1, o.EntriesMax/addressShardsCount),
	}
	for i := range a.shards {
		a.shards[i].entries = map[netip.Addr]*list.Element{}
	}
	return a
}

// Count counts a request of an address, or says until when it must wait. Addresses that cannot be read count as one.
func (a *Addresses) Count(address string, c AddressClass) error {
	if a == nil || a.rates[c] <= 0 {
		return nil
	}
	network, now := networkOf(address), a.now()
	s := &a.shards[maphash.Comparable(a.seed, network)%addressShardsCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.entry(network, a.perMax).buckets[c]
	b.fill(a.rates[c], time.Minute, now)
	if b.allows(1) {
		b.take(1)
		return nil
	}
	a.refused[c].Add(1)
	wait := min(waitMax, max(waitMin, (b.wait(1)+time.Second-1).Truncate(time.Second)))
	unit := "seconds" // People read this error on a page.
	if wait == time.Second {
		unit = "second"
	}
	return app.Errorf(app.Exhausted, "too_many_requests", "More than %d %s a minute came from your network address. Try again in %d %s.",
		a.rates[c], c.noun(), wait/time.Second, unit).After(wait)
}

// Refused is how many requests of the class were refused.
func (a *Addresses) Refused(c AddressClass) int64 { return a.refused[c].Load() }

// Len is how many addresses are remembered.
func (a *Addresses) Len() (n int) {
	for i := range a.shards {
		s := &a.shards[i]
		s.mu.Lock()
		n += len(s.entries)
		s.mu.Unlock()
	}
	return n
}

// entry finds or adds an address, which is now the one that was counted last.
func (s *addressShard) entry(network netip.Addr, most int) *addressEntry {
	if found, ok := s.entries[network]; ok {
		s.recent.MoveToFront(found)
		return found.Value.(*addressEntry) //nolint:forcetypeassert // the list holds nothing else
	}
	if len(s.entries) >= most {
		oldest := s.recent.Back()
		delete(s.entries, s.recent.Remove(oldest).(*addressEntry).network) //nolint:forcetypeassert // the list holds nothing else
	}
	e := &addressEntry{network: network}
	s.entries[network] = s.recent.PushFront(e)
	return e
}

// networkOf is what counts as one address; the zero address stands for all that cannot be read.
func networkOf(address string) netip.Addr {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Addr{}
	}
	if a = a.Unmap().WithZone(""); a.Is6() {
		if network, err := a.Prefix(ipv6NetworkBits); err == nil {
			return network.Addr()
		}
	}
	return a
}

func (c AddressClass) noun() string {
	return [addressClassesCount]string{Pages: "pages", Forms: "forms"}[c]
}
