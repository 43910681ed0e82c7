package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"

	"umg/app"
)

// denied4 and denied6 repeat what the library denies, so that an update of the library cannot open private networks. They add
// addresses that look public and that clouds use internally.
var (
	denied4 = []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"168.63.129.16/32", // This is a cloud's host agent, which only guests can reach.
	}
	denied6 = []string{
		"::/96",                          // These are unspecified, loopback and IPv4-compatible addresses.
		"::ffff:0:0/96",                  // These are IPv4-mapped.
		"64:ff9b::/96", "64:ff9b:1::/48", // These are for NAT64.
		"100::/64",                   // This network only discards.
		"2001::/23",                  // These are protocol assignments, with Teredo.
		"2001:db8::/32", "3fff::/20", // These are for documentation.
		"2002::/16",                          // This is for 6to4.
		"5f00::/16",                          // This is for segment routing.
		"fc00::/7", "fe80::/10", "fec0::/10", // These are unique local, link-local and site-local.
		"ff00::/8", // This is multicast.
	}
)

// newGuard returns the check of one resolved address and port.
func newGuard() func(netip.AddrPort) error {
	own := append(prefixes(denied4), prefixes(denied6)...)
	library := ssrf.New(ssrf.WithNetworks("tcp4", "tcp6"), ssrf.WithPorts(80, 443))
	return func(to netip.AddrPort) error {
		for _, p := range own {
			if p.Contains(to.Addr().WithZone("")) {
				return ssrf.ErrProhibitedIP
			}
		}
		return library.SafeAddrPort(to)
	}
}

func prefixes(list []string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(list))
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// dial resolves the name once and connects to the checked addresses. A second look-up could return an unchecked address.
func (c *Client) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, refuse("The URL names no host and port.").Because(err)
	}
	dialer := &net.Dialer{Timeout: connectTimeout, Control: c.control}
	if c.exceptions[destination(host, port)] {
		dialer.Control = nil
	}
	addresses, err := c.lookUp(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses[:min(len(addresses), addressesMax)] {
		conn, dialErr := dialer.DialContext(ctx, "tcp", net.JoinHostPort(a.String(), port))
		if dialErr == nil {
			return conn, nil
		}
		err = errors.Join(err, dialErr)
	}
	return nil, err
}

// control checks the address that the dialer is about to connect to.
func (c *Client) control(network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") {
		return refuse("The URL does not lead to a public address.").Because(err)
	}
	if err := c.guard(to); err != nil {
		return refuse("The URL does not lead to a public address on port 80 or 443.").Because(err)
	}
	return nil
}

func (c *Client) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	found, err := c.resolver.LookupNetIP(ctx, "ip", strings.ToLower(host))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return found, nil
}

// destination is the form in which exceptions are compared: as written, in lower case.
func destination(host, port string) string { return net.JoinHostPort(strings.ToLower(host), port) }

func refuse(format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "url_not_allowed", format, args...)
}
