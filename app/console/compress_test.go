package console_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func unzipped(t *testing.T, body string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPagesAreCompressedForClientsThatTakeIt(t *testing.T) {
	t.Parallel()
	p := setup(t).signedIn("zipped@example.com")
	plain := p.see("/console/keys")
	for accepted, zipped := range map[string]bool{
		"gzip, deflate, br": true, "br;q=1, GZIP ; q=0.5": true, "*": true, "": false, "br": false, "gzip;q=0": false, "gzip;q=x": false,
	} {
		p.headers["Accept-Encoding"] = accepted
		a := p.see("/console/keys")
		if a.status != http.StatusOK || !strings.Contains(strings.Join(a.header.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%q: %d %v", accepted, a.status, a.header)
		}
		if got := a.header.Get("Content-Encoding"); (got == "gzip") != zipped {
			t.Errorf("%q: the encoding is %q", accepted, got)
			continue
		}
		if zipped {
			if len(a.body) > len(plain.body)/2 {
				t.Errorf("%d bytes of %d are sent", len(a.body), len(plain.body))
			}
			a.body = unzipped(t, a.body)
		}
		if !strings.Contains(a.body, "<h1") || !strings.HasSuffix(strings.TrimSpace(a.body), "</html>") {
			t.Errorf("%q: the page is not whole", accepted)
		}
	}
}

// TestPagesWithASecretAreNotCompressed matters because the length of a compressed page says something about the secret in it.
func TestPagesWithASecretAreNotCompressed(t *testing.T) {
	t.Parallel()
	p := setup(t).signedIn("secretive@example.com")
	p.headers["Accept-Encoding"] = "gzip"
	a := p.send("/console/keys", url.Values{"name": {"fresh"}})
	for a.status == http.StatusSeeOther {
		a = p.see(a.header.Get("Location"))
	}
	if a.header.Get("Content-Encoding") != "" || !strings.Contains(a.body, "sk-umg-") || !strings.Contains(a.body, "data-secret") {
		t.Errorf("%d %v: the page of a new key is compressed or does not show it", a.status, a.header)
	}
	if p.see("/console/keys").header.Get("Content-Encoding") != "gzip" {
		t.Error("the page is not compressed after the secret is gone")
	}
}
