package credential

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"
)

// A token that is made from an access key and a secret has these times. It is valid a little before it is made, because clocks differ.
const (
	keyPairLifetime = 30 * time.Minute
	keyPairEarly    = 5 * time.Second

	keyPairHeader = `{"alg":"HS256","typ":"JWT"}`
)

// newKeyPair makes a source of tokens that the gateway signs itself.
func newKeyPair(o Options) (Source, error) {
	parts := splitCredential(o.Value.Reveal(), 2, 2)
	if parts == nil {
		return nil, errors.New("auth of kind jwt needs ACCESS_KEY:SECRET")
	}
	return newTokens(o, parts, func(context.Context) (token, error) {
		now := o.Now()
		text, err := signHS256(parts[0], parts[1], now)
		if err != nil {
			return token{}, err
		}
		return newToken(text, keyPairLifetime, now)
	}), nil
}

func signHS256(accessKey, secret string, now time.Time) (string, error) {
	claims, err := json.Marshal(struct {
		Issuer    string `json:"iss"`
		Expires   int64  `json:"exp"`
		NotBefore int64  `json:"nbf"`
	}{accessKey, now.Add(keyPairLifetime).Unix(), now.Add(-keyPairEarly).Unix()})
	if err != nil {
		return "", errors.New("the token cannot be made")
	}
	code := base64.RawURLEncoding
	text := code.EncodeToString([]byte(keyPairHeader)) + "." + code.EncodeToString(claims)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return text + "." + code.EncodeToString(mac.Sum(nil)), nil
}
