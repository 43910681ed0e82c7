package limit_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"umg/app"
	"umg/app/limit"
)

// counted is how many of n requests of an address pass.
func counted(a *limit.Addresses, address string, c limit.AddressClass, n int) (passed int) {
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
		a := limit.NewAddresses(limit.AddressOptions{Now: time.Now, PagesPerMinute: 60, FormsPerMinute: 6})
		if n := counted(a, "192.0.2.1", limit.Pages, 100); n != 60 {
			t.Errorf("%d of 100 pages pass", n)
		}
		if n := counted(a, "192.0.2.1", limit.Forms, 10); n != 6 {
			t.Errorf("%d of 10 forms pass", n)
		}
		err := a.Count("192.0.2.1", limit.Forms)
		e, ok := errors.AsType[*app.Error](err)
		if !ok || e.Kind != app.Exhausted || e.RetryAfter != 10*time.Second || !strings.HasSuffix(e.Message, " Try again in 10 seconds.") {
			t.Errorf("the refusal is %+v", err)
		}
		if n := counted(a, "192.0.2.2", limit.Forms, 6); n != 6 {
			t.Errorf("of another address %d pass", n)
		}
		time.Sleep(e.RetryAfter)
		if n := counted(a, "192.0.2.1", limit.Forms, 10); n != 1 {
			t.Errorf("after the wait %d pass", n)
		}
		if a.Refused(limit.Forms) != 14 || a.Refused(limit.Pages) != 40 {
			t.Errorf("%d forms and %d pages were refused", a.Refused(limit.Forms), a.Refused(limit.Pages))
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
		a, passed := limit.NewAddresses(limit.AddressOptions{Now: time.Now, FormsPerMinute: 1}), 0
		for _, address := range c.addresses {
			passed += counted(a, address, limit.Forms, 1)
		}
		if passed != c.passed {
			t.Errorf("%s: %d pass, want %d", name, passed, c.passed)
		}
	}
}

func TestAddressesAreForgottenWhenThereAreTooMany(t *testing.T) {
	t.Parallel()
	a := limit.NewAddresses(limit.AddressOptions{Now: time.Now, FormsPerMinute: 1, EntriesMax: 320})
	var all sync.WaitGroup
	for part := range 4 {
		all.Go(func() {
			for n := range 2000 {
				_ = a.Count("198.51.100.7", limit.Forms) // is counted all the time, so it stays
				_ = a.Count(fmt.Sprintf("2001:db8:%x:%x::1", part, n), limit.Forms)
			}
		})
	}
	all.Wait()
	if n := a.Len(); n > 320 {
		t.Errorf("%d addresses are remembered", n)
	}
	if a.Count("198.51.100.7", limit.Forms) == nil {
		t.Error("an address that is counted all the time was forgotten")
	}
	var none *limit.Addresses
	if none.Count("192.0.2.1", limit.Pages) != nil || limit.NewAddresses(limit.AddressOptions{Now: time.Now}).Count("192.0.2.1", limit.Pages) != nil {
		t.Error("there is a limit where none was set")
	}
}
