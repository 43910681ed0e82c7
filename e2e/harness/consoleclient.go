package harness

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

// SignInToConsole is the customer at the console.
func (c Customer) SignInToConsole(t *testing.T) *ConsoleClient {
	t.Helper()
	p := NewConsoleClient(t, c.Gateway)
	if a := p.SignIn(t, c.Email, c.Password); a.Status != http.StatusSeeOther {
		t.Fatalf("sign-in: %d", a.Status)
	}
	return p
}

// CreateManagementKey makes a key of the account that manages it by API.
func (p *ConsoleClient) CreateManagementKey(t *testing.T) string {
	t.Helper()
	made := p.Visit(t, "/console/keys", url.Values{"name": {"manager"}, "mode": {"documented"}, "kind": {"management"}})
	secret := SecretPattern.FindString(made.Body)
	if secret == "" {
		t.Fatalf("no management key: %d %s", made.Status, made.Body)
	}
	return secret
}

// ConsoleClient uses the console as a browser without scripts does: forms, cookies and links.
type ConsoleClient struct {
	gateway *Gateway
	HTTP    *http.Client
}

// NewConsoleClient is a client without a session.
func NewConsoleClient(t *testing.T, g *Gateway) *ConsoleClient {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &ConsoleClient{gateway: g, HTTP: &http.Client{Jar: loopbackJar{jar}, Timeout: CallTimeMax,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
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

// Visit asks for a page, or sends a form when there are values, and follows no redirect.
func (p *ConsoleClient) Visit(t *testing.T, path string, form url.Values, headers ...string) Response {
	t.Helper()
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	req, err := http.NewRequestWithContext(context.Background(), method, p.gateway.ConsoleURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", p.gateway.ConsoleURL)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
}

// SignUp makes an account by the form.
func (p *ConsoleClient) SignUp(t *testing.T, email, password string) {
	t.Helper()
	a := p.Visit(t, "/console/sign-up", url.Values{"email": {email}, "password": {password}})
	if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/console" {
		t.Fatalf("sign-up: %d %s", a.Status, a.Body)
	}
}

// VerifyEmail opens the link that was mailed to the person's address, and presses its button where they are signed in.
func (p *ConsoleClient) VerifyEmail(t *testing.T, email string) {
	t.Helper()
	page := p.MailedLink(t, "verify_email", email)
	if a := p.Visit(t, page, nil); a.Status != http.StatusOK || !strings.Contains(a.Body, email) {
		t.Fatalf("the link that was mailed: %d %s", a.Status, a.Body)
	}
	path, token, _ := strings.Cut(page, "?token=")
	if a := p.Visit(t, path, url.Values{"token": {token}}); a.Status != http.StatusSeeOther {
		t.Fatalf("verify: %d %s", a.Status, a.Body)
	}
}

// SignIn sends the sign-in form.
func (p *ConsoleClient) SignIn(t *testing.T, email, password string) Response {
	t.Helper()
	return p.Visit(t, "/console/sign-in", url.Values{"email": {email}, "password": {password}})
}

// MailedLink finds the link in the newest mail of a kind to an address, in the outbox that a demo has in place of a mail
// server, and returns the page it leads to.
func (p *ConsoleClient) MailedLink(t *testing.T, kind, to string) string {
	t.Helper()
	var id string
	err := p.gateway.DB(t).Get(&id, `select id from mails where recipient = $1 and kind = $2 order by created_at desc limit 1`, to, kind)
	if err != nil {
		t.Fatalf("there is no mail of kind %s to %s: %v", kind, to, err)
	}
	a := p.Visit(t, "/console/outbox/"+id, nil)
	found := linkPattern.FindStringSubmatch(a.Body)
	if a.Status != http.StatusOK || found == nil {
		t.Fatalf("the mail has no link: %d %s", a.Status, a.Body)
	}
	return html.UnescapeString(found[1])
}

var linkPattern = regexp.MustCompile(`https?://[^/"\s]+(/console/[^"<\s]+)`)

// SecretPattern finds the secret of an API key.
var SecretPattern = regexp.MustCompile(`sk-umg-[0-9A-Za-z]{38}`)

// CreateKey makes an API key by the form and returns its secret.
func (p *ConsoleClient) CreateKey(t *testing.T, name string) string {
	t.Helper()
	a := p.Visit(t, "/console/keys", url.Values{"name": {name}, "mode": {"documented"}})
	secret := SecretPattern.FindString(a.Body)
	if a.Status != http.StatusOK || secret == "" {
		t.Fatalf("create key: %d %s", a.Status, a.Body)
	}
	return secret
}

// RequireSignedOut insists that the person's session is over.
func (p *ConsoleClient) RequireSignedOut(t *testing.T) {
	t.Helper()
	if a := p.Visit(t, "/console", nil); a.Status != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/console/sign-in") {
		t.Errorf("the session is still good: %d %s", a.Status, a.Header.Get("Location"))
	}
}

// RequireSignedIn insists that the person is signed in.
func (p *ConsoleClient) RequireSignedIn(t *testing.T) {
	t.Helper()
	if a := p.Visit(t, "/console", nil); a.Status != http.StatusOK {
		t.Errorf("not signed in: %d %s", a.Status, a.Header.Get("Location"))
	}
}
