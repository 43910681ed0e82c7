package credential

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"umg/app/catalog"
)

// googleTokenURI is where tokens come from when a file of credentials does not say.
const googleTokenURI = "https://oauth2.googleapis.com/token" //nolint:gosec // It is an address.

// The kinds of files of credentials that are accepted. Other kinds name addresses and programs of their own, which the gateway would
// have to trust.
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

// accountSource exchanges an assertion that the key of a service account has signed. The library dates it by the clock of the machine.
func (f *googleFile) accountSource(o Options) (Source, error) {
	if f.ClientEmail == "" || !isRSAKey(f.PrivateKey) {
		return nil, errors.New("the JSON of a service account needs client_email, and private_key with an RSA key in PEM")
	}
	config := jwt.Config{
		Email: f.ClientEmail, PrivateKey: []byte(f.PrivateKey), PrivateKeyID: f.PrivateKeyID, Scopes: strings.Fields(o.Auth.Scope),
		TokenURL: f.TokenURI,
	}
	secrets := []string{f.PrivateKey, f.ClientEmail}
	e := newEndpoint(o, f.TokenURI, secrets[:1])
	return newTokens(o, secrets, func(ctx context.Context) (token, error) {
		return e.fetch(ctx, func(ctx context.Context) (*oauth2.Token, error) { return config.TokenSource(ctx).Token() })
	}), nil
}

// isRSAKey reports whether a text is a private RSA key in PEM.
func isRSAKey(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		_, ok := key.(*rsa.PrivateKey)
		return ok
	}
	_, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	return err == nil
}
