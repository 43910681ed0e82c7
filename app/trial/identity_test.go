package trial

import "testing"

func TestOneMailboxIsOneIdentityHoweverItIsSpelt(t *testing.T) {
	t.Parallel()
	for canonical, spellings := range map[string][]string{
		"ada@gmail.com":             {"ada@gmail.com", "A.D.A@Gmail.com", "ada+trial@googlemail.com", "a.da+x+y@gmail.com."},
		"ada@example.com":           {"Ada@EXAMPLE.com", "ada+1@example.com", "ada@example.com."},
		"a.da@example.com":          {"a.da+x@example.com"},
		"+tag@example.com":          {"+tag@example.com"},
		"ada@xn--bcher-kva.example": {"ada@bücher.example", "ada@XN--BCHER-KVA.example", "ada@BÜCHER.example"},
		"ada@proton.me":             {"ada@pm.me", "ada@protonmail.com", "a.d-a@protonmail.ch", "a_da+x@proton.me"},
		"ada.l@yandex.ru":           {"ada-l@ya.ru", "ada.l@yandex.com"},
	} {
		for _, s := range spellings {
			if got := canonicalEmail(s); got != canonical || identityOf(s) != identityOf(canonical) {
				t.Errorf("%s is %s, want %s", s, got, canonical)
			}
		}
	}
	if identityOf("ada@example.com") == identityOf("ada@example.org") {
		t.Error("two mailboxes are one")
	}
}

func TestDomainsAndNetworksAreKnownByTheirOwner(t *testing.T) {
	t.Parallel()
	for domain, owner := range map[string]string{
		"mail.example.com": "example.com", "a.b.example.co.uk": "example.co.uk", "example.com": "example.com", "localhost": "localhost",
	} {
		if got := Organisation(domain); got != owner {
			t.Errorf("%s belongs to %s, want %s", domain, got, owner)
		}
	}
	for domain, thrown := range map[string]bool{"mailinator.com": true, "x.mailinator.com": true, "notmailinator.com": false, "gmail.com": false, "": false} {
		if disposable(domain) != thrown {
			t.Errorf("%s: disposable is %v", domain, !thrown)
		}
	}
	for ip, network := range map[string]string{
		"192.0.2.77": "192.0.2.0/24", "::ffff:192.0.2.77": "192.0.2.0/24", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "unknown": "unknown", "": "",
	} {
		if got := networkOf(ip); got != network {
			t.Errorf("%s is in %s, want %s", ip, got, network)
		}
	}
}
