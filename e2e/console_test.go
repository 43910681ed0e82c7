package e2e

import (
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"encoding/json"

	"github.com/playwright-community/playwright-go"
)

// sdkReport is what the program in e2e/sdk saw with the official client.
type sdkReport struct {
	JSON, Stream sdkAnswer

	StandardError          sdkFailure `json:"standard_error"`
	StandardStreamError    sdkFailure `json:"standard_stream_error"`
	DocumentedError        sdkFailure `json:"documented_error"`
	DocumentedStreamError  sdkFailure `json:"documented_stream_error"`
	AuthenticationFailure  sdkFailure `json:"authentication_failure"`
	ListedModels           int        `json:"listed_models"`
	RetrievedModel         string     `json:"retrieved_model"`
	RetrievedModelNotFound sdkFailure `json:"retrieved_model_not_found"`
}

type sdkAnswer struct {
	Text, Model, Cost string
	FinishReason      string `json:"finish_reason"`
	InputTokens       int64  `json:"input_tokens"`
	OutputTokens      int64  `json:"output_tokens"`
}

type sdkFailure struct {
	Raised              bool
	Status              int
	Code, Message, Body string
}

// callWithSDK runs the small program that calls with the official client.
func callWithSDK(t *testing.T, baseURL, key string) sdkReport {
	t.Helper()
	cmd := exec.Command("go", "run", ".", "-base-url", baseURL, "-key", key, "-model", cheapModel)
	cmd.Dir = "sdk"
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var r sdkReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return r
}

func TestSDKOfficialGoClient(t *testing.T) {
	t.Parallel()
	g := running(t)
	r := callWithSDK(t, g.BaseURL, g.APIKey)
	for name, a := range map[string]sdkAnswer{"json": r.JSON, "stream": r.Stream} {
		if a.Text != "hello from the client" || a.FinishReason != "stop" || a.Model != cheapModel || a.Cost == "" || a.OutputTokens == 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if r.JSON.Cost != r.Stream.Cost {
		t.Errorf("the answer cost %s and the stream %s", r.JSON.Cost, r.Stream.Cost)
	}
	for name, f := range map[string]sdkFailure{"call": r.StandardError, "stream": r.StandardStreamError} {
		if !f.Raised || f.Status != http.StatusNotFound || f.Code != "model_not_found" {
			t.Errorf("standard mode, %s: %+v", name, f)
		}
	}
	if f := r.DocumentedError; f.Raised || !strings.Contains(f.Body, `"code":404`) {
		t.Errorf("documented mode, call: %+v", f)
	}
	if f := r.DocumentedStreamError; !f.Raised || !strings.Contains(f.Message, "nobody/nothing") {
		t.Errorf("documented mode, stream: %+v", f)
	}
	if f := r.AuthenticationFailure; !f.Raised || f.Status != http.StatusUnauthorized {
		t.Errorf("a wrong key: %+v", f)
	}
	if r.ListedModels < 14 || r.RetrievedModel != cheapModel || r.RetrievedModelNotFound.Status != http.StatusNotFound {
		t.Errorf("models: %d, %s, %+v", r.ListedModels, r.RetrievedModel, r.RetrievedModelNotFound)
	}
}

// TestConsoleFirstLight is the product's first minute: sign up, open the link that was mailed, make a key, run the code
// that is shown, see the request and its cost arrive, and find the balance less exactly that cost.
func TestConsoleFirstLight(t *testing.T) {
	t.Parallel()
	g := running(t)
	p := newTab(t, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
	email := fmt.Sprintf("first-light-%d@example.com", time.Now().UnixNano())

	p.open(g.ConsoleURL)
	p.follow("Create an account")
	p.sees("of trial credit")
	p.picture("sign-up")
	p.fill("E-mail", email)
	p.fill("Password", "a quiet sentence to keep")
	p.press("Create account")
	p.sees("Make your first request")
	p.picture("new")
	p.axe()
	p.open(g.ConsoleURL + newPerson(t, g).mailedLink(t, "verify_email", email))
	p.press("Verify this address")
	p.sees("$5.00 of trial credit was added to your account")
	p.sees("Make your first request")

	p.press("Make my key")
	secret := p.Locator("#fresh-key")
	p.must(p.expect.Locator(p.Locator(`[id^="fresh-key"]`).First()).ToBeVisible())
	text, err := secret.TextContent()
	p.must(err)
	key := secretPattern.FindString(text)
	if key == "" {
		body, _ := p.Locator("#onboarding").TextContent()
		key = secretPattern.FindString(body)
	}
	if key == "" {
		t.Fatal("the key is not shown")
	}
	// The page waits for the first call, or for the next where a call of the same address was refused.
	p.sees("Waiting for")
	p.picture("key")
	p.axe()

	r := callWithSDK(t, g.BaseURL, key)
	p.sees("Your first request was answered")
	p.open(g.ConsoleURL + "/console")
	p.must(p.expect.Locator(p.Locator(`[data-testid="request"]`)).ToHaveCount(2))
	p.sees("Answered")
	p.picture("arrived")
	p.axe()

	spent := nanos(t, r.JSON.Cost) + nanos(t, r.Stream.Cost)
	c := customer{gateway: &gateway{ready: ready{Email: email}, dir: g.dir}}
	c.accountID = c.account(t)
	b := c.balanceOf(t, c.accountID)
	if b.Posted != 5_000_000_000-spent || b.Held != 0 {
		t.Errorf("the balance is %+v after %d nano-dollars", b, spent)
	}
	// The page says the same number, every digit of it.
	exact := strings.TrimRight(new(big.Rat).SetFrac64(b.Posted, 1_000_000_000).FloatString(9), "0")
	shown, err := p.Locator("#balance").TextContent()
	p.must(err)
	if !strings.Contains(shown, exact) {
		t.Errorf("the page shows %q, the ledger %s", shown, exact)
	}
	g.books(t)
}

// TestConsoleFirstCurl runs the very line that the console shows.
func TestConsoleFirstCurl(t *testing.T) {
	t.Parallel()
	g := running(t)
	p := newTab(t, playwright.BrowserNewContextOptions{})
	p.open(g.ConsoleURL + "/console/sign-in")
	p.fill("E-mail", g.Email)
	p.fill("Password", g.Password)
	p.press("Sign in")
	p.follow("API keys")
	p.follow("Create key")
	p.fill("Name", "For curl")
	p.press("Create key")
	p.sees("This is the only time the key is shown")
	p.picture("created")
	p.axe()
	line, err := p.Locator("#call-text-curl").First().TextContent()
	p.must(err)
	out, err := exec.Command("bash", "-c", strings.Replace(line, "curl ", "curl -sS ", 1)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"object":"chat.completion"`) || !strings.Contains(string(out), `"cost":`) {
		t.Fatalf("%v\n%s\n%s", err, line, out)
	}
	p.follow("I stored it")
	p.must(p.expect.Locator(p.Locator(`[data-testid="key"]`).Filter(playwright.LocatorFilterOptions{HasText: "For curl"})).ToBeVisible())
	p.picture("list")
	p.axe()
}

// TestConsoleKeyLifeWithoutScripts makes, disables, enables and deletes a key by plain forms, and the API obeys at once.
func TestConsoleKeyLifeWithoutScripts(t *testing.T) {
	t.Parallel()
	g := running(t)
	c := g.newCustomer(t, "keys")
	p := newPerson(t, g)
	if a := p.signIn(t, c.Email, c.Password); a.status != http.StatusSeeOther {
		t.Fatalf("sign-in: %d", a.status)
	}
	answers := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			a := c.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: x"))
			if a.status == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("status %d, not %d: %s", a.status, want, a.body)
			}
		}
	}
	answers(http.StatusOK)
	var id string
	if err := c.db(t).Get(&id, `select id from api_keys where account_id = $1`, c.accountID); err != nil {
		t.Fatal(err)
	}
	step := func(path string, form url.Values, want int) answer {
		t.Helper()
		a := p.visit(t, "/console/keys/"+id+path, form)
		if a.status != want {
			t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
		return a
	}
	step("/disable", url.Values{}, http.StatusSeeOther)
	answers(http.StatusUnauthorized)
	if list := p.visit(t, "/console/keys", nil); !strings.Contains(list.body, id+"/enable") || strings.Contains(list.body, c.APIKey) {
		t.Error("the list does not say so, or shows the secret")
	}
	step("/enable", url.Values{}, http.StatusSeeOther)
	answers(http.StatusOK)
	step("/delete", nil, http.StatusOK)
	// The key was used just now, as soon as that is written down its name has to be typed.
	for deadline := time.Now().Add(callTimeMax); !strings.Contains(p.visit(t, "/console/keys/"+id+"/delete", nil).body, `name="name"`); {
		if time.Now().After(deadline) {
			t.Fatal("the use of the key was never written down")
		}
		time.Sleep(100 * time.Millisecond)
	}
	step("/delete", url.Values{"name": {"something else"}}, http.StatusUnprocessableEntity)
	step("/delete", url.Values{"name": {"keys"}}, http.StatusSeeOther)
	answers(http.StatusUnauthorized)
}

func TestConsoleRefusesBadInput(t *testing.T) {
	t.Parallel()
	g := running(t)
	p := newPerson(t, g)
	cases := []struct {
		name, path string
		form       url.Values
		status     int
		says       string
	}{
		{"no e-mail", "/console/sign-up", url.Values{"email": {""}, "password": {"long enough password"}}, 422, "e-mail"},
		{"not an e-mail", "/console/sign-up", url.Values{"email": {"nobody"}, "password": {"long enough password"}}, 422, "e-mail"},
		{"short password", "/console/sign-up", url.Values{"email": {"a@example.com"}, "password": {"short"}}, 422, "10"},
		{"taken e-mail", "/console/sign-up", url.Values{"email": {g.Email}, "password": {"long enough password"}}, 422, "already"},
		{"wrong password", "/console/sign-in", url.Values{"email": {g.Email}, "password": {"not the password"}}, 422, "wrong"},
		{"unknown user", "/console/sign-in", url.Values{"email": {"unknown@example.com"}, "password": {"not the password"}}, 422, "wrong"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := p.visit(t, c.path, c.form)
			if a.status != c.status || !strings.Contains(a.body, c.says) {
				t.Errorf("status %d, %s", a.status, a.body)
			}
		})
	}
	t.Run("markup stays text", func(t *testing.T) {
		c := g.newCustomer(t, "markup")
		q := newPerson(t, g)
		q.signIn(t, c.Email, c.Password)
		q.makeKey(t, `<script>alert(1)</script>`)
		if a := q.visit(t, "/console/keys", nil); strings.Contains(a.body, "<script>alert") || !strings.Contains(a.body, "&lt;script&gt;") {
			t.Error("the name of a key became markup")
		}
	})
}

// TestConsoleSessions proves that sessions cannot be fixed, forged from elsewhere or used after sign-out.
func TestConsoleSessions(t *testing.T) {
	t.Parallel()
	g := running(t)
	c := g.newCustomer(t, "sessions")
	p := newPerson(t, g)
	in := p.signIn(t, c.Email, c.Password)
	cookie := in.header.Get("Set-Cookie")
	for _, want := range []string{"__Host-umg=", "Secure", "HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie lacks %s: %s", want, cookie)
		}
	}
	value, _, _ := strings.Cut(strings.TrimPrefix(cookie, "__Host-umg="), ";")
	page := p.visit(t, "/console", nil)
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		if !strings.Contains(page.header.Get(header), want) {
			t.Errorf("%s is %q", header, page.header.Get(header))
		}
	}
	if a := p.visit(t, "/console/keys", url.Values{"name": {"x"}}, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"); a.status != http.StatusForbidden {
		t.Errorf("a form from another site: %d", a.status)
	}
	if a := p.visit(t, "/console/sign-in?next=//evil.example", url.Values{"email": {c.Email}, "password": {c.Password}, "next": {"//evil.example"}}); a.header.Get("Location") != "/console" {
		t.Errorf("sign-in leads to %q", a.header.Get("Location"))
	}
	if a := p.visit(t, "/console/sign-out", url.Values{}); a.status != http.StatusSeeOther {
		t.Errorf("sign-out: %d", a.status)
	}
	stale := newPerson(t, g)
	if a := stale.visit(t, "/console", nil, "Cookie", "__Host-umg="+value); a.status != http.StatusSeeOther {
		t.Errorf("a session of before is still good: %d", a.status)
	}
	for _, path := range []string{"/console", "/console/keys", "/console/keys/new", "/console/first-request"} {
		if a := stale.visit(t, path, nil); a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/console/sign-in") {
			t.Errorf("%s for a visitor: %d %s", path, a.status, a.header.Get("Location"))
		}
	}
	if a := stale.visit(t, "/console/nothing", nil); a.status != http.StatusNotFound || !strings.Contains(a.body, "There is no such page") {
		t.Errorf("unknown page: %d", a.status)
	}
}

// TestTenantKeysAreTheirOwners tries every form about a key with another account's key.
func TestTenantKeysAreTheirOwners(t *testing.T) {
	t.Parallel()
	g := running(t)
	mine, theirs := g.newCustomer(t, "mine"), g.newCustomer(t, "theirs")
	var id string
	if err := g.db(t).Get(&id, `select id from api_keys where account_id = $1`, theirs.accountID); err != nil {
		t.Fatal(err)
	}
	p := newPerson(t, g)
	p.signIn(t, mine.Email, mine.Password)
	unknown := "key_00000000000000000000000000"
	for _, path := range []string{"/disable", "/enable", "/delete"} {
		foreign := p.visit(t, "/console/keys/"+id+path, url.Values{"name": {"theirs"}})
		absent := p.visit(t, "/console/keys/"+unknown+path, url.Values{"name": {"theirs"}})
		if foreign.status != http.StatusNotFound || absent.status != http.StatusNotFound ||
			strings.ReplaceAll(foreign.body, id, "") != strings.ReplaceAll(absent.body, unknown, "") {
			t.Errorf("%s: foreign %d, absent %d", path, foreign.status, absent.status)
		}
	}
	decodeCompletion(t, theirs.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: still mine")))
}

// check takes a picture, runs axe and looks for a page wider than its window.
func (p *tab) check(name string) {
	p.t.Helper()
	p.picture(name)
	p.axe()
	p.fits(name)
}
