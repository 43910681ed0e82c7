package credential

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"umg/app/catalog"
)

// googleTokenURI is where tokens come from when a file of credentials does not say.
const googleTokenURI = "https://oauth2.googleapis.com/token" //nolint:gosec // It is an address.

// These are the terms of an assertion. It begins a little before it is made, because the clocks of Google and the gateway differ.
const (
	assertionGrant    = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	assertionLifetime = time.Hour // Google accepts no longer one.
	assertionEarly    = 10 * time.Second
)

// Only these kinds of files are accepted. Other kinds name addresses and programs of their own, which the gateway would have to trust.
const (
	googleServiceAccount = "service_account"
	googleUser           = "authorized_user"
)

// kindForm is what the name of a kind of file looks like. Another text may be a part of a secret and is not shown.
var kindForm = regexp.MustCompile(`^[a-z_]{1,40}$`)

// googleFile is a file of credentials as Google makes it.
type googleFile struct {
	Type         string `json:"type"`
	ClientEmail  string `json:"client_email"`
	PrivateKeyID string `json:"private_key_id"`
	PrivateKey   string `json:"private_key"`
	TokenURI     string `json:"token_uri"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`
}

// newGoogle makes a source of tokens of Google.
func newGoogle(o Options) (Source, error) {
	var f googleFile
	if json.Unmarshal([]byte(o.Value.Reveal()), &f) != nil {
		return nil, errors.New("auth of kind google needs the JSON of a service account or an authorized user")
	}
	if f.TokenURI == "" {
		f.TokenURI = googleTokenURI
	}
	switch {
	case f.Type != googleServiceAccount && f.Type != googleUser:
		kind := "without a type"
		if kindForm.MatchString(f.Type) {
			kind = "of type " + f.Type
		}
		return nil, fmt.Errorf("auth of kind google takes service_account and authorized_user, and the JSON is %s", kind)
	case !catalog.IsTokenEndpoint(f.TokenURI):
		return nil, errors.New("token_uri must be an https address")
	case f.Type == googleUser:
		return f.userSource(o)
	}
	return f.accountSource(o)
}

// userSource exchanges a refresh token.
func (f *googleFile) userSource(o Options) (Source, error) {
	if f.ClientID == "" || f.ClientSecret == "" || f.RefreshToken == "" {
		return nil, errors.New("the JSON of an authorized user needs client_id, client_secret and refresh_token")
	}
	config := oauth2.Config{
		ClientID: f.ClientID, ClientSecret: f.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: f.TokenURI, AuthStyle: oauth2.AuthStyleInParams},
	}
	secrets := []string{f.ClientSecret, f.RefreshToken}
	e := newEndpoint(o, f.TokenURI, secrets)
	return newTokens(o, secrets, func(ctx context.Context) (token, error) {
		return e.fetch(ctx, func(ctx context.Context) (*oauth2.Token, error) {
			return config.TokenSource(ctx, &oauth2.Token{RefreshToken: f.RefreshToken}).Token()
		})
	}), nil
}

// accountSource exchanges an assertion that the key of a service account has signed.
func (f *googleFile) accountSource(o Options) (Source, error) {
	key := rsaKey(f.PrivateKey)
	if f.ClientEmail == "" || key == nil {
		return nil, errors.New("the JSON of a service account needs client_email, and private_key with an RSA key in PEM")
	}
	secrets := []string{f.PrivateKey, f.ClientEmail}
	e := newEndpoint(o, f.TokenURI, secrets[:1])
	return newTokens(o, secrets, func(ctx context.Context) (token, error) {
		assertion, err := f.assertion(key, o.Auth.Scope, o.Now())
		if err != nil {
			return token{}, err
		}
		config := clientcredentials.Config{
			TokenURL: f.TokenURI, AuthStyle: oauth2.AuthStyleInParams,
			EndpointParams: url.Values{"grant_type": {assertionGrant}, "assertion": {assertion}},
		}
		return e.fetch(ctx, config.Token)
	}), nil
}

// assertion returns a signed assertion that is dated by the clock of the gateway.
func (f *googleFile) assertion(key *rsa.PrivateKey, scope string, now time.Time) (string, error) {
	code := base64.RawURLEncoding
	header, errHeader := json.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": f.PrivateKeyID})
	claims, errClaims := json.Marshal(map[string]any{
		"iss": f.ClientEmail, "scope": scope, "aud": f.TokenURI,
		"iat": now.Add(-assertionEarly).Unix(), "exp": now.Add(assertionLifetime - assertionEarly).Unix(),
	})
	text := code.EncodeToString(header) + "." + code.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	signature, errSigned := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if errors.Join(errHeader, errClaims, errSigned) != nil {
		return "", &TokenError{text: "the assertion of the service account cannot be signed"}
	}
	return text + "." + code.EncodeToString(signature), nil
}

// rsaKey returns the private RSA key in a text in PEM, or nil.
func rsaKey(text string) *rsa.PrivateKey {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		private, _ := key.(*rsa.PrivateKey)
		return private
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return nil
	}
	return key
}
