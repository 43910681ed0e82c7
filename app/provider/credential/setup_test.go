package credential_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"umg/app/catalog"
	"umg/app/provider/credential"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// serve runs a server until the test ends.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// options are those of a source whose requests end with the test.
func options(t *testing.T, auth catalog.Auth, value string) credential.Options {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	fetches := credential.NewFetches()
	t.Cleanup(fetches.Close)
	return credential.Options{
		Provider: "acme", Auth: auth, Value: catalog.NewSecret(value), Now: newClock().Now, Transport: transport, Fetches: fetches,
	}
}

func source(t *testing.T, o credential.Options) credential.Source {
	t.Helper()
	s, err := credential.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// authorized returns a request that a source has authorized.
func authorized(t *testing.T, s credential.Source) *http.Request {
	t.Helper()
	r := request(t)
	if err := s.Authorize(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

func request(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.acme.example/v1/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rsaKey is a key for all tests, because making one takes long.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// serviceAccount is the file of a service account.
func serviceAccount(t *testing.T, tokenURI string) string {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(rsaKey())
	if err != nil {
		t.Fatal(err)
	}
	return file(t, map[string]string{
		"type": "service_account", "client_email": "robot@acme.iam.example", "private_key_id": "key-1", "token_uri": tokenURI,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})),
	})
}

func userFile(t *testing.T, tokenURI string) string {
	t.Helper()
	return file(t, map[string]string{
		"type": "authorized_user", "client_id": "client-1", "client_secret": "client-secret-1", "refresh_token": "refresh-secret-1", "token_uri": tokenURI,
	})
}

func file(t *testing.T, members map[string]string) string {
	t.Helper()
	raw, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var google = catalog.Auth{Kind: catalog.AuthGoogle, Scope: "https://scope.example/a https://scope.example/b"}
