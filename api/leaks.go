package api

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"

	"umg/app"
	"umg/app/apikey"
)

// The headers of a signed report, as the partners of secret scanning send them, and limits of a report.
const (
	leakKeyHeader       = "Github-Public-Key-Identifier"
	leakSignatureHeader = "Github-Public-Key-Signature"
	leakBytesMax        = 256 << 10
	leaksUnsignedMax    = 20
	leakURLBytesMax     = 2048
)

// LeakKeys are the public keys that reports of leaked secrets may be signed with, by their identifiers.
type LeakKeys map[string]*ecdsa.PublicKey

// ParseLeakKeys reads the document that a partner publishes: {"public_keys":[{"key_identifier","key" (PEM), "is_current"}]}.
func ParseLeakKeys(document []byte) (LeakKeys, error) {
	var file struct {
		PublicKeys []struct {
			Identifier string `json:"key_identifier"`
			Key        string `json:"key"`
		} `json:"public_keys"`
	}
	if err := json.Unmarshal(document, &file); err != nil {
		return nil, fmt.Errorf("public keys of leak reports: %w", err)
	}
	keys := LeakKeys{}
	for _, k := range file.PublicKeys {
		block, _ := pem.Decode([]byte(k.Key))
		if block == nil {
			return nil, fmt.Errorf("public keys of leak reports: %q is no PEM block", k.Identifier)
		}
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("public keys of leak reports: %q: %w", k.Identifier, err)
		}
		key, ok := parsed.(*ecdsa.PublicKey)
		if !ok || key.Curve != elliptic.P256() || k.Identifier == "" {
			return nil, fmt.Errorf("public keys of leak reports: %q is no key of the curve P-256 with an identifier", k.Identifier)
		}
		keys[k.Identifier] = key
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("public keys of leak reports: there are none")
	}
	return keys, nil
}

// leakRoutes take reports of secrets that were found in public. Partners sign their reports; for all others, knowledge of the secret
// authenticates the report.
func leakRoutes() []Route {
	r := group{0, hasAccounts}.post("/webhooks/key_leaks", (*API).reportLeaks)
	r.Open = true
	return []Route{r}
}

type leakJSON struct {
	Token  string `json:"token"`
	Type   string `json:"type"`
	URL    string `json:"url"`
	Source string `json:"source"`
}

// verdictJSON is what a partner learns of each secret, in the words of its feedback format.
type verdictJSON struct {
	Hash  string `json:"token_hash"`
	Type  string `json:"token_type"`
	Label string `json:"label"` // Label is true_positive or false_positive.
}

// reportLeaks switches off the keys of a report and answers which secrets were ours.
func (a *API) reportLeaks(x *call) error {
	body, signed, err := a.readReport(x)
	if err != nil {
		return err
	}
	var found []leakJSON
	if json.Unmarshal(body, &found) != nil {
		return app.Errorf(app.Invalid, "invalid_json", `The body must be a JSON array of {"token", "type", "url", "source"}.`)
	}
	most := apikey.LeaksMax
	if !signed {
		most = leaksUnsignedMax
	}
	if len(found) > most {
		return app.Errorf(app.Invalid, "invalid_value", "A report names at most %d secrets.", most)
	}
	leaks := make([]apikey.LeakReport, len(found))
	for i, l := range found {
		leaks[i] = apikey.LeakReport{Secret: l.Token, Source: shorten(l.Source)}
		if len(l.URL) <= leakURLBytesMax {
			leaks[i].URL = l.URL
		}
	}
	from := app.Origin{IP: x.ClientIP(), Agent: x.Request().UserAgent(), RequestID: x.log.RequestID}
	ours, err := a.o.APIKeys.ReportLeaks(x.Request().Context(), leaks, from, signed)
	if err != nil {
		return err
	}
	verdicts := make([]verdictJSON, len(found))
	for i, l := range found {
		hash := sha256.Sum256([]byte(l.Token))
		verdicts[i] = verdictJSON{hex.EncodeToString(hash[:]), shorten(l.Type), "false_positive"}
		if ours[i] {
			verdicts[i].Label = "true_positive"
		}
	}
	return a.object(x, verdicts)
}

// readReport reads a body and checks its signature, if it has one. A wrong one is refused before anything is looked at.
func (a *API) readReport(x *call) (body []byte, signed bool, err error) {
	b, err := a.readSmall(x, leakBytesMax)
	if err != nil {
		return nil, false, err
	}
	defer b.Release()
	body = append([]byte{}, b.Bytes()...)
	name, signature := x.Request().Header.Get(leakKeyHeader), x.Request().Header.Get(leakSignatureHeader)
	if name == "" && signature == "" {
		return body, false, nil
	}
	key, known := a.o.LeakKeys[name]
	sum := sha256.Sum256(body)
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || !known || !ecdsa.VerifyASN1(key, sum[:], raw) {
		return nil, false, app.Errorf(app.Unauthenticated, "invalid_signature",
			"The signature is not one of this body by a known key. Nothing was done.").Final()
	}
	return body, true, nil
}
