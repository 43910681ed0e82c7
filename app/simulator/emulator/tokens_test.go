package emulator_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"golang.org/x/oauth2/jwt"

	"umg/app/simulator/emulator"
)

// TestSignedRequestsAreVerified signs requests to Bedrock, and changes them.
func TestSignedRequestsAreVerified(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := aws.Credentials{AccessKeyID: emulator.AccessKeyID, SecretAccessKey: emulator.SecretAccessKey}
	session := aws.Credentials{AccessKeyID: emulator.SessionKeyID, SecretAccessKey: emulator.SessionSecret, SessionToken: emulator.SessionToken}
	b.SetSession("ended", b.clock.Now().Add(-time.Second))
	with := func(c aws.Credentials, change func(*aws.Credentials)) aws.Credentials { change(&c); return c }
	for name, c := range map[string]struct {
		keys            aws.Credentials
		service, region string
		late            time.Duration
		change          func(r *http.Request)
		status          int
		says            string
	}{
		"right":                     {keys: first, status: 200},
		"session":                   {keys: session, status: 200},
		"4 minutes late":            {keys: first, late: 4 * time.Minute, status: 200},
		"10 minutes late":           {keys: first, late: 10 * time.Minute, status: 403, says: "Signature expired"},
		"10 minutes early":          {keys: first, late: -10 * time.Minute, status: 403, says: "not yet current"},
		"region":                    {keys: first, region: "us-east-1", status: 403, says: "valid region"},
		"service":                   {keys: first, service: "s3", status: 403, says: "correct service"},
		"wrong secret":              {keys: with(first, func(c *aws.Credentials) { c.SecretAccessKey = "x" }), status: 403, says: "does not match"},
		"unknown key":               {keys: with(first, func(c *aws.Credentials) { c.AccessKeyID = "AKIAX" }), status: 403, says: "security token"},
		"session ended":             {keys: with(session, func(c *aws.Credentials) { c.SessionToken = "ended" }), status: 403, says: "expired"},
		"unknown session":           {keys: with(session, func(c *aws.Credentials) { c.SessionToken = "x" }), status: 403, says: "security token"},
		"key of a session":          {keys: with(session, func(c *aws.Credentials) { c.SessionToken = "" }), status: 403, says: "security token"},
		"changed query":             {keys: first, change: func(r *http.Request) { r.URL.RawQuery = "a=b" }, status: 403, says: "does not match"},
		"changed type":              {keys: first, change: func(r *http.Request) { r.Header.Set("Content-Type", "application/json; a=b") }, status: 403, says: "does not match"},
		"header that is not signed": {keys: first, change: func(r *http.Request) { r.Header.Set("X-Amz-Other", "x") }, status: 403, says: "does not match"},
	} {
		for _, path := range []string{"/bedrock" + novaPath + "converse", "/bedrock/model/us.amazon.nova-2-lite-v1:0/converse"} {
			body := converseBody + "}"
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			sum := sha256.Sum256([]byte(body))
			service, region := "bedrock", emulator.Region
			if c.service != "" {
				service = c.service
			}
			if c.region != "" {
				region = c.region
			}
			at := b.clock.Now().Add(-c.late)
			if err := v4.NewSigner().SignHTTP(t.Context(), c.keys, r, hex.EncodeToString(sum[:]), service, region, at); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(r)
			}
			if got := b.do(r); got.status != c.status || !strings.Contains(got.body, c.says) {
				t.Errorf("%s: %d %s, want %d and %q", name, got.status, got.body, c.status, c.says)
			}
		}
	}
}

// TestServiceAccountsGetTokens exchanges assertions, which a library dates by the clock of the machine.
func TestServiceAccountsGetTokens(t *testing.T) {
	t.Parallel()
	e := emulator.New(emulator.Options{Now: time.Now, Random: rand.Reader})
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	var file struct {
		Email string `json:"client_email"`
		ID    string `json:"private_key_id"`
		Key   string `json:"private_key"`
		URI   string `json:"token_uri"`
	}
	if err := json.Unmarshal([]byte(e.ServiceAccount(s.URL)), &file); err != nil {
		t.Fatal(err)
	}
	right := jwt.Config{
		Email: file.Email, PrivateKey: []byte(file.Key), PrivateKeyID: file.ID, TokenURL: file.URI,
		Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"},
	}
	other := emulator.New(emulator.Options{Now: time.Now, Random: rand.Reader})
	for name, c := range map[string]struct {
		change func(*jwt.Config)
		says   string
	}{
		"right":         {change: func(*jwt.Config) {}},
		"issuer":        {func(c *jwt.Config) { c.Email = "other" }, "invalid_grant"},
		"key id":        {func(c *jwt.Config) { c.PrivateKeyID = "other" }, "invalid_grant"},
		"scope":         {func(c *jwt.Config) { c.Scopes = []string{"other"} }, "invalid_scope"},
		"audience":      {func(c *jwt.Config) { c.Audience = "https://other.example/token" }, "audience"},
		"too long":      {func(c *jwt.Config) { c.Expires = 2 * time.Hour }, "short-lived"},
		"another's key": {func(c *jwt.Config) { c.PrivateKey = []byte(keyOf(t, other.ServiceAccount(s.URL))) }, "Invalid JWT Signature"},
	} {
		config := right
		c.change(&config)
		token, err := config.TokenSource(context.WithoutCancel(t.Context())).Token()
		switch {
		case c.says == "" && (err != nil || time.Until(token.Expiry) < 50*time.Minute):
			t.Errorf("%s: %v %v", name, token, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	if count, most := e.TokenRequests(); count != 7 || most != 1 || len(e.Tokens()) != 1 {
		t.Errorf("%d requests, %d at once, %d tokens", count, most, len(e.Tokens()))
	}
}

func keyOf(t *testing.T, file string) string {
	t.Helper()
	var members map[string]string
	if err := json.Unmarshal([]byte(file), &members); err != nil {
		t.Fatal(err)
	}
	return members["private_key"]
}

// TestApplicationsGetTokens asks the token endpoint of Entra, and uses its tokens until they end.
func TestApplicationsGetTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	right := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {emulator.ClientID}, "client_secret": {emulator.ClientSecret},
		"scope": {"https://cognitiveservices.azure.com/.default"},
	}
	ask := func(tenant string, form url.Values) reply {
		return b.post("/"+tenant+"/oauth2/v2.0/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	}
	for name, want := range map[string]string{
		"grant_type": "AADSTS70003", "client_id": "AADSTS700016", "client_secret": "AADSTS7000215", "scope": "AADSTS1002012",
	} {
		form := maps.Clone(right)
		form.Set(name, "other")
		if got := ask(emulator.Tenant, form); got.status < 400 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if got := ask("other.example", right); !strings.Contains(got.body, "AADSTS90002") {
		t.Errorf("another tenant: %d %s", got.status, got.body)
	}
	b.SetTokenLifetime(time.Minute)
	var token struct {
		Text    string `json:"access_token"`
		Seconds int64  `json:"expires_in"`
	}
	if got := ask(emulator.Tenant, right); json.Unmarshal([]byte(got.body), &token) != nil || token.Seconds != 60 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	call := func(path string) reply {
		body := strings.NewReplacer("MODEL", "gpt-5-mini").Replace(chatBody) + "}"
		return b.post(path, body, "Authorization", "Bearer "+token.Text)
	}
	const azure = "/azure/openai/v1/chat/completions"
	if got := call(azure); got.status != 200 {
		t.Errorf("a new token: %d %s", got.status, got.body)
	}
	if got := call("/foundry/models/chat/completions?api-version=2024-05-01-preview"); got.status != 401 {
		t.Errorf("a token of another scope: %d %s", got.status, got.body)
	}
	b.clock.add(time.Minute)
	if got := call(azure); got.status != 401 || !strings.Contains(got.header.Get("Www-Authenticate"), "invalid_token") {
		t.Errorf("a token that has ended: %d %s", got.status, got.body)
	}
	b.Add(emulator.Rule{Provider: "entra", Fault: "server", Times: 1})
	if got := ask(emulator.Tenant, right); got.status != 503 {
		t.Errorf("a failing endpoint: %d %s", got.status, got.body)
	}
}
