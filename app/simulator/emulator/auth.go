package emulator

import (
	"crypto/subtle"
	"net/http"
	"strings"
	"time"
)

// The emulator accepts these credentials of AWS. The second key is valid only together with a session token.
const (
	Region          = "eu-west-1"
	AccessKeyID     = "AKIAEMULATED00000001"
	SecretAccessKey = "emulated/secret+access+key/of+the+first"
	SessionKeyID    = "ASIAEMULATED00000002"
	SessionSecret   = "emulated/secret+access+key/of+a+session"
	SessionToken    = "emulated-session-token/first=="
)

// Key is the API key that a provider accepts. Each has its own, so that a key that is sent to another provider is refused.
func Key(provider string) string { return "sk-emulated-" + provider + "-4f9c2b7d81e6a053" }

// SetSession makes a session token valid until a time. The zero time is no end.
func (e *Emulator) SetSession(token string, end time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[token] = end
}

// credentialHeaders are the headers in which any provider takes a credential.
var credentialHeaders = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// authenticate checks that the request has one credential, in the place of the provider, and that it is valid.
func (x *exchange) authenticate() *refusal {
	var header, value string
	for _, name := range credentialHeaders {
		switch given := x.r.Header.Values(name); {
		case len(given) == 0:
		case header != "" || len(given) > 1:
			return refuse("key", "masked", "several")
		default:
			header, value = name, given[0]
		}
	}
	if header == "" || x.r.URL.Query().Has("key") {
		return x.unauthenticated("")
	}
	for _, way := range x.provider.Auth {
		if bad, applies := x.verify(way, header, value); applies {
			return bad
		}
	}
	return x.unauthenticated("")
}

// unauthenticated is the refusal of a request without a credential, or with a wrong one.
func (x *exchange) unauthenticated(key string) *refusal {
	if _, has := x.provider.Errors["unsigned"]; has && key == "" {
		return refuse("unsigned")
	}
	last := key[max(0, len(key)-4):]
	return refuse("key", "masked", "sk-****"+last, "last", last)
}

// verify checks a credential when the way of authentication takes it.
func (x *exchange) verify(way authentication, header, value string) (bad *refusal, applies bool) {
	bearer, isBearer := strings.CutPrefix(value, "Bearer ")
	isBearer = isBearer && header == "Authorization"
	switch way.Kind {
	case "bearer", "header":
		if way.Kind == "header" && http.CanonicalHeaderKey(way.Header) == header {
			bearer, isBearer = value, true
		} else if way.Kind == "header" {
			return nil, false
		}
		if !isBearer {
			return nil, false
		}
		if subtle.ConstantTimeCompare([]byte(bearer), []byte(Key(x.record.Provider))) != 1 {
			return x.unauthenticated(bearer), true
		}
		return nil, true
	case "sigv4":
		if signed, isSigned := strings.CutPrefix(value, signatureScheme); isSigned && header == "Authorization" {
			return x.signatureRefused(signed), true
		}
	case "google", "entra":
		if isBearer {
			return x.tokenRefused(bearer, way), true
		}
	}
	return nil, false
}

// signatureRefused verifies the signature of a request to Bedrock.
func (x *exchange) signatureRefused(signed string) *refusal {
	s, ok := parseSignature(signed)
	at, err := time.Parse(signatureTime, x.r.Header.Get("X-Amz-Date"))
	if !ok || err != nil {
		return refuse("signature")
	}
	secret := map[string]string{AccessKeyID: SecretAccessKey, SessionKeyID: SessionSecret}[s.keyID]
	token := x.r.Header.Get("X-Amz-Security-Token")
	x.e.mu.Lock()
	end, isSession := x.e.sessions[token]
	x.e.mu.Unlock()
	now := x.e.now().UTC()
	switch {
	case secret == "", (s.keyID == SessionKeyID) != (token != ""), token != "" && !isSession:
		return refuse("key")
	case token != "" && !end.IsZero() && !now.Before(end):
		return refuse("expired")
	case s.region != Region:
		return refuse("region")
	case s.service != "bedrock":
		return refuse("service")
	case at.Before(now.Add(-clockSkewMax)):
		return refuse("clock", "signed", at.Format(signatureTime), "earliest", now.Add(-clockSkewMax).Format(signatureTime),
			"now", now.Format(signatureTime))
	case at.After(now.Add(clockSkewMax)):
		return refuse("early", "signed", at.Format(signatureTime), "latest", now.Add(clockSkewMax).Format(signatureTime),
			"now", now.Format(signatureTime))
	case s.day != at.Format("20060102") || !s.covers(x.r) || s.compute(x.r, x.body, secret) != s.signature:
		return refuse("signature")
	}
	return nil
}

// clockSkewMax is how far the clocks of AWS and its callers may differ.
const clockSkewMax = 5 * time.Minute

// tokenRefused checks a token that a token endpoint has issued.
func (x *exchange) tokenRefused(token string, way authentication) *refusal {
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	t, known := x.e.tokens[token]
	switch {
	case !known || t.kind != way.Kind || t.scope != way.Scope:
		return refuse("key")
	case !x.e.now().Before(t.end):
		return refuse("expired")
	}
	return nil
}
