package page

import (
	"cmp"
	"time"

	"umg/app/account"
	"umg/views/format"
)

// zoneCookie names the cookie in which a script keeps the time zone of the browser.
const zoneCookie = "umg_zone"

// ZoneName is the name of the time zone in which the reader sees times: the one that they chose, else that of the browser. It is UTC
// where neither is known.
func (p *Page) ZoneName() string {
	name := cmp.Or(p.User.TimeZone, p.Cookie(zoneCookie))
	if !account.KnownZone(name) {
		return "UTC"
	}
	return name
}

// clock is how the reader sees times.
func (p *Page) clock() format.Clock {
	zone, err := time.LoadLocation(p.ZoneName())
	if err != nil {
		zone = time.UTC
	}
	return format.Clock{Zone: zone, TwelveHour: p.User.Clock == account.Clock12}
}
