package emulator

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// The token endpoints know these identities.
const (
	Tenant        = "emulated-tenant.example"
	ClientID      = "emulated-application"
	ClientSecret  = "emulated~client~secret~9d41"
	UserID        = "emulated-user.apps.example" // UserID is the client id of the authorized user.
	UserSecret    = "emulated-user-secret-77b0"
	RefreshToken  = "1//emulated-refresh-token-5c"
	accountEmail  = "robot@emulated-project.iam.example"
	accountKeyID  = "emulated-key-1"
	accountScope  = "https://www.googleapis.com/auth/cloud-platform"
	entraPath     = "/oauth2/v2.0/token"
	assertionType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

	keyBits      = 2048
	assertionMax = time.Hour
)

// issued is a token that is valid for a while.
type issued struct {
	kind, scope string
	end         time.Time
}

// SetTokenLifetime sets how long the tokens are valid that are issued from now on.
func (e *Emulator) SetTokenLifetime(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lifetime = d
}

// RevokeTokens makes all tokens expired.
func (e *Emulator) RevokeTokens() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for text, t := range e.tokens {
		t.end = time.Time{}
		e.tokens[text] = t
	}
}

// TokenRequests returns how many requests for tokens there were, and the most at once.
func (e *Emulator) TokenRequests() (count, most int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests, e.most
}

// Tokens are the tokens that have been issued.
func (e *Emulator) Tokens() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]string, 0, len(e.tokens))
	for text := range e.tokens {
		list = append(list, text)
	}
	return list
}

// ServiceAccount is the file of the service account that the token endpoint of Google knows. Base is the address of the emulator.
func (e *Emulator) ServiceAccount(base string) string {
	raw, err := x509.MarshalPKCS8PrivateKey(e.accountKey())
	if err != nil {
		panic("emulator: the key of the service account cannot be written: " + err.Error())
	}
	return encode(object{
		"type": "service_account", "project_id": Project, "client_email": accountEmail, "private_key_id": accountKeyID,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})), "token_uri": base + "/google/token",
	})
}

// AuthorizedUser is the file of the user whose refresh token the token endpoint of Google knows.
func (e *Emulator) AuthorizedUser(base string) string {
	return encode(object{
		"type": "authorized_user", "client_id": UserID, "client_secret": UserSecret, "refresh_token": RefreshToken,
		"token_uri": base + "/google/token",
	})
}

func encode(o object) string {
	text, err := json.Marshal(o)
	if err != nil {
		panic("emulator: a file of credentials cannot be written: " + err.Error())
	}
	return string(text)
}

// accountKey is the key of the service account, which is made when it is first needed.
func (e *Emulator) accountKey() *rsa.PrivateKey {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.account == nil {
		key, err := rsa.GenerateKey(e.random, keyBits)
		if err != nil {
			panic("emulator: the key of the service account cannot be made: " + err.Error())
		}
		e.account = key
	}
	return e.account
}

// serveTokens answers a request for a token.
func (e *Emulator) serveTokens(w http.ResponseWriter, r *http.Request, kind string) {
	e.mu.Lock()
	e.requests++
	e.running++
	e.most = max(e.most, e.running)
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.running--
	}()
	body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyBytesMax)) // A part of a form is refused.
	form, err := url.ParseQuery(string(body))
	isForm := strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
	if err != nil || !isForm || r.Method != http.MethodPost {
		http.Error(w, "not a form", http.StatusBadRequest)
		return
	}
	fault, words := e.faultOf(kind, "", body), map[string]string{"message": form.Get("grant_type")}
	scope := ""
	switch {
	case fault == Stall:
		<-r.Context().Done()
		return
	case fault != "":
	case kind == "google":
		fault, scope = e.checkGoogle(r, form)
	default:
		fault, scope = checkEntra(r, form)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Date", e.now().UTC().Format(http.TimeFormat))
	record := &Record{Provider: kind, Path: r.URL.Path, Status: http.StatusOK, Refused: fault}
	defer e.keep(record)
	if fault != "" {
		a := providers.Tokens[kind][fault]
		for name, value := range a.Headers {
			w.Header().Set(name, value)
		}
		record.Status = max(a.Status, http.StatusBadRequest)
		w.WriteHeader(record.Status)
		_, _ = io.WriteString(w, os.Expand(a.Body, func(name string) string { return escaped(words[name]) }))
		return
	}
	_, _ = io.WriteString(w, encode(e.issue(kind, scope)))
}

// issue makes a token and the answer with it.
func (e *Emulator) issue(kind, scope string) object {
	text := "emulated-token-" + e.text(40)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tokens[text] = issued{kind: kind, scope: scope, end: e.now().Add(e.lifetime)}
	seconds := int64(e.lifetime / time.Second)
	answer := object{"access_token": text, "expires_in": seconds, "token_type": "Bearer"}
	if kind == "google" {
		answer["scope"] = scope
	} else {
		answer["ext_expires_in"] = seconds
	}
	return answer
}

// checkGoogle checks a request for a token of Google: an assertion of the service account, or the refresh token of the user.
func (e *Emulator) checkGoogle(r *http.Request, form url.Values) (fault, scope string) {
	switch form.Get("grant_type") {
	case "refresh_token":
		switch {
		case form.Get("client_id") != UserID || form.Get("client_secret") != UserSecret:
			return "key", ""
		case form.Get("refresh_token") != RefreshToken:
			return "grant", ""
		}
		return "", accountScope
	case assertionType:
		return e.checkAssertion(form.Get("assertion"), r.Host)
	}
	return "request", ""
}

// checkAssertion verifies the signature and the claims of an assertion.
func (e *Emulator) checkAssertion(text, host string) (fault, scope string) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return "grant", ""
	}
	var header struct{ Alg, Kid string }
	var claims struct {
		Iss, Aud, Scope string
		Iat, Exp        int64
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	code, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !decodePart(parts[0], &header) || !decodePart(parts[1], &claims) || header.Alg != "RS256" || header.Kid != accountKeyID ||
		rsa.VerifyPKCS1v15(&e.accountKey().PublicKey, crypto.SHA256, sum[:], code) != nil || claims.Iss != accountEmail {
		return "grant", ""
	}
	now, begin, end := e.now(), time.Unix(claims.Iat, 0), time.Unix(claims.Exp, 0)
	switch {
	case begin.After(now.Add(clockSkewMax)) || !end.After(now) || end.Sub(begin) > assertionMax:
		return "time", ""
	case claims.Aud != "http://"+host+"/google/token" && claims.Aud != "https://"+host+"/google/token":
		return "audience", ""
	case claims.Scope != accountScope:
		return "scope", ""
	}
	return "", claims.Scope
}

// decodePart reads a part of an assertion.
func decodePart(text string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && json.Unmarshal(raw, into) == nil
}

// checkEntra checks a request for a token of Entra.
func checkEntra(r *http.Request, form url.Values) (fault, scope string) {
	scopes := []string{"https://cognitiveservices.azure.com/.default", "https://ai.azure.com/.default"}
	switch {
	case strings.TrimSuffix(r.URL.Path, entraPath) != "/"+Tenant:
		return "tenant", ""
	case form.Get("grant_type") != "client_credentials":
		return "request", ""
	case form.Get("client_id") != ClientID:
		return "client", ""
	case form.Get("client_secret") != ClientSecret:
		return "key", ""
	case !slices.Contains(scopes, form.Get("scope")):
		return "scope", ""
	}
	return "", form.Get("scope")
}
