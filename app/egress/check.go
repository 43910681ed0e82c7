package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"umg/app"
)

const (
	hostBytesMax  = 253
	labelBytesMax = 63
	lookUpRetry   = 5 * time.Second
)

// target is a URL that has passed every check that needs no network.
type target struct {
	host     string
	port     uint16
	excepted bool
}

// Check returns what is wrong with a URL at its registration: its form, its port, or the present addresses of its name. The client
// checks the address again at each connection, because a name may resolve differently by then.
func (c *Client) Check(ctx context.Context, rawURL string) error {
	to, err := c.parse(rawURL)
	if err != nil || to.excepted {
		return err
	}
	addresses, err := c.lookUp(ctx, to.host)
	if err != nil {
		var notFound *net.DNSError
		if errors.As(err, &notFound) && notFound.IsNotFound {
			return refuse("The host %s does not exist in DNS.", to.host).Because(err)
		}
		return app.Errorf(app.Unavailable, "url_not_checked", "The host %s could not be looked up right now; try again.", to.host).
			Because(err).After(lookUpRetry)
	}
	for _, a := range addresses {
		if err := c.guard(netip.AddrPortFrom(a, to.port)); err != nil {
			// The address itself is not shown: a stranger learns nothing about names of the inner network.
			return refuse("The host %s does not lead to a public address.", to.host).Because(err)
		}
	}
	return nil
}

// parse checks the form of a URL.
func (c *Client) parse(rawURL string) (target, error) {
	if len(rawURL) > urlBytesMax {
		return target{}, refuse("The URL is longer than %d bytes.", urlBytesMax)
	}
	if i := strings.IndexFunc(rawURL, func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }); i >= 0 {
		return target{}, refuse("The URL has a character at position %d that must be percent-encoded.", i)
	}
	u, err := url.Parse(rawURL)
	if err != nil || u.Opaque != "" || u.Host == "" {
		return target{}, refuse("The URL must be absolute, as in https://example.com/path.")
	}
	if u.User != nil {
		return target{}, refuse("The URL must not hold a user name or password.")
	}
	if u.Fragment != "" || strings.Contains(rawURL, "#") {
		return target{}, refuse("The URL must not have a fragment (#).")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	to := target{host: strings.ToLower(u.Hostname()), excepted: c.exceptions[destination(u.Hostname(), port)]}
	if u.Scheme != "https" && (u.Scheme != "http" || !to.excepted) {
		return target{}, refuse("The URL must begin with https://.")
	}
	if to.excepted {
		return to, nil
	}
	if port != "443" && port != "80" {
		return target{}, refuse("The URL must use port 443 or 80, not %s.", port)
	}
	n, _ := strconv.ParseUint(port, 10, 16)
	to.port = uint16(n)
	return to, c.checkHost(to)
}

// checkHost rejects hosts that are wrong without a look-up: private addresses, names of this machine, and spellings of addresses
// that parsers read differently.
func (c *Client) checkHost(to target) error {
	if a, err := netip.ParseAddr(to.host); err == nil {
		if err := c.guard(netip.AddrPortFrom(a, to.port)); err != nil {
			return refuse("The address %s is not public.", to.host).Because(err)
		}
		return nil
	}
	name := strings.TrimSuffix(to.host, ".")
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	switch {
	case len(name) > hostBytesMax || !validLabels(labels):
		return refuse("%q is not a host name; write international names in their xn-- form.", to.host)
	case looksNumeric(last):
		return refuse("%q is not an address in its plain form, as in 192.0.2.1.", to.host)
	case len(labels) < 2 || last == "localhost":
		return refuse("The host %s is not a public name.", to.host)
	}
	return nil
}

func validLabels(labels []string) bool {
	for _, l := range labels {
		if l == "" || len(l) > labelBytesMax || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// looksNumeric reports whether some parsers read the last label as a number, which makes the whole name an address.
func looksNumeric(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, isHex := strings.CutPrefix(label, "0x")
	return isHex && strings.Trim(hex, "0123456789abcdef") == ""
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}
