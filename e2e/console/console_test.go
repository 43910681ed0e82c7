package console

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// sdkReport is what the program in e2e/sdk/go saw with the official client.
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
	cmd := exec.Command("go", "run", ".", "-base-url", baseURL, "-key", key, "-model", harness.CheapModel)
	cmd.Dir = "../sdk/go"
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
	g := harness.SharedDemo(t)
	r := callWithSDK(t, g.BaseURL, g.APIKey)
	for name, a := range map[string]sdkAnswer{"json": r.JSON, "stream": r.Stream} {
		if a.Text != "hello from the client" || a.FinishReason != "stop" || a.Model != harness.CheapModel || a.Cost == "" || a.OutputTokens == 0 {
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
	if f := r.DocumentedStreamError; !f.Raised || !strings.Contains(f.Message, "unknown/nothing") {
		t.Errorf("documented mode, stream: %+v", f)
	}
	if f := r.AuthenticationFailure; !f.Raised || f.Status != http.StatusUnauthorized {
		t.Errorf("a wrong key: %+v", f)
	}
	if r.ListedModels < 14 || r.RetrievedModel != harness.CheapModel || r.RetrievedModelNotFound.Status != http.StatusNotFound {
		t.Errorf("models: %d, %s, %+v", r.ListedModels, r.RetrievedModel, r.RetrievedModelNotFound)
	}
}

// TestConsoleFirstLight is the product's first minute: sign up, open the link that was mailed, make a key, run the code
// that is shown, see the request and its cost arrive, and find the balance less exactly that cost.
func TestConsoleFirstLight(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	p := harness.NewTab(t, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
	email := fmt.Sprintf("first-light-%d@example.com", time.Now().UnixNano())

	p.Open(g.ConsoleURL)
	p.FollowLink("Create an account")
	p.RequireText("of trial credit")
	p.SaveScreenshot("sign-up")
	p.Fill("E-mail", email)
	p.Fill("Password", "a quiet sentence to keep")
	p.PressButton("Create account")
	p.RequireText("Make your first request")
	p.SaveScreenshot("new")
	p.CheckAccessibility()
	p.Open(g.ConsoleURL + harness.NewConsoleClient(t, g).MailedLink(t, "verify_email", email))
	p.PressButton("Verify this address")
	p.RequireText("$5.00 of trial credit was added to your account")
	p.RequireText("Make your first request")

	p.PressButton("Make my key")
	secret := p.Locator("#fresh-key")
	p.Must(p.Expect.Locator(p.Locator(`[id^="fresh-key"]`).First()).ToBeVisible())
	text, err := secret.TextContent()
	p.Must(err)
	key := harness.SecretPattern.FindString(text)
	if key == "" {
		body, _ := p.Locator("#onboarding").TextContent()
		key = harness.SecretPattern.FindString(body)
	}
	if key == "" {
		t.Fatal("the key is not shown")
	}
	// The page waits for the first call, or for the next where a call of the same address was refused.
	p.RequireText("Waiting for")
	p.SaveScreenshot("key")
	p.CheckAccessibility()

	r := callWithSDK(t, g.BaseURL, key)
	p.RequireText("Your first request was answered")
	p.Open(g.ConsoleURL + "/console")
	p.Must(p.Expect.Locator(p.Locator(`[data-testid="request"]`, playwright.PageLocatorOptions{HasText: "Answered"})).ToHaveCount(2))
	p.RequireText("Answered")
	p.SaveScreenshot("arrived")
	p.CheckAccessibility()

	spent := harness.Nanos(t, r.JSON.Cost) + harness.Nanos(t, r.Stream.Cost)
	c := harness.Customer{Gateway: &harness.Gateway{Ready: harness.Ready{Email: email}, Dir: g.Dir}}
	c.AccountID = c.DemoAccountID(t)
	b := c.SettledBalance(t, c.AccountID)
	if b.Posted != 5_000_000_000-spent || b.Held != 0 {
		t.Errorf("the balance is %+v after %d nano-dollars", b, spent)
	}
	// The page says the same number in whole cents, never more than there is, and every digit of it in its title.
	exact := strings.TrimRight(new(big.Rat).SetFrac64(b.Posted, 1_000_000_000).FloatString(9), "0")
	cents := fmt.Sprintf("$%d.%02d", b.Posted/1_000_000_000, b.Posted/10_000_000%100)
	shown, err := p.Locator("#balance .num").TextContent()
	p.Must(err)
	title, err := p.Locator("#balance .num").GetAttribute("title")
	p.Must(err)
	if shown != cents || title != "$"+exact {
		t.Errorf("the page shows %q and %q, the ledger %s", shown, title, exact)
	}
	g.CheckLedger(t)
}

// TestConsoleFirstCurl runs the very line that the console shows.
func TestConsoleFirstCurl(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	p := harness.NewTab(t, playwright.BrowserNewContextOptions{})
	p.Open(g.ConsoleURL + "/console/sign-in")
	p.Fill("E-mail", g.Email)
	p.Fill("Password", g.Password)
	p.PressButton("Sign in")
	p.FollowLink("API keys")
	p.FollowLink("Create key")
	p.Fill("Name", "For curl")
	p.PressButton("Create key")
	p.RequireText("This is the only time the key is shown")
	p.SaveScreenshot("created")
	p.CheckAccessibility()
	line, err := p.Locator("#call-text-curl").First().TextContent()
	p.Must(err)
	out, err := exec.Command("bash", "-c", strings.Replace(line, "curl ", "curl -sS ", 1)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"object":"chat.completion"`) || !strings.Contains(string(out), `"cost":`) {
		t.Fatalf("%v\n%s\n%s", err, line, out)
	}
	p.FollowLink("I stored it")
	p.Must(p.Expect.Locator(p.Locator(`[data-testid="key"]`).Filter(playwright.LocatorFilterOptions{HasText: "For curl"})).ToBeVisible())
	p.SaveScreenshot("list")
	p.CheckAccessibility()
}

// TestConsoleKeyLifeWithoutScripts makes, disables, enables and deletes a key by plain forms, and the API obeys at once.
func TestConsoleKeyLifeWithoutScripts(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	c := g.NewCustomer(t, "keys")
	p := harness.NewConsoleClient(t, g)
	if a := p.SignIn(t, c.Email, c.Password); a.Status != http.StatusSeeOther {
		t.Fatalf("sign-in: %d", a.Status)
	}
	answers := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			a := c.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: x"))
			if a.Status == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("status %d, not %d: %s", a.Status, want, a.Body)
			}
		}
	}
	answers(http.StatusOK)
	var id string
	if err := c.DB(t).Get(&id, `select id from api_keys where account_id = $1`, c.AccountID); err != nil {
		t.Fatal(err)
	}
	step := func(path string, form url.Values, want int) harness.Response {
		t.Helper()
		a := p.Visit(t, "/console/keys/"+id+path, form)
		if a.Status != want {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		return a
	}
	step("/disable", url.Values{}, http.StatusSeeOther)
	answers(http.StatusUnauthorized)
	if list := p.Visit(t, "/console/keys", nil); !strings.Contains(list.Body, id+"/enable") || strings.Contains(list.Body, c.APIKey) {
		t.Error("the list does not say so, or shows the secret")
	}
	step("/enable", url.Values{}, http.StatusSeeOther)
	answers(http.StatusOK)
	step("/delete", nil, http.StatusOK)
	// The key was used just now, as soon as that is written down its name has to be typed.
	for deadline := time.Now().Add(harness.CallTimeMax); !strings.Contains(p.Visit(t, "/console/keys/"+id+"/delete", nil).Body, `name="name"`); {
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
	g := harness.SharedDemo(t)
	p := harness.NewConsoleClient(t, g)
	cases := []struct {
		name, path string
		form       url.Values
		status     int
		says       string
	}{
		{"no e-mail", "/console/sign-up", url.Values{"email": {""}, "password": {"long enough password"}}, 422, "e-mail"},
		{"not an e-mail", "/console/sign-up", url.Values{"email": {"unknown"}, "password": {"long enough password"}}, 422, "e-mail"},
		{"short password", "/console/sign-up", url.Values{"email": {"a@example.com"}, "password": {"short"}}, 422, "10"},
		{"taken e-mail", "/console/sign-up", url.Values{"email": {g.Email}, "password": {"long enough password"}}, 422, "already"},
		{"wrong password", "/console/sign-in", url.Values{"email": {g.Email}, "password": {"not the password"}}, 422, "wrong"},
		{"unknown user", "/console/sign-in", url.Values{"email": {"unknown@example.com"}, "password": {"not the password"}}, 422, "wrong"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := p.Visit(t, c.path, c.form)
			if a.Status != c.status || !strings.Contains(a.Body, c.says) {
				t.Errorf("status %d, %s", a.Status, a.Body)
			}
		})
	}
	t.Run("markup stays text", func(t *testing.T) {
		c := g.NewCustomer(t, "markup")
		q := harness.NewConsoleClient(t, g)
		q.SignIn(t, c.Email, c.Password)
		q.CreateKey(t, `<script>alert(1)</script>`)
		if a := q.Visit(t, "/console/keys", nil); strings.Contains(a.Body, "<script>alert") || !strings.Contains(a.Body, "&lt;script&gt;") {
			t.Error("the name of a key became markup")
		}
	})
}

// TestConsoleSessions proves that sessions cannot be fixed, forged from elsewhere or used after sign-out.
func TestConsoleSessions(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	c := g.NewCustomer(t, "sessions")
	p := harness.NewConsoleClient(t, g)
	in := p.SignIn(t, c.Email, c.Password)
	cookie := in.Header.Get("Set-Cookie")
	for _, want := range []string{"__Host-umg=", "Secure", "HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie lacks %s: %s", want, cookie)
		}
	}
	value, _, _ := strings.Cut(strings.TrimPrefix(cookie, "__Host-umg="), ";")
	page := p.Visit(t, "/console", nil)
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		if !strings.Contains(page.Header.Get(header), want) {
			t.Errorf("%s is %q", header, page.Header.Get(header))
		}
	}
	if a := p.Visit(t, "/console/keys", url.Values{"name": {"x"}}, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"); a.Status != http.StatusForbidden {
		t.Errorf("a form from another site: %d", a.Status)
	}
	if a := p.Visit(t, "/console/sign-in?next=//evil.example", url.Values{"email": {c.Email}, "password": {c.Password}, "next": {"//evil.example"}}); a.Header.Get("Location") != "/console" {
		t.Errorf("sign-in leads to %q", a.Header.Get("Location"))
	}
	if a := p.Visit(t, "/console/sign-out", url.Values{}); a.Status != http.StatusSeeOther {
		t.Errorf("sign-out: %d", a.Status)
	}
	stale := harness.NewConsoleClient(t, g)
	if a := stale.Visit(t, "/console", nil, "Cookie", "__Host-umg="+value); a.Status != http.StatusSeeOther {
		t.Errorf("a session of before is still good: %d", a.Status)
	}
	for _, path := range []string{"/console", "/console/keys", "/console/keys/new", "/console/first-request"} {
		if a := stale.Visit(t, path, nil); a.Status != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/console/sign-in") {
			t.Errorf("%s for a visitor: %d %s", path, a.Status, a.Header.Get("Location"))
		}
	}
	if a := stale.Visit(t, "/console/nothing", nil); a.Status != http.StatusNotFound || !strings.Contains(a.Body, "There is no such page") {
		t.Errorf("unknown page: %d", a.Status)
	}
}

// TestTenantKeysAreTheirOwners tries every form about a key with another account's key.
func TestTenantKeysAreTheirOwners(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	mine, theirs := g.NewCustomer(t, "mine"), g.NewCustomer(t, "theirs")
	var id string
	if err := g.DB(t).Get(&id, `select id from api_keys where account_id = $1`, theirs.AccountID); err != nil {
		t.Fatal(err)
	}
	p := harness.NewConsoleClient(t, g)
	p.SignIn(t, mine.Email, mine.Password)
	unknown := "key_00000000000000000000000000"
	for _, path := range []string{"/disable", "/enable", "/delete"} {
		foreign := p.Visit(t, "/console/keys/"+id+path, url.Values{"name": {"theirs"}})
		absent := p.Visit(t, "/console/keys/"+unknown+path, url.Values{"name": {"theirs"}})
		if foreign.Status != http.StatusNotFound || absent.Status != http.StatusNotFound ||
			strings.ReplaceAll(foreign.Body, id, "") != strings.ReplaceAll(absent.Body, unknown, "") {
			t.Errorf("%s: foreign %d, absent %d", path, foreign.Status, absent.Status)
		}
	}
	harness.DecodeCompletion(t, theirs.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: still mine")))
}

// checkPage takes a picture, runs axe and looks for a page wider than its window.
func checkPage(p *harness.Tab, name string) {
	p.T.Helper()
	p.SaveScreenshot(name)
	p.CheckAccessibility()
	p.CheckWidth(name)
}
