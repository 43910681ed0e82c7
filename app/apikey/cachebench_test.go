package apikey

import (
	"crypto/rand"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"umg/app/seal"

	"github.com/jmoiron/sqlx"
)

// BenchmarkRingFind is what it costs to recognise a key that is in memory.
func BenchmarkRingFind(b *testing.B) {
	for name, nets := range map[string][]netip.Prefix{
		"from anywhere": nil, "from its addresses": {netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32")},
	} {
		b.Run(name, func(b *testing.B) {
			r := NewCache(&sqlx.DB{}, CacheOptions{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
			secret, err := newSecret(rand.Reader)
			if err != nil {
				b.Fatal(err)
			}
			r.hearing = true
			r.keys[seal.FingerprintOf(secret)] = &cachedKey{key: Key{ID: "key_1", Spec: Spec{Addresses: nets}}, readAt: time.Now()}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Find(b.Context(), secret, "2001:db8::7"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
