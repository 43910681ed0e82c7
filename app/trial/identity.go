package trial

import (
	"crypto/sha256"
	_ "embed"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// ipv6SubnetBits is the smallest subnet that a household or a rented server has.
const ipv6SubnetBits = 64

// sameDomain maps the domains under which a provider hands out the same address to one of them.
var sameDomain = map[string]string{
	"googlemail.com": "gmail.com",
	"protonmail.com": "proton.me", "protonmail.ch": "proton.me", "pm.me": "proton.me",
	"me.com": "icloud.com", "mac.com": "icloud.com",
	"ya.ru": "yandex.ru", "yandex.com": "yandex.ru", "yandex.by": "yandex.ru", "yandex.kz": "yandex.ru",
}

// sameNames removes what a provider ignores in the names of its mailboxes.
var sameNames = map[string]*strings.Replacer{
	"gmail.com": strings.NewReplacer(".", ""),
	"proton.me": strings.NewReplacer(".", "", "-", "", "_", ""),
	"yandex.ru": strings.NewReplacer("-", "."),
}

// majorsFile lists mail providers that millions share, where a daily limit would let strangers shut each other out.
//
//go:embed majors.txt
var majorsFile string

// disposableFile lists domains where anyone opens a mailbox for ten minutes.
//
//go:embed disposable.txt
var disposableFile string

var majors, disposables = domainsOf(majorsFile), domainsOf(disposableFile)

// domainsOf reads a list of one domain a line; lines that begin with # are remarks.
func domainsOf(file string) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(file) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			set[line] = true
		}
	}
	return set
}

// identity is the hash of what an address has in common with all others that reach the same mailbox.
type identity [sha256.Size]byte

func identityOf(email string) identity { return sha256.Sum256([]byte(canonicalEmail(email))) }

// canonicalEmail is an address without what its owner may vary at will: the case, what follows a plus sign, the signs
// that the provider ignores, and other spellings of the domain.
func canonicalEmail(email string) string {
	name, domain := SplitEmail(email)
	if at := strings.IndexByte(name, '+'); at > 0 {
		name = name[:at]
	}
	if same, found := sameNames[domain]; found {
		if bare := same.Replace(name); bare != "" {
			name = bare
		}
	}
	return name + "@" + domain
}

func domainOf(email string) string {
	_, domain := SplitEmail(email)
	return domain
}

// SplitEmail returns the name of an address in lower case, and the one spelling of its domain.
func SplitEmail(email string) (name, domain string) {
	at := strings.LastIndexByte(email, '@')
	if at < 0 {
		return strings.ToLower(email), ""
	}
	name, domain = strings.ToLower(email[:at]), strings.ToLower(strings.TrimRight(email[at+1:], "."))
	if readable, err := idna.Lookup.ToUnicode(domain); err == nil {
		domain = readable
	}
	if plain, err := idna.Lookup.ToASCII(domain); err == nil {
		domain = plain
	}
	if same, found := sameDomain[domain]; found {
		domain = same
	}
	return name, domain
}

// Organisation returns the registered part of a domain. Its owner owns every name below it.
func Organisation(domain string) string {
	if registered, err := publicsuffix.EffectiveTLDPlusOne(domain); err == nil {
		return registered
	}
	return domain
}

// disposable reports whether a domain, or one above it, hands out mailboxes to throw away.
func disposable(domain string) bool {
	for domain != "" {
		if disposables[domain] {
			return true
		}
		_, domain, _ = strings.Cut(domain, ".")
	}
	return false
}

// networkOf is what counts as one place for trials: the 256 addresses around an IPv4 address, or the subnet of an IPv6 one.
func networkOf(ip string) string {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	bits := 24
	if a = a.Unmap(); a.Is6() {
		bits = ipv6SubnetBits
	}
	network, err := a.WithZone("").Prefix(bits)
	if err != nil {
		return a.String()
	}
	return network.String()
}
