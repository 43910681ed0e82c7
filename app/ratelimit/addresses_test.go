package ratelimit_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"umg/app"
	"umg/app/ratelimit"
)

// counted is how many of n requests of an address pass.
func counted(a *ratelimit.Addresses, address string, c ratelimit.AddressClass, n int) (passed int) {
	for range n {
		if a.Count(address, c) == nil {
			passed++
		}
	}
	return passed
}

func TestAnAddressIsLimitedByClassAndOnlyForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := ratelimit.NewAddresses(ratelimit.AddressOptions{Now: time.Now, PagesPerMinute: 60, FormsPerMinute: 6})
		if n := counted(a, "192.0.2.1", ratelimit.Pages, 100); n != 60 {
			t.Errorf("%d of 100 pages pass", n)
		}
		if n := counted(a, "192.0.2.1", ratelimit.Forms, 10); n != 6 {
			t.Errorf("%d of 10 forms pass", n)
		}
		err := a.Count("192.0.2.1", ratelimit.Forms)
		e, ok := errors.AsType[*app.Error](err)
		if !ok || e.Kind != app.Exhausted || e.RetryAfter != 10*time.Second || !strings.HasSuffix(e.Message, " Try again in 10 seconds.") {
			t.Errorf("the refusal is %+v", err)
		}
		if n := counted(a, "192.0.2.2", ratelimit.Forms, 6); n != 6 {
			t.Errorf("of another address %d pass", n)
		}
		time.Sleep(e.RetryAfter)
		if n := counted(a, "192.0.2.1", ratelimit.Forms, 10); n != 1 {
			t.Errorf("after the wait %d pass", n)
		}
		if a.Refused(ratelimit.Forms) != 14 || a.Refused(ratelimit.Pages) != 40 {
			t.Errorf("%d forms and %d pages were refused", a.Refused(ratelimit.Forms), a.Refused(ratelimit.Pages))
		}
	})
}

func TestAddressesOfOneNetworkCountAsOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		addresses []string
		passed    int
	}{
		"IPv6 in one /64":    {[]string{"2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::", "2001:db8::1%eth0"}, 1},
		"IPv6 in two /64":    {[]string{"2001:db8:0:1::1", "2001:db8:0:2::1"}, 2},
		"IPv4 beside mapped": {[]string{"192.0.2.1", "::ffff:192.0.2.1"}, 1},
		"IPv4":               {[]string{"192.0.2.1", "192.0.2.2"}, 2},
		"unreadable":         {[]string{"", "nowhere", "unix"}, 1},
	} {
		a, passed := ratelimit.NewAddresses(ratelimit.AddressOptions{Now: time.Now, FormsPerMinute: 1}), 0
		for _, address := range c.addresses {
			passed += counted(a, address, ratelimit.Forms, 1)
		}
		if passed != c.passed {
			t.Errorf("%s: %d pass, want %d", name, passed, c.passed)
		}
	}
}

func TestAddressesAreForgottenWhenThereAreTooMany(t *testing.T) {
	t.Parallel()
	a := ratelimit.NewAddresses(ratelimit.AddressOptions{Now: time.Now, FormsPerMinute: 1, EntriesMax: 320})
	var all sync.WaitGroup
	for part := range 4 {
		all.Go(func() {
			for n := range 2000 {
				_ = a.Count("198.51.100.7", ratelimit.Forms) // The address is counted all the time, so its entry stays.
				_ = a.Count(fmt.Sprintf("2001:db8:%x:%x::1", part, n), ratelimit.Forms)
			}
		})
	}
	all.Wait()
	if n := a.Len(); n > 320 {
		t.Errorf("%d addresses are remembered", n)
	}
	if a.Count("198.51.100.7", ratelimit.Forms) == nil {
		t.Error("an address that is counted all the time was forgotten")
	}
	var none *ratelimit.Addresses
	if none.Count("192.0.2.1", ratelimit.Pages) != nil || ratelimit.NewAddresses(ratelimit.AddressOptions{Now: time.Now}).Count("192.0.2.1", ratelimit.Pages) != nil {
		t.Error("there is a limit where none was set")
	}
}
