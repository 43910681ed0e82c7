package credential_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/provider/credential"
)

// decode returns a part of a signed token.
func decode(t *testing.T, part string, into any) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Error(err)
	}
	return raw
}

func TestAKeyPairSignsTokens(t *testing.T) {
	t.Parallel()
	o := options(t, catalog.Auth{Kind: catalog.AuthJWT}, "access-1:secret-1")
	s := source(t, o)
	token, isBearer := strings.CutPrefix(authorized(t, s).Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(token, ".")
	if !isBearer || len(parts) != 3 {
		t.Fatalf("%q", token)
	}
	mac := hmac.New(sha256.New, []byte("secret-1"))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	if !hmac.Equal(mac.Sum(nil), decode(t, parts[2], nil)) {
		t.Error("the signature is wrong")
	}
	var header struct{ Alg, Typ string }
	var claims map[string]any
	decode(t, parts[0], &header)
	decode(t, parts[1], &claims)
	now := float64(o.Now().Unix())
	if header.Alg != "HS256" || header.Typ != "JWT" || claims["iss"] != "access-1" || claims["exp"] != now+1800 || claims["nbf"] != now-5 {
		t.Errorf("%+v %v", header, claims)
	}
	if authorized(t, s).Header.Get("Authorization") != "Bearer "+token {
		t.Error("each request has another token")
	}
}

func TestAServiceAccountSignsItsAssertion(t *testing.T) {
	t.Parallel()
	var uri string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.FormValue("assertion"), ".")
		if r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || len(parts) != 3 {
			t.Errorf("%v", r.Form)
			return
		}
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		if err := rsa.VerifyPKCS1v15(&rsaKey().PublicKey, crypto.SHA256, sum[:], decode(t, parts[2], nil)); err != nil {
			t.Error(err)
		}
		var header struct{ Alg, Kid string }
		var claims struct {
			Iss, Scope, Aud string
			Iat, Exp        int64
		}
		decode(t, parts[0], &header)
		decode(t, parts[1], &claims)
		if header.Alg != "RS256" || header.Kid != "key-1" || claims.Iss != "robot@acme.iam.example" || claims.Scope != google.Scope ||
			claims.Aud != uri || claims.Exp-claims.Iat != 3600 || claims.Iat != newClock().Now().Unix()-10 { // It is the given clock.
			t.Errorf("%+v %+v", header, claims)
		}
		answer(w, "token-1", 3599)
	})
	uri = s.URL + "/token"
	got := authorized(t, source(t, options(t, google, serviceAccount(t, uri)))).Header.Get("Authorization")
	if got != "Bearer token-1" {
		t.Error(got)
	}
}

// answer answers with a token.
func answer(w http.ResponseWriter, token string, seconds int) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":%q,"expires_in":%d,"token_type":"Bearer"}`, token, seconds)
}

func TestAnAuthorizedUserExchangesItsRefreshToken(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("grant_type") != "refresh_token" || r.FormValue("refresh_token") != "refresh-secret-1" || r.FormValue("client_id") != "client-1" ||
			r.FormValue("client_secret") != "client-secret-1" {
			t.Errorf("%v", r.Form)
		}
		answer(w, "token-2", 3599)
	})
	if got := authorized(t, source(t, options(t, google, userFile(t, s.URL)))).Header.Get("Authorization"); got != "Bearer token-2" {
		t.Error(got)
	}
}

func TestAnApplicationExchangesItsSecret(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/tenant-1/oauth2/v2.0/token" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("client_id") != "app-1" ||
			r.FormValue("client_secret") != "secret~1" || r.FormValue("scope") != "https://a.example/.default" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s %v", r.URL, r.Form)
		}
		answer(w, "token-3", 3599)
	})
	auth := catalog.Auth{Kind: catalog.AuthEntra, Tenant: "tenant-1", ClientID: "app-1", Scope: "https://a.example/.default", Authority: s.URL}
	if got := authorized(t, source(t, options(t, auth, "secret~1"))).Header.Get("Authorization"); got != "Bearer token-3" {
		t.Error(got)
	}
}

func TestAMachineGetsTokensOfItsMetadataServer(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/token" ||
			r.URL.Query().Get("scopes") != "https://a.example/one,https://a.example/two" || r.Header.Get("Metadata-Flavor") != "Google" ||
			r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		answer(w, "token-4", 3599)
	})
	auth := catalog.Auth{Kind: catalog.AuthGoogleMetadata, Scope: "https://a.example/one https://a.example/two", Authority: s.URL}
	machine := source(t, options(t, auth, ""))
	if got := authorized(t, machine).Header.Get("Authorization"); got != "Bearer token-4" {
		t.Error(got)
	}
	for _, secret := range machine.Secrets() {
		if secret == "" {
			t.Error("an empty text is hidden, which would change every log")
		}
	}
}

func TestAMetadataServerThatRefusesIsNamed(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not found", http.StatusNotFound) })
	machine := source(t, options(t, catalog.Auth{Kind: catalog.AuthGoogleMetadata, Scope: "s", Authority: s.URL}, ""))
	err := machine.Authorize(t.Context(), request(t), nil)
	if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(s.URL, "http://")+" answered 404") || strings.Contains(err.Error(), "[redacted]") {
		t.Error(err)
	}
}

func TestCredentialsOfAnotherFormAreRefused(t *testing.T) {
	t.Parallel()
	sigv4 := catalog.Auth{Kind: catalog.AuthSigV4, Service: "s", Region: "r"}
	for _, k := range []struct {
		auth        catalog.Auth
		value, says string
	}{
		{sigv4, "hunter2", "ACCESS_KEY_ID:SECRET"},
		{sigv4, "hunter2:", "ACCESS_KEY_ID:SECRET"},
		{sigv4, "a:hunter2\nx", "ACCESS_KEY_ID:SECRET"},
		{sigv4, "", "empty"},
		{catalog.Auth{Kind: catalog.AuthJWT}, "hunter2", "ACCESS_KEY:SECRET"},
		{catalog.Auth{Kind: catalog.AuthEntra}, "", "empty"},
		{google, "hunter2", "JSON"},
		{google, `["hunter2"]`, "JSON"},
		{google, `{"type":"external_account","credential_source":{"executable":{"command":"hunter2"}}}`, "of type external_account"},
		{google, `{"type":"impersonated_service_account","x":"hunter2"}`, "of type impersonated_service_account"},
		{google, `{"type":"Hunter2 hunter2"}`, "without a type"},
		{google, `{"type":"service_account","client_email":"a","private_key":"hunter2"}`, "RSA key in PEM"},
		{google, `{"type":"service_account","private_key":"hunter2"}`, "client_email"},
		{google, `{"type":"authorized_user","client_secret":"hunter2"}`, "refresh_token"},
		{google, strings.Replace(userFile(t, "http://10.0.0.1/hunter2"), "refresh-secret-1", "hunter2", 1), "token_uri must be an https address"},
		{catalog.Auth{Kind: catalog.AuthBearer}, "hunter2", "prepared"},
	} {
		_, err := credential.New(options(t, k.auth, k.value))
		if err == nil || !strings.Contains(err.Error(), k.says) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "provider acme") {
			t.Errorf("%s %q: %v", k.auth.Kind, k.value, err)
		}
	}
}

func TestATokenIsRenewedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		seconds int
		renewed time.Duration
	}{{3600, 55 * time.Minute}, {600, 5 * time.Minute}, {120, time.Minute}, {1 << 30, 24*time.Hour - 5*time.Minute}} {
		var count atomic.Int64
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, fmt.Sprint("token-", count.Add(1)), k.seconds) })
		o, c := options(t, google, userFile(t, s.URL)), newClock()
		o.Now = c.Now
		source := source(t, o)
		for range 3 {
			authorized(t, source)
		}
		c.add(k.renewed - time.Second)
		if authorized(t, source); count.Load() != 1 {
			t.Errorf("%d s: %d requests before the renewal", k.seconds, count.Load())
		}
		c.add(time.Second)
		if got := authorized(t, source).Header.Get("Authorization"); got != "Bearer token-1" {
			t.Errorf("%d s: a call waits for a renewal: %s", k.seconds, got)
		}
		eventually(t, func() bool { return authorized(t, source).Header.Get("Authorization") == "Bearer token-2" })
		if count.Load() != 2 {
			t.Errorf("%d s: %d requests", k.seconds, count.Load())
		}
	}
}

// eventually waits for something that another goroutine does.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

func TestCallsShareOneRequestForAToken(t *testing.T) {
	t.Parallel()
	var count atomic.Int64
	asked, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		count.Add(1)
		close(asked)
		<-release
		answer(w, "token-1", 3600)
	})
	source := source(t, options(t, google, userFile(t, s.URL)))
	ctx, leave := context.WithCancelCause(t.Context())
	left := make(chan error, 1)
	go func() { left <- source.Authorize(ctx, request(t), nil) }()
	<-asked
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if r := request(t); source.Authorize(t.Context(), r, nil) != nil || r.Header.Get("Authorization") != "Bearer token-1" {
				t.Error("a call has no token")
			}
		})
	}
	gone := errors.New("gone")
	leave(gone)
	if err := <-left; !errors.Is(err, gone) {
		t.Errorf("a call that was cancelled: %v", err)
	}
	close(release)
	all.Wait()
	if count.Load() != 1 {
		t.Errorf("%d requests", count.Load())
	}
}

func TestTheOldTokenIsUsedWhileRenewalsFail(t *testing.T) {
	t.Parallel()
	var count, fails atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if count.Add(1) > 1 {
			fails.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answer(w, "token-1", 3600)
	})
	o, c := options(t, google, userFile(t, s.URL)), newClock()
	var log safeBuffer
	o.Now, o.Log = c.Now, slog.New(slog.NewTextHandler(&log, nil))
	source := source(t, o)
	authorized(t, source)
	c.add(56 * time.Minute)
	for range 20 {
		authorized(t, source)
	}
	eventually(t, func() bool { return strings.Contains(log.String(), "provider token renewal failed") })
	for range 20 {
		authorized(t, source)
	}
	if fails.Load() != 1 || strings.Contains(log.String(), "secret-1") || !strings.Contains(log.String(), "answered 503") {
		t.Errorf("%d renewals, %s", fails.Load(), log.String())
	}
	c.add(4 * time.Minute)
	err := source.Authorize(t.Context(), request(t), nil)
	failed, ok := errors.AsType[*credential.TokenError](err)
	if !ok || failed.Refused || !strings.Contains(err.Error(), "answered 503") {
		t.Errorf("%v", err)
	}
	before := count.Load()
	if err := source.Authorize(t.Context(), request(t), nil); err == nil || count.Load() != before {
		t.Errorf("%v after %d requests", err, count.Load()-before)
	}
}

// safeBuffer is a log that goroutines share.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestFailuresSayWhatHappenedWithoutSecrets(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		handle  http.HandlerFunc
		refused bool
		says    string
	}{
		"refused": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"No %s and %s\n or %s"}`,
				r.FormValue("refresh_token"), r.FormValue("client_secret"), "eyJhbGciOiJSUzI1NiJ9.e30.secret-1")
		}, true, "refused the credential with status 400: invalid_grant: No [redacted] and [redacted] or [redacted]"},
		"unavailable": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, r.FormValue("client_secret"))
		}, false, "answered 503"},
		"too many": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, false, "answered 429"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/"+r.FormValue("client_secret"), http.StatusTemporaryRedirect)
		}, false, "answered 307"},
		"no token": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"refresh_token":"secret-1"}`) }, false, "without a token"},
		"no JSON":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `secret-1`) }, false, "without a token"},
		"another": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"secret-1","token_type":"mac"}`)
		}, false, "no bearer token"},
		"short":       {func(w http.ResponseWriter, _ *http.Request) { answer(w, "secret-1", 29) }, false, "valid for only 29s"},
		"odd":         {func(w http.ResponseWriter, _ *http.Request) { answer(w, "secret-1 x", 290) }, false, "16 KiB"},
		"long":        {func(w http.ResponseWriter, _ *http.Request) { answer(w, strings.Repeat("x", 17<<10), 290) }, false, "16 KiB"},
		"large":       {func(w http.ResponseWriter, _ *http.Request) { answer(w, strings.Repeat("x", 70<<10), 290) }, false, "64 KiB"},
		"unreachable": {nil, false, "did not answer"},
	} {
		handle := k.handle
		if handle == nil {
			handle = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		}
		s := serve(t, handle)
		source := source(t, options(t, google, userFile(t, s.URL)))
		err := source.Authorize(t.Context(), request(t), nil)
		failed, ok := errors.AsType[*credential.TokenError](err)
		if !ok || failed.Refused != k.refused || !strings.Contains(err.Error(), k.says) || strings.Contains(err.Error(), "secret-1") ||
			!strings.Contains(err.Error(), strings.TrimPrefix(s.URL, "http://")) || (failed.Cause != nil) != (name == "large" || name == "unreachable") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARefusalTellsThatTheClocksDiffer(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]string{
		10 * time.Minute: "the clock of the gateway is 10m0s ahead of the provider's and must be set", 0: "",
		-5 * time.Minute: "the clock of the gateway is 5m0s behind the provider's and must be set", 4 * time.Minute: "",
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", newClock().Now().Add(-ahead).Format(http.TimeFormat))
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"Invalid JWT"}`)
		})
		err := source(t, options(t, google, serviceAccount(t, s.URL))).Authorize(t.Context(), request(t), nil)
		if err == nil || !strings.Contains(err.Error(), "invalid_grant: Invalid JWT") || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "clock") != (want != "") {
			t.Errorf("%s: %v", ahead, err)
		}
	}
}

func TestATokenIsDroppedOnce(t *testing.T) {
	t.Parallel()
	var count atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, fmt.Sprint("token-", count.Add(1)), 3600) })
	o, c := options(t, google, userFile(t, s.URL)), newClock()
	o.Now = c.Now
	source := source(t, o)
	first := authorized(t, source)
	if !source.Reject(first) {
		t.Error("the first token is not dropped")
	}
	if !source.Reject(first) {
		t.Error("a call whose token was dropped does not get another")
	}
	second := authorized(t, source)
	if second.Header.Get("Authorization") != "Bearer token-2" || source.Reject(second) {
		t.Error("the second token is dropped, too")
	}
	if !source.Reject(first) {
		t.Error("a late call does not get the new token")
	}
	secrets := strings.Join(source.Secrets(), " ")
	for _, text := range []string{"token-1", "token-2", "client-secret-1", "refresh-secret-1"} {
		if !strings.Contains(secrets, text) {
			t.Errorf("%s is not secret", text)
		}
	}
	c.add(time.Minute)
	if !source.Reject(second) || count.Load() != 2 {
		t.Errorf("the token is not dropped after a minute; %d requests", count.Load())
	}
}

func TestCloseEndsRequests(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // The server watches the connection only after the body.
		close(asked)
		<-r.Context().Done()
	})
	o, c := options(t, google, serviceAccount(t, s.URL)), newClock()
	o.Now = c.Now
	source := source(t, o)
	ended := make(chan error, 1)
	go func() { ended <- source.Authorize(t.Context(), request(t), nil) }()
	<-asked
	o.Fetches.Close()
	if err := <-ended; err == nil {
		t.Error("a call has a token that never came")
	}
	c.add(time.Hour)
	if err := source.Authorize(t.Context(), request(t), nil); err == nil {
		t.Error("a request begins after the end")
	}
}
