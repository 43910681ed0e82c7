package e2e

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// person uses the console as a browser without scripts does: forms, cookies and links.
type person struct {
	g    *gateway
	http *http.Client
}

func newPerson(t *testing.T, g *gateway) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{g: g, http: &http.Client{Jar: loopbackJar{jar}, Timeout: callTimeMax, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

// loopbackJar sends secure cookies to plain http on this machine, as browsers do.
type loopbackJar struct{ http.CookieJar }

func (j loopbackJar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	j.CookieJar.SetCookies(secure(u), cookies)
}
func (j loopbackJar) Cookies(u *url.URL) []*http.Cookie { return j.CookieJar.Cookies(secure(u)) }

func secure(u *url.URL) *url.URL {
	copied := *u
	copied.Scheme = "https"
	return &copied
}

// visit asks for a page, or sends a form when there are values, and follows no redirect.
func (p *person) visit(t *testing.T, path string, form url.Values, headers ...string) answer {
	t.Helper()
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	req, err := http.NewRequestWithContext(context.Background(), method, p.g.ConsoleURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", p.g.ConsoleURL)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: string(text)}
}

func (p *person) signUp(t *testing.T, email, password string) {
	t.Helper()
	a := p.visit(t, "/console/sign-up", url.Values{"email": {email}, "password": {password}})
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/console" {
		t.Fatalf("sign-up: %d %s", a.status, a.body)
	}
}

// verify opens the link that was mailed to the person's address, and presses its button where they are signed in.
func (p *person) verify(t *testing.T, email string) {
	t.Helper()
	page := p.mailedLink(t, "verify_email", email)
	if a := p.visit(t, page, nil); a.status != http.StatusOK || !strings.Contains(a.body, email) {
		t.Fatalf("the link that was mailed: %d %s", a.status, a.body)
	}
	path, token, _ := strings.Cut(page, "?token=")
	if a := p.visit(t, path, url.Values{"token": {token}}); a.status != http.StatusSeeOther {
		t.Fatalf("verify: %d %s", a.status, a.body)
	}
}

func (p *person) signIn(t *testing.T, email, password string) answer {
	t.Helper()
	return p.visit(t, "/console/sign-in", url.Values{"email": {email}, "password": {password}})
}

// mailedLink finds the link in the newest mail of a kind to an address, in the outbox that a demo has in place of a mail
// server, and returns the page it leads to.
func (p *person) mailedLink(t *testing.T, kind, to string) string {
	t.Helper()
	var id string
	err := p.g.db(t).Get(&id, `select id from mails where recipient = $1 and kind = $2 order by created_at desc limit 1`, to, kind)
	if err != nil {
		t.Fatalf("there is no mail of kind %s to %s: %v", kind, to, err)
	}
	a := p.visit(t, "/console/outbox/"+id, nil)
	found := linkPattern.FindStringSubmatch(a.body)
	if a.status != http.StatusOK || found == nil {
		t.Fatalf("the mail has no link: %d %s", a.status, a.body)
	}
	return html.UnescapeString(found[1])
}

var linkPattern = regexp.MustCompile(`https?://[^/"\s]+(/console/[^"<\s]+)`)

var secretPattern = regexp.MustCompile(`sk-umg-[0-9A-Za-z]{38}`)

func (p *person) makeKey(t *testing.T, name string) string {
	t.Helper()
	a := p.visit(t, "/console/keys", url.Values{"name": {name}, "mode": {"documented"}})
	secret := secretPattern.FindString(a.body)
	if a.status != http.StatusOK || secret == "" {
		t.Fatalf("create key: %d %s", a.status, a.body)
	}
	return secret
}
