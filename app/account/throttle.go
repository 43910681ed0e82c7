package account

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/bits"
	"net/netip"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

const (
	trustMax       = 90 * 24 * time.Hour // A user's address is trusted for this long after a sign-in from it.
	ipv6SubnetBits = 64                  // A household or a rented server has at least this subnet.
	signUpsMax     = 20                  // One address may sign up this often per hour before it has to wait.
)

// rule is how often something may be tried: so many times in a window without waiting, then with waits that double.
type rule struct {
	scope  string
	free   int
	first  time.Duration
	most   time.Duration
	window time.Duration
}

// These rules hold for sign-ins. A stranger who guesses is slowed down hard at one address and with one e-mail. Over many
// addresses, the e-mail itself has to wait, but never for long, and not where its owner has signed in before.
var (
	signInPair  = rule{scope: "sign_in_pair", free: 5, first: time.Second, most: 15 * time.Minute, window: 24 * time.Hour}
	signInIP    = rule{scope: "sign_in_ip", free: 100, first: time.Second, most: 15 * time.Minute, window: time.Hour}
	signInEmail = rule{scope: "sign_in_email", free: 30, first: time.Second, most: 30 * time.Second, window: time.Hour}
)

func signUpIP(free int) rule {
	return rule{scope: "sign_up_ip", free: free, first: time.Minute, most: time.Hour, window: time.Hour}
}

// wait is how long the next try has to wait after so many.
func (r rule) wait(tries int) time.Duration {
	over := tries - r.free
	if over < 0 {
		return 0
	}
	if over >= bits.UintSize-1 || r.first > r.most>>over {
		return r.most
	}
	return r.first << over
}

// try is one rule applied to one subject.
type try struct {
	rule    rule
	subject [sha256.Size]byte
	count   int // Count is how many tries this one counts as.
}

// times is a try that counts as n, and at least as one.
func (t try) times(n int) try {
	t.count = max(n, 1)
	return t
}

func (r rule) of(parts ...string) try {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	t := try{rule: r, count: 1}
	h.Sum(t.subject[:0])
	return t
}

// throttle counts tries in the store, so that all replicas count together.
type throttle struct {
	db  *sqlx.DB
	now app.Clock
}

// admit counts a try under every rule, or none when one of them says wait. Counting comes before the work, so that
// many tries at once are not free.
func (t throttle) admit(ctx context.Context, tries ...try) error {
	now := t.now().UTC()
	return postgres.InTx(ctx, t.db, func(tx *sqlx.Tx) error {
		var wait time.Duration
		for _, one := range tries {
			row, err := lockThrottle(ctx, tx, one, now)
			if err != nil {
				return err
			}
			if row.blockedFor(now) > wait {
				wait = row.blockedFor(now)
			}
			if now.Sub(row.Since) >= one.rule.window {
				row.Tries, row.Since = 0, now
			}
			row.Tries += one.count
			row.BlockedUntil = nil
			if w := one.rule.wait(row.Tries); w > 0 {
				until := now.Add(w)
				row.BlockedUntil = &until
			}
			if err := postgres.Exec(ctx, tx, `
				update auth_throttles set tries = $3, since = $4, blocked_until = $5 where scope = $1 and subject = $2`,
				one.rule.scope, one.subject[:], row.Tries, row.Since, row.BlockedUntil); err != nil {
				return err
			}
		}
		if wait > 0 {
			return app.Errorf(app.Exhausted, "too_many_attempts", "Too many attempts. Wait %s and try again.", spoken(wait)).After(wait)
		}
		return nil
	})
}

// spoken is a wait in words, rounded up.
func spoken(d time.Duration) string {
	count, unit := (d+time.Second-1)/time.Second, "second"
	if d > 2*time.Minute {
		count, unit = (d+time.Minute-1)/time.Minute, "minute"
	}
	if d > 2*time.Hour {
		count, unit = (d+time.Hour-1)/time.Hour, "hour"
	}
	if count != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", count, unit)
}

// placeOf is what counts as one address: an IPv4 address, or the subnet of an IPv6 one.
func placeOf(ip string) string {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	a = a.Unmap()
	if a.Is6() {
		if subnet, err := a.WithZone("").Prefix(ipv6SubnetBits); err == nil {
			return subnet.String()
		}
	}
	return a.String()
}

// leakIP limits how many leaked keys one address may report without a partner's signature.
var leakIP = rule{scope: "leak_ip", free: 60, first: time.Minute, most: time.Hour, window: time.Hour}

// AdmitLeakReports refuses an address that has reported too many leaked keys. The count is that of the new reports.
func (s *Service) AdmitLeakReports(ctx context.Context, ip string, count int) error {
	err := s.throttle.admit(ctx, leakIP.of(placeOf(ip)).times(count))
	return postgres.StoreError("account: count reports", err)
}
